import { Effect, Layer } from "effect"
import { HttpServerError, HttpServerRequest } from "effect/http"
import { BoundedBody } from "../api/BoundedBody.ts"
import * as Failure from "../api/Failure.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import { respond, respondTo } from "./ErrorBoundary.ts"

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

const checkBody = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const encoding = request.headers["content-encoding"]
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    return respond(Failure.unsupportedMediaType("A body with a content encoding is not supported."))
  }
  // The text is read once and kept by the request; what decodes the body later gets the same one.
  const text = yield* request.text
  return nestsDeeperThan(text, nestingMax)
    ? respondTo(
        new InvalidRequest({ param: "", message: `The request body nests deeper than ${nestingMax} levels.` })
      )
    : null
})

/** Refuses bodies that are encoded or too deep. Too large or cut ones fail at reading, and ErrorBoundary tells them. */
export const BodyBoundsLayer = Layer.succeed(BoundedBody, (httpEffect) =>
  checkBody.pipe(
    Effect.catchIf(HttpServerError.isHttpServerError, (error) => Effect.die(error)),
    Effect.flatMap((refusal) => (refusal === null ? httpEffect : Effect.succeed(refusal)))
  )
)
