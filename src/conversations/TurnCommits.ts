import { Deferred, Effect, Exit, Schedule } from "effect"
import type { OpenTurn } from "../domain/Conversation.ts"
import { TurnLeaseLost } from "../domain/Errors.ts"
import type { ResponseId } from "../domain/Ids.ts"
import { inRealTime } from "../runtime/Monotonic.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { traced } from "../telemetry/traced.ts"
import type { HeldTurn, TurnLeases } from "./TurnLeases.ts"
import type { makeTurnTable } from "./TurnTable.ts"
import type { CommitTurn, makeTurnWrites } from "./TurnWrites.ts"

/** The time for which a commit is retried while the database is unavailable. */
const commitSeconds = 5
const commitPause = "250 millis"
const commitRetries = Schedule.spaced(commitPause).pipe(
  Schedule.upTo({ duration: `${commitSeconds} seconds` })
)

/** After a lost answer the turn may be stored; the same commit finds out, or stores it. */
export const retried = <E, R>(commit: Effect.Effect<boolean, E, R>) => {
  const committed = orUnavailable(commit)
  // A schedule costs more than the commit that needs none.
  return Effect.catch(committed, () =>
    Effect.delay(Effect.retry(committed, commitRetries), commitPause)
  ).pipe(inRealTime)
}

/** Stores turns whose leases are held, and notices when they are lost. */
export const makeCommit = (
  turns: Effect.Success<typeof makeTurnTable>,
  writes: Effect.Success<typeof makeTurnWrites>,
  leases: TurnLeases
) => {
  /** Fails because of a lost lease, and states if the conversation was deleted. */
  const lostBy = Effect.fnUntraced(function* ({ turn, userId }: HeldTurn) {
    const state = yield* orUnavailable(turns.read(userId, turn.conversationId))
    return yield* new TurnLeaseLost(state === undefined ? { isDeleted: true } : {})
  })

  const commit = traced("Conversations.commit")(
    Effect.fnUntraced(function* (turn: OpenTurn, content: CommitTurn, replaced: ResponseId | null = null) {
      const own = leases.find(turn)
      if (own === undefined) return yield* commitStored(turn, content, replaced)
      if (own.stored !== null) yield* Deferred.await(own.stored)
      own.state = "committing"
      yield* commitStored(turn, content, replaced).pipe(
        Effect.catchTag("TurnLeaseLost", () => lostBy(own)),
        Effect.onExit((exit) =>
          Effect.sync(() => {
            own.state = Exit.isSuccess(exit) ? "committed" : "open"
          })
        )
      )
    })
  )

  const commitStored = Effect.fnUntraced(function* (
    turn: OpenTurn,
    content: CommitTurn,
    replaced: ResponseId | null
  ) {
    const write =
      replaced === null ? writes.commit(turn, content) : writes.commitReplacing(turn, replaced, content)
    if (!(yield* retried(write))) return yield* new TurnLeaseLost()
  })

  const lost = (turn: OpenTurn): Effect.Effect<never, TurnLeaseLost> => {
    const own = leases.find(turn)
    if (own === undefined) return Effect.fail(new TurnLeaseLost())
    return Effect.catch(Deferred.await(own.lost), (error) =>
      Effect.catchTag(lostBy(own), "DatabaseUnavailable", () => Effect.fail(error))
    )
  }

  return { commit, lost }
}
