import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { InvalidRequest } from "../domain/Errors.ts"

export const keyHeader = "idempotency-key"
const keyPattern = /^[\x20-\x7e]{1,255}$/

/** The Idempotency-Key of a request; null without one. */
export const keyOf = ({ headers }: HttpServerRequest.HttpServerRequest) => {
  const key = headers[keyHeader]
  if (key === undefined) return Effect.succeed(null)
  return keyPattern.test(key)
    ? Effect.succeed(key)
    : Effect.fail(
        new InvalidRequest({
          param: "Idempotency-Key",
          message: "The Idempotency-Key must have 1 to 255 printable characters of ASCII."
        })
      )
}
