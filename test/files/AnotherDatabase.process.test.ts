import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, FileSystem, Layer, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { makeDatabaseClient } from "../../src/sql/DatabaseClient.ts"
import { childEnvironment } from "../support/childEnvironment.ts"
import { commandLine, type ServiceProcess, startService } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

/** A key as `parley key generate` makes it; it opens nothing but the databases of these tests. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"
const authorization = `Bearer ${key}`
const slow = 120_000

const newDatabase = Effect.map(Layer.build(Layer.fresh(TestDatabase.clone)), (context) =>
  Redacted.value(Context.get(context, TestDatabase).url)
)

const upload = (url: string, text: string) =>
  Effect.promise(async () => {
    const form = new FormData()
    form.append("purpose", "assistants")
    form.append("file", new Blob([text]), "kept.txt")
    const response = await fetch(`${url}/v1/files`, {
      method: "POST",
      headers: { authorization },
      body: form
    })
    const body: unknown = await response.json()
    assert.strictEqual(response.status, 200, JSON.stringify(body))
    return String(Object(body).id)
  })

const download = (url: string, id: string) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}/v1/files/${id}/content`, { headers: { authorization } })
    return { status: response.status, text: await response.text() }
  })

/** Everything below the directory that is a file, made so old that a sweep takes an interest in it. */
const makeOld = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const time = new Date(Date.now() - 10 * 3_600_000)
  for (const name of yield* fs.readDirectory(directory, { recursive: true })) {
    if ((yield* fs.stat(`${directory}/${name}`)).type === "File") {
      yield* fs.utimes(`${directory}/${name}`, time, time)
    }
  }
})

const stop = (service: ServiceProcess) => Effect.andThen(service.signal("SIGTERM"), service.exit)

/** The outcome of the process's end, or "ready" when it is up. */
const outcome = (service: ServiceProcess) =>
  Effect.raceFirst(
    service.exit,
    Effect.as(
      Effect.catchDefect(service.url, () => Effect.never),
      "ready" as const
    )
  )

/** The numbers of users, keys and audit entries, which a start stores. */
const storedByStart = Effect.fnUntraced(function* (url: string) {
  const limits = { connectionsMax: 1, connectSeconds: 5, statementSeconds: 15 }
  const sql = yield* makeDatabaseClient({ url: Redacted.make(url) }, limits)
  const [counts] =
    yield* sql`SELECT (SELECT count(*)::int FROM users) AS users, (SELECT count(*)::int FROM api_keys) AS keys,
    (SELECT count(*)::int FROM audit_log) AS entries`
  return counts
}, Effect.provide(Reactivity.layer))

/** The standard output of a command. */
const parley = (variables: Readonly<Record<string, string>>, args: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const env = { ...childEnvironment, ...variables }
    return (await promisify(execFile)(process.execPath, [commandLine, ...args], { env })).stdout
  })

layer(NodeFileSystem.layer, { excludeTestServices: true })("A store of files", (it) => {
  it.effect(
    "a store keeps its files when the service is started beside it with an empty database",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const directory = yield* fs.makeTempDirectoryScoped({ prefix: "parley-store-" })
        const startOn = (database: string) =>
          startService({ DATABASE_URL: database, PARLEY_DATA_DIR: directory, PARLEY_INIT_API_KEY: key })
        const own = yield* newDatabase
        const first = yield* startOn(own)
        const id = yield* upload(yield* first.url, "worth keeping")
        yield* stop(first)
        yield* makeOld(`${directory}/files`)

        const wrong = yield* newDatabase
        const other = yield* startOn(wrong)
        assert.strictEqual(yield* outcome(other), 1)
        assert.deepStrictEqual(yield* storedByStart(wrong), { users: 0, keys: 0, entries: 0 })
        const { err } = other.output()
        assert.include(err, `${directory}/files`)
        assert.include(err, "parley file adopt-store")

        const again = yield* startOn(own)
        assert.deepStrictEqual(yield* download(yield* again.url, id), { status: 200, text: "worth keeping" })
      }).pipe(Effect.scoped),
    slow
  )

  it.effect(
    "a store is bound to another database by the command, and its own is then refused",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const directory = yield* fs.makeTempDirectoryScoped({ prefix: "parley-store-" })
        const variables = (database: string) => ({ DATABASE_URL: database, PARLEY_DATA_DIR: directory })
        const [own, other] = [yield* newDatabase, yield* newDatabase]
        const first = yield* startService(variables(own))
        yield* first.url
        yield* stop(first)
        const adopted = yield* parley(variables(other), ["file", "adopt-store"])
        assert.include(adopted, `Bound the directory ${directory}/files`)
        assert.notInclude(adopted, "postgres://")
        assert.strictEqual(yield* outcome(yield* startService(variables(own))), 1)
        assert.strictEqual(yield* outcome(yield* startService(variables(other))), "ready")
      }).pipe(Effect.scoped),
    slow
  )
})
