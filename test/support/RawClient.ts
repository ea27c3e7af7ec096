import { connect, type Socket } from "node:net"
import { Effect, type Scope } from "effect"
import type { Reply } from "./Wire.ts"

/** A connection without an HTTP library on this side, for bytes that no library would send. */
export interface RawClient {
  readonly send: (bytes: string) => Effect.Effect<void>
  /** The text received so far, once it satisfies the condition or the service hangs up. */
  readonly read: (met: (seen: string) => boolean) => Effect.Effect<string>
  /** Everything that came until the service hung up. */
  readonly whole: Effect.Effect<string>
  readonly socket: Socket
}

/** Opens a connection; `reading: false` takes no byte of what comes, ever. */
export const openRaw = (
  url: string,
  options: { readonly reading: boolean } = { reading: true }
): Effect.Effect<RawClient, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { hostname, port } = new URL(url)
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() => connect({ port: Number(port), host: hostname, allowHalfOpen: true })),
      (open) => Effect.sync(() => open.destroy())
    )
    let seen = ""
    let closed = false
    socket.on("error", () => {})
    if (options.reading) socket.setEncoding("utf8").on("data", (text) => (seen += text))
    const read = (met: (seen: string) => boolean) =>
      Effect.promise(
        () =>
          new Promise<string>((resolve) => {
            const check = () => {
              if (closed || met(seen)) resolve(seen)
            }
            socket.on("data", check).on("end", check).on("close", check)
            check()
          })
      )
    socket.on("end", () => (closed = true))
    socket.on("close", () => (closed = true))
    return {
      send: (bytes) => Effect.sync(() => void socket.write(bytes)),
      read,
      whole: read(() => false),
      socket
    }
  })

/** The bytes of one response that says how long it is. */
export const replyOf = (bytes: string): Reply => {
  const [head = "", ...rest] = bytes.split("\r\n\r\n")
  const [line = "", ...fields] = head.split("\r\n")
  const headers = new Headers(
    fields.map((field): [string, string] => [
      field.slice(0, field.indexOf(":")),
      field.slice(field.indexOf(":") + 1).trim()
    ])
  )
  const text = rest.join("\r\n\r\n")
  if (headers.get("content-length") !== String(Buffer.byteLength(text))) {
    throw new Error(`A response is not as long as it says: ${bytes}`)
  }
  return { status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]), headers, text }
}
