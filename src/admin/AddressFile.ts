import { Effect, FileSystem, Option, Path, Schema } from "effect"

/** The file of the data directory in which a running service says where its operator's interface is. */
export const addressFileName = "server.json"

const Address = Schema.fromJsonString(Schema.Struct({ url: Schema.String, pid: Schema.Int }))
const decodeAddress = Schema.decodeOption(Address)

/** The address of a service that listens on all networks isn't one to connect to; the loopback of its family is. */
export const reachable = (url: string): string =>
  url.replace(/^http:\/\/0\.0\.0\.0:/, "http://127.0.0.1:").replace(/^http:\/\/\[::\]:/, "http://[::1]:")

/** An address of IPv6 stands in brackets. */
export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(":") ? `[${host}]` : host}:${port}`

const fileIn = (dataDir: string) => Effect.map(Path.Path, (path) => path.join(dataDir, addressFileName))

/** Where the service of the data directory says that it is; none if it doesn't run, or nothing can be read. */
export const readAddress = Effect.fnUntraced(function* (dataDir: string) {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.option(fs.readFileString(yield* fileIn(dataDir)))
  return Option.flatMap(text, decodeAddress)
})

/** Leaves the address until the scope closes. The service runs without it, too. */
export const leaveAddress = Effect.fnUntraced(function* (dataDir: string, url: string, pid: number) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* fileIn(dataDir)
  const draft = `${file}.${pid}`
  const write = Effect.gen(function* () {
    yield* fs.makeDirectory(dataDir, { recursive: true })
    yield* fs.writeFileString(draft, `${JSON.stringify({ url, pid })}\n`)
    yield* fs.rename(draft, file)
  })
  // Another process of the same directory may have written its own since.
  const remove = Effect.gen(function* () {
    const found = yield* readAddress(dataDir)
    if (Option.isSome(found) && found.value.pid === pid) yield* fs.remove(file)
  })
  yield* Effect.acquireRelease(
    Effect.catch(write, (error) =>
      Effect.logWarning(
        `The address of the service can't be left in ${file}, where the command line looks: ${error.message}`
      )
    ),
    () => Effect.ignore(remove)
  )
})
