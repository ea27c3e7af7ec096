import { Effect } from "effect"
import type { HttpServerResponse } from "effect/http"
import type * as Failure from "../api/Failure.ts"
import { logFailure, respondTo } from "../http/ErrorBoundary.ts"

/** Names an expected failure as the envelope. */
export const answer = <A, R>(
  effect: Effect.Effect<A, Failure.Expected, R>
): Effect.Effect<A | HttpServerResponse.HttpServerResponse, never, R> =>
  Effect.catch(effect, (error) => Effect.as(logFailure(error), respondTo(error)))
