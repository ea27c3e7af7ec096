import { Duration, Effect, Fiber, Layer } from "effect"
import { HttpServerError, HttpServerRequest } from "effect/http"
import { AppConfig } from "../AppConfig.ts"
import { BoundedBody } from "../api/BoundedBody.ts"
import * as Failure from "../api/Failure.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import { isEncoded, respond, respondTo } from "./ErrorBoundary.ts"

/** Objects and lists inside each other. */
const nestingMax = 64

const quote = 0x22
const backslash = 0x5c
const openers = new Set([0x5b, 0x7b])
const closers = new Set([0x5d, 0x7d])

/** Whether a JSON text nests deeper than `depthMax`, without parsing it. */
export const nestsDeeperThan = (json: string, depthMax: number): boolean => {
  let depth = 0
  let inString = false
  for (let i = 0; i < json.length; i++) {
    const unit = json.charCodeAt(i)
    if (inString) {
      if (unit === backslash) i++
      else if (unit === quote) inString = false
    } else if (unit === quote) {
      inString = true
    } else if (openers.has(unit)) {
      depth++
      if (depth > depthMax) return true
    } else if (closers.has(unit)) {
      depth--
    }
  }
  return false
}

/** A body is read as UTF-8, whatever it claims to be; ASCII is a part of that. */
const isForeign = (contentType: string | undefined): boolean => {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType ?? "")?.[1]
  return charset !== undefined && !/^(utf-?8|us-ascii)$/i.test(charset)
}

const checkBody = Effect.fnUntraced(function* (requestSeconds: number) {
  const request = yield* HttpServerRequest.HttpServerRequest
  if (isEncoded(request)) return respond(Failure.encodedBody)
  if (isForeign(request.headers["content-type"])) return respond(Failure.foreignCharset)
  // The text is read once and kept by the request; what decodes the body later gets the same one.
  // Nor is the reading broken off, which would take the connection away before the answer.
  const reading = yield* Effect.forkScoped(request.text, { startImmediately: true })
  const text = yield* Fiber.join(reading).pipe(
    Effect.timeoutOrElse({ duration: Duration.seconds(requestSeconds), orElse: () => Effect.succeed(null) })
  )
  if (text === null) return respond(Failure.requestTimeout)
  return nestsDeeperThan(text, nestingMax)
    ? respondTo(
        new InvalidRequest({ param: "", message: `The request body nests deeper than ${nestingMax} levels.` })
      )
    : null
})

/**
 * Refuses bodies that are encoded, too deep or too slow. Too large or cut ones fail at reading, and ErrorBoundary tells
 * them.
 */
export const BodyBoundsLayer = Layer.effect(
  BoundedBody,
  Effect.gen(function* () {
    const { requestSeconds } = (yield* AppConfig).http
    return BoundedBody.of((httpEffect) =>
      checkBody(requestSeconds).pipe(
        Effect.catchIf(HttpServerError.isHttpServerError, (error) => Effect.die(error)),
        Effect.flatMap((refusal) => (refusal === null ? httpEffect : Effect.succeed(refusal)))
      )
    )
  })
)
