import { HttpServerResponse } from "effect/http"
import * as Failure from "../api/Failure.ts"

/** An expected error as the operator sees it: the same envelope that the public interface has. */
export const refusal = (error: Failure.Expected): HttpServerResponse.HttpServerResponse => {
  const { body, headers, status } = Failure.describe(error)
  return HttpServerResponse.jsonUnsafe({ detail: body.message, error: body }, { status, headers })
}
