import { IncomingMessage } from "node:http"
import { toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect, Predicate } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { Deadline } from "../domain/Deadlines.ts"
import { type Excess, JsonScanner } from "../domain/JsonScanner.ts"

type Request = HttpServerRequest.HttpServerRequest

/** The text of a body, or why there is none: longer than allowed, beyond a bound of JSON, not whole in time, or cut off. */
export type BodyText = { readonly text: string } | Excess | "too_large" | "late" | "cut"

const utf8 = new TextDecoder()

const textOf = (pieces: ReadonlyArray<Buffer>): string =>
  utf8.decode(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces))

/**
 * Reads a body whole. Effect's own reader takes three fibers for it, and waits until the stream has closed, by which a request to a model
 * leaves later (docs/decisions/request-cost.md). What comes after a bound or the deadline is discarded.
 */
const read = (source: IncomingMessage, bytesMax: number, begin: Deadline): Effect.Effect<BodyText> =>
  Effect.callback((resume) => {
    const pieces: Array<Buffer> = []
    const scanner = new JsonScanner()
    let bytes = 0
    const leave = () => {
      end()
      source.off("data", take).off("end", ended).off("error", cut).off("close", cut)
    }
    const finish = (outcome: BodyText) => {
      leave()
      resume(Effect.succeed(outcome))
    }
    const take = (piece: Buffer) => {
      bytes += piece.length
      if (bytes > bytesMax) return finish("too_large")
      const excess = scanner.push(piece)
      if (excess !== null) return finish(excess)
      pieces.push(piece)
    }
    const ended = () => finish({ text: textOf(pieces) })
    const cut = () => finish("cut")
    const end = begin(() => finish("late"))
    source.on("data", take).on("end", ended).on("error", cut).on("close", cut)
    return Effect.sync(leave)
  })

/** Reads the body of a request, which keeps its text for the decoder. */
export const readBodyText = (request: Request, bytesMax: number, begin: Deadline): Effect.Effect<BodyText> =>
  Effect.suspend(() => {
    const { source } = request
    if (!(source instanceof IncomingMessage) || !Predicate.hasProperty(request, "textEffect"))
      return Effect.die(new Error("A request of another server than Node's can't be read."))
    // Other expectations are refused before; clients of HTTP/1.0 know no such answer. Source: RFC 9110, section 10.1.1.
    if (request.headers["expect"] !== undefined && source.httpVersion === "1.1")
      toServerResponse(request).writeContinue()
    return Effect.map(read(source, bytesMax, begin), (body) => {
      if (typeof body === "object" && "text" in body) request.textEffect = Effect.succeed(body.text)
      return body
    })
  })
