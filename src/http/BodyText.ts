import { IncomingMessage } from "node:http"
import { toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import { Duration, Effect, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { type Excess, JsonScanner } from "./JsonScanner.ts"

type Request = HttpServerRequest.HttpServerRequest

/**
 * The text of a body, or why there is none: longer than allowed, beyond a bound of JSON, no UTF-8, not whole
 * in time, or cut off.
 */
export type BodyText = { readonly text: string } | Excess | "too_large" | "not_utf8" | "late" | "cut"

const utf8 = new TextDecoder("utf-8", { fatal: true })

const textOf = (pieces: ReadonlyArray<Buffer>): BodyText => {
  try {
    return { text: utf8.decode(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)) }
  } catch {
    return "not_utf8"
  }
}

/** Waits until more of a body can be read, or until it has come to an end. */
const arrival = (source: IncomingMessage): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const leave = () => source.off("readable", come).off("end", come).off("error", come).off("close", come)
    const come = () => {
      leave()
      resume(Effect.void)
    }
    source.on("readable", come).on("end", come).on("error", come).on("close", come)
    return Effect.sync(leave)
  })

/**
 * Reads a body whole, a piece in each operation: reading takes its turns like all that the user's fibers do,
 * and the socket isn't read meanwhile (docs/decisions/processor-turns.md).
 */
const read = (source: IncomingMessage, bytesMax: number): Effect.Effect<BodyText> => {
  const pieces: Array<Buffer> = []
  const scanner = new JsonScanner()
  let bytes = 0
  const take = (piece: Buffer): BodyText | null => {
    bytes += piece.length
    if (bytes > bytesMax) return "too_large"
    pieces.push(piece)
    return scanner.push(piece)
  }
  const next: Effect.Effect<BodyText> = Effect.suspend(() => {
    const piece = source.read() as Buffer | null
    if (piece !== null) {
      const outcome = take(piece)
      return outcome === null ? next : Effect.succeed(outcome)
    }
    if (source.complete && source.readableLength === 0) return Effect.sync(() => textOf(pieces))
    return source.destroyed ? Effect.succeed("cut") : Effect.andThen(arrival(source), next)
  })
  return next
}

/** Reads the body of a request, of which what comes after a bound or too late is discarded. */
export const readBodyText = (request: Request, bytesMax: number, seconds: number): Effect.Effect<BodyText> =>
  Effect.suspend(() => {
    const { source } = request
    if (!(source instanceof IncomingMessage))
      return Effect.die(new Error("A request of another server than Node's can't be read."))
    // Other expectations are refused before; clients of HTTP/1.0 know no such answer. Source: RFC 9110,
    // section 10.1.1.
    if (request.headers["expect"] !== undefined && source.httpVersion === "1.1")
      toServerResponse(request).writeContinue()
    return read(source, bytesMax).pipe(
      Effect.timeoutOption(Duration.seconds(seconds)),
      Effect.map(Option.getOrElse((): BodyText => "late")),
      Effect.ensuring(Effect.sync(() => source.resume()))
    )
  })

/** Texts by the requests of Node whose bodies they were. */
const texts = new WeakMap<object, string>()

/** The request with the text of its body, which has been read. */
export const withText = (request: Request, text: string): Request => {
  texts.set(request.source, text)
  return Object.create(request, { text: { value: Effect.succeed(text) } }) as Request
}

/** The text of a body that has been read, for who has the request as it came; empty where none has. */
export const knownText = ({ source }: Request): string => texts.get(source) ?? ""
