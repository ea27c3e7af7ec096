import { Effect } from "effect"
import { unless } from "../domain/Alarm.ts"
import { makeDeadlines } from "../domain/Deadlines.ts"
import { inRealTime } from "../domain/Monotonic.ts"

/** Bounds statements by real time. */
export const makeStatementDeadlines = Effect.fnUntraced(function* (millis: number) {
  const listen = yield* inRealTime(makeDeadlines(millis))
  return <E>(late: () => E) => unless({ listen, failure: Effect.suspend(() => Effect.fail(late())) })
})
