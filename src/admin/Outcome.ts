import { Effect } from "effect"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import { failureReason } from "../domain/failureReason.ts"
import type { Check } from "./AdminBodies.ts"

/** The outcome of a check: what was found and, unless all is well, what to do. */
export type Outcome = Omit<Check, "name">

export const ok = (detail: string): Outcome => ({ status: "ok", detail })
export const warning = (detail: string): Outcome => ({ status: "warning", detail })
export const failed = (detail: string): Outcome => ({ status: "failed", detail })

/** One line for each outcome. */
export const named = (name: string, outcomes: ReadonlyArray<Outcome>): ReadonlyArray<Check> =>
  outcomes.map((outcome) => ({ name, ...outcome }))

/** One check: its failure is its outcome, and the other checks are reported all the same. */
export const isolated = <R>(
  name: string,
  self: Effect.Effect<Outcome | ReadonlyArray<Check>, DatabaseUnavailable, R>
): Effect.Effect<ReadonlyArray<Check>, never, R> =>
  self.pipe(
    Effect.catchTag("DatabaseUnavailable", () =>
      Effect.succeed(warning("The database does not answer, which this check needs."))
    ),
    Effect.catchDefect((defect) => {
      const reason = failureReason(defect)
      return Effect.as(
        Effect.logError(`The check "${name}" failed: ${reason}`),
        failed(`This check could not be made: ${reason}`)
      )
    }),
    Effect.map((outcome) => ("status" in outcome ? [{ name, ...outcome }] : outcome))
  )
