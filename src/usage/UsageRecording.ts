import { Effect, Schedule } from "effect"
import { type Spending, Usage } from "./Usage.ts"

/** Retries of a usage record while the database is away, over about six seconds. */
const recordRetriesMax = 6
const recordPause = "50 millis"
const recordSchedule = Schedule.exponential("100 millis").pipe(Schedule.upTo({ times: recordRetriesMax }))

/** The schedule of later attempts in the background, and the number of records that may wait at once. */
const lateSchedule = Schedule.spaced("2 seconds").pipe(Schedule.upTo({ duration: "10 minutes" }))
const lateRecordsMax = 10_000

/** Records the usage of a response. The client has its answer by then, so a failure is only logged. */
export const makeRecord = Effect.gen(function* () {
  const usage = yield* Usage
  const scope = yield* Effect.scope
  let lateRecords = 0

  const recordLate = (spending: Spending) =>
    Effect.suspend(() => {
      if (lateRecords >= lateRecordsMax) {
        return Effect.logError("Usage could not be recorded: too many records are waiting.")
      }
      lateRecords++
      return usage.record(spending).pipe(
        Effect.retry(lateSchedule),
        Effect.catch((error) => Effect.logError("Usage could not be recorded.", error)),
        Effect.ensuring(Effect.sync(() => lateRecords--)),
        Effect.forkIn(scope),
        Effect.andThen(Effect.logWarning("Usage could not be recorded yet."))
      )
    }).pipe(
      Effect.annotateLogs({
        responseId: spending.responseId,
        model: spending.model,
        ...spending.usage
      })
    )

  return (spending: Spending) => {
    const recorded = usage.record(spending)
    // A schedule costs more than a record that needs none.
    return Effect.catch(recorded, () =>
      recorded.pipe(
        Effect.retry(recordSchedule),
        Effect.delay(recordPause),
        Effect.catch(() => recordLate(spending))
      )
    )
  }
})
