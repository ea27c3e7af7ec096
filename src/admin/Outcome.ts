import { Effect } from "effect"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import { failureReason } from "../runtime/failureReason.ts"
import type { Check } from "./AdminBodies.ts"

/** The outcome of a check: what was found and, unless all is well, what to do. */
export type Outcome = Omit<Check, "name">

/** The beginning of a line of a list. */
const bullet = /^(?:[-*] )?/

/** One sentence after the other: every check is one line, also of a text that has several. */
const oneLine = (text: string): string => {
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim().replace(bullet, ""))
    .filter((line) => line !== "")
  return lines
    .map((line, index) => (index < lines.length - 1 && /[^.:;,!?]$/.test(line) ? `${line};` : line))
    .join(" ")
}

const outcome =
  (status: Check["status"]) =>
  (detail: string): Outcome => ({ status, detail: oneLine(detail) })

export const ok = outcome("ok")
export const warning = outcome("warning")
export const failed = outcome("failed")

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
      Effect.succeed(
        warning("The database does not answer, which this check needs: see the line `database`.")
      )
    ),
    Effect.catchDefect((defect) => {
      const reason = failureReason(defect)
      return Effect.as(
        Effect.logError(`The check "${name}" failed: ${reason}`),
        failed(`This check could not be made: ${reason}. The log of the service says more; please report it.`)
      )
    }),
    Effect.map((outcome) => ("status" in outcome ? [{ name, ...outcome }] : outcome))
  )
