import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { Effect, Redacted, type Scope } from "effect"

const authentication = 0x52
const readyForQuery = 0x5a
const terminate = 0x58

/** The messages of the server that are whole, and the bytes after them. */
const split = (bytes: Buffer): { readonly messages: ReadonlyArray<Buffer>; readonly rest: Buffer } => {
  const messages: Array<Buffer> = []
  let at = 0
  while (bytes.length >= at + 5 && bytes.length >= at + 1 + bytes.readUInt32BE(at + 1)) {
    const end = at + 1 + bytes.readUInt32BE(at + 1)
    messages.push(bytes.subarray(at, end))
    at = end
  }
  return { messages, rest: bytes.subarray(at) }
}

const isAccepted = (message: Buffer): boolean =>
  message[0] === authentication && message.readUInt32BE(5) === 0

/**
 * Gives every client one and the same session of the server, as a pooler in transaction mode does that has
 * one.
 */
const share = (open: () => Socket): Server => {
  let session: Socket | null = null
  let greeting: ReadonlyArray<Buffer> | null = null
  let active: Socket | null = null
  const begin = (startup: Buffer) => {
    const server = open()
    let unread: Buffer = Buffer.alloc(0)
    let seen: ReadonlyArray<Buffer> = []
    server.write(startup)
    server.on("error", () => active?.destroy())
    server.on("data", (chunk: Buffer) => {
      active?.write(chunk)
      if (greeting !== null) return
      const { messages, rest } = split(Buffer.concat([unread, chunk]))
      unread = rest
      seen = [...seen, ...messages]
      if (seen.at(-1)?.[0] === readyForQuery) greeting = seen.slice(seen.findIndex(isAccepted))
    })
    return server
  }
  return createServer((client) => {
    let started = false
    client.on("error", () => client.destroy())
    client.on("data", (chunk: Buffer) => {
      if (chunk[0] === terminate) return
      active = client
      if (started) return void session?.write(chunk)
      started = true
      if (session === null) session = begin(chunk)
      else if (greeting !== null) client.write(Buffer.concat(greeting))
    })
  }).on("close", () => session?.destroy())
}

/** Ends a session at its first transaction, as a pooler in statement mode does. */
const refuseTransactions = (open: () => Socket): Server =>
  createServer((client) => {
    const server = open().on("error", () => client.destroy())
    client.on("error", () => server.destroy()).on("close", () => server.destroy())
    server.on("data", (chunk: Buffer) => client.write(chunk)).on("close", () => client.destroy())
    client.on(
      "data",
      (chunk: Buffer) => void (chunk.includes("BEGIN") ? client.destroy() : server.write(chunk))
    )
  })

/** An ErrorResponse. */
const refusal = (code: string, message: string): Buffer => {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(fields.length + length.length)
  return Buffer.concat([Buffer.from("E"), length, fields])
}

/** Refuses a parameter of every session, as PgBouncer does that isn't set up to ignore it. */
const refuseParameters = (): Server =>
  createServer((client) => {
    client.on("error", () => client.destroy())
    client.on("data", () => client.end(refusal("08P01", "unsupported startup parameter: statement_timeout")))
  })

/** The database of that URL behind a pooler with one session for all clients. */
export const behindSharedSession = (url: Redacted.Redacted) => behind(url, share)

/** The same behind one in statement mode. */
export const behindStatementMode = (url: Redacted.Redacted) => behind(url, refuseTransactions)

/** The same behind one that refuses the service's startup parameters. */
export const behindRefusedParameters = (url: Redacted.Redacted) => behind(url, refuseParameters)

const behind = (
  url: Redacted.Redacted,
  pooler: (open: () => Socket) => Server
): Effect.Effect<Redacted.Redacted, never, Scope.Scope> =>
  Effect.gen(function* () {
    const target = new URL(Redacted.value(url))
    const host = target.searchParams.get("host")
    const open = () =>
      host?.startsWith("/") === true
        ? connect(`${host}/.s.PGSQL.5432`)
        : connect(Number(target.port || 5432), host ?? target.hostname)
    const clients = new Set<Socket>()
    const server = pooler(open).on("connection", (client) => clients.add(client))
    const port = yield* Effect.acquireRelease(
      Effect.callback<number>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
      }),
      () =>
        Effect.callback<void>((resume) => {
          server.close(() => resume(Effect.void))
          for (const client of clients) client.destroy()
        })
    )
    const front = new URL(target)
    front.searchParams.delete("host")
    front.searchParams.set("sslmode", "disable")
    front.hostname = "127.0.0.1"
    front.port = String(port)
    return Redacted.make(front.href)
  })
