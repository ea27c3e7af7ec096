import { Deferred, Duration, Effect, Exit, Option, Random, Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import type { ConversationState, OpenTurn } from "../domain/Conversation.ts"
import { ConversationBusy, ConversationNotFound, type DatabaseUnavailable } from "../domain/Errors.ts"
import { ConversationId, type UserId } from "../domain/Ids.ts"
import { FairPermits } from "../runtime/FairPermits.ts"
import { monotonicMillis } from "../runtime/Monotonic.ts"
import { makeBatcher } from "../sql/Batcher.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { firstFence, type NewConversation, type TurnLeases } from "./TurnLeases.ts"

/** Pauses between polls of another process's lease. */
const pollMillisMin = 50
const pollMillisMax = 1000
const pollGrowth = 1.5

/** The time for which a request that could branch waits for the end of one that has just been answered. */
const branchWaitMillis = 500

const conversationsPerStatementMax = 1000
/** A conversation with a longer system message is written by a statement of its own. */
const sharedCharactersMax = 4_096

const busy = (waitedMillis: number): ConversationBusy =>
  new ConversationBusy({ waitedSeconds: Math.round(waitedMillis / 1000) })

/**
 * Opens turns. Requests of this process wait in a queue, and while another process holds the lease, they
 * poll.
 */
export const makeTurnTaking = Effect.fnUntraced(function* (leases: TurnLeases, turnWaitSeconds: number) {
  const turnWaitMillis = turnWaitSeconds * 1000
  const queue = new FairPermits({ perKeyMax: 1 })
  const serviceScope = yield* Scope.Scope

  const write = (created: ReadonlyArray<NewConversation>) =>
    leases.create(created).pipe(Effect.asVoid, orUnavailable)
  const shared = yield* makeBatcher(write, conversationsPerStatementMax)
  const writeAlone = Effect.fnUntraced(function* (created: NewConversation) {
    const stored = yield* Deferred.make<void, DatabaseUnavailable>()
    yield* Effect.forkIn(Deferred.into(write([created]), stored), serviceScope, { startImmediately: true })
    return stored
  })
  /** Not interrupted with the request, so that the lease to release is known to be there. */
  const insert = (created: NewConversation) =>
    (created.systemMessage ?? "").length > sharedCharactersMax ? writeAlone(created) : shared.begin(created)

  const create = Effect.fnUntraced(function* (userId: UserId, systemMessage: string | null = null) {
    const conversationId = ConversationId.make(SecureRandom.uuidV7Unsafe())
    const turn: OpenTurn = { conversationId, turnCount: 0, systemMessage, fence: firstFence }
    const stored = yield* insert({ userId, conversationId, systemMessage })
    yield* queue.acquire(conversationId)
    yield* leases.hold(userId, turn, stored)
    return {
      turn,
      stored: Effect.andThen(Deferred.await(stored), leases.setShown(turn, true)),
      forget: leases.setShown(turn, false)
    }
  }, Effect.uninterruptible)

  /** Polls with growing pauses, until the lease is acquired or the time is up. */
  const pollLease = Effect.fnUntraced(function* (
    userId: UserId,
    id: ConversationId,
    startedAt: number,
    waitMillis: number
  ) {
    let pause = pollMillisMin
    while (true) {
      const turn = yield* leases.acquire(userId, id)
      if (turn !== null) return turn
      const waited = (yield* monotonicMillis) - startedAt
      const left = waitMillis - waited
      if (left <= 0) return yield* busy(waited)
      yield* Effect.sleep(Math.min(left, pause * (yield* Random.nextBetween(0.5, 1))))
      pause = Math.min(pause * pollGrowth, pollMillisMax)
    }
  })

  const openWithin = Effect.fnUntraced(function* (
    userId: UserId,
    conversationId: ConversationId,
    waitMillis: number
  ) {
    const startedAt = yield* monotonicMillis
    const { held, waiting } = queue.of(conversationId)
    // No request waits for a conversation that isn't its user's.
    if (held + waiting > 0 && !(yield* leases.isOwner(userId, conversationId))) {
      return yield* new ConversationNotFound({ param: "conversation_id" })
    }
    if (Option.isNone(yield* queue.acquireWithin(conversationId, 1, Duration.millis(waitMillis)))) {
      return yield* busy((yield* monotonicMillis) - startedAt)
    }
    return yield* pollLease(userId, conversationId, startedAt, waitMillis)
  }, withOwnScope)

  const open = (userId: UserId, conversationId: ConversationId) =>
    openWithin(userId, conversationId, turnWaitMillis)

  /** Null when the conversation has another turn by now, or is about to get one. */
  const openAt = (userId: UserId, { conversationId, turnCount }: ConversationState) =>
    openWithin(userId, conversationId, branchWaitMillis).pipe(
      Effect.filterOrFail(
        (turn) => turn.turnCount === turnCount,
        () => busy(0)
      ),
      withOwnScope,
      Effect.catchTag("ConversationBusy", () => Effect.succeed(null))
    )

  return { create, open, openAt }
})

/** Releases the resources of `effect` as soon as it fails, and not only with the caller's scope. */
const withOwnScope = <A, E, R>(
  effect: Effect.Effect<A, E, R | Scope.Scope>
): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.scope, (outer) => {
      const scope = Scope.forkUnsafe(outer)
      return restore(Effect.provideService(effect, Scope.Scope, scope)).pipe(
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
    })
  )
