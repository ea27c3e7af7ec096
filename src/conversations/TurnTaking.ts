import type { OpenTurn } from "../domain/Conversation.ts"
import { ConversationBusy, ConversationNotFound, type DatabaseUnavailable } from "../domain/Errors.ts"
import { ConversationId, type UserId } from "../domain/Ids.ts"
import { FairPermits } from "../domain/FairPermits.ts"
import { monotonicMillis } from "../domain/Monotonic.ts"
import { makeBatcher } from "../sql/Batcher.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { type HeldTurns, firstFence, type LeaseTable, type NewConversation } from "./TurnLeases.ts"
import { Deferred, Effect, Exit, Option, Random, Scope } from "effect"
import { SecureRandom } from "effect/crypto"

/** How often another process's lease is looked at while waiting for it: from the first pause to the longest. */
const pollMillisMin = 50
const pollMillisMax = 1000
const pollGrowth = 1.5

/** New conversations written by one statement. */
const conversationsPerStatementMax = 1000
/** Characters of a system message that share a statement with others; a longer one has a statement of its own. */
const sharedCharactersMax = 4_096

const busy = (waitedMillis: number): ConversationBusy =>
  new ConversationBusy({ waitedSeconds: Math.round(waitedMillis / 1000) })

/** The two ways to a turn. Within the process one waits in a queue, and behind another process by asking again. */
export const makeTurnTaking = Effect.fnUntraced(function* (options: {
  readonly leases: LeaseTable
  readonly held: HeldTurns
  readonly turnWaitSeconds: number
}) {
  const { held, leases } = options
  const turnWaitMillis = options.turnWaitSeconds * 1000
  const random = yield* SecureRandom.SecureRandom
  const queue = new FairPermits({ perKeyMax: 1 })
  const serviceScope = yield* Scope.Scope

  const write = (made: ReadonlyArray<NewConversation>) =>
    leases.create(made).pipe(Effect.asVoid, orUnavailable)
  const writeShared = yield* makeBatcher(write, conversationsPerStatementMax)
  const insert = (made: NewConversation) =>
    (made.systemMessage ?? "").length > sharedCharactersMax ? write([made]) : writeShared(made)

  const create = Effect.fnUntraced(function* (userId: UserId, systemMessage: string | null = null) {
    const conversationId = ConversationId.make(yield* random.uuidV7())
    const turn: OpenTurn = { conversationId, turnCount: 0, systemMessage, fence: firstFence }
    const stored = yield* Deferred.make<void, DatabaseUnavailable>()
    yield* queue.acquire(conversationId)
    yield* held.hold(userId, turn, stored)
    // Not interrupted with the request, so that what is given back at the end is known to be there.
    yield* insert({ userId, conversationId, systemMessage }).pipe(
      Effect.onExit((exit) => Deferred.done(stored, exit)),
      Effect.exit,
      Effect.forkIn(serviceScope, { startImmediately: true })
    )
    return { turn, stored: Deferred.await(stored) }
  }, Effect.uninterruptible)

  /** The turn, or null while another process holds it. Not to be interrupted between taking it and holding it. */
  const takeLease = (userId: UserId, conversationId: ConversationId) =>
    Effect.gen(function* () {
      const answer = yield* orUnavailable(leases.take(userId, conversationId))
      if (answer._tag === "Missing") return yield* new ConversationNotFound({ param: "conversation_id" })
      if (answer._tag === "Busy") return null
      const { fence, systemMessage, turnCount } = answer
      const turn: OpenTurn = { conversationId, turnCount, systemMessage, fence }
      yield* held.hold(userId, turn, null)
      return turn
    }).pipe(Effect.uninterruptible)

  /** Asks for the lease again and again, with growing pauses, until it is free or the time is up. */
  const pollLease = Effect.fnUntraced(function* (userId: UserId, id: ConversationId, startedAt: number) {
    let pause = pollMillisMin
    while (true) {
      const turn = yield* takeLease(userId, id)
      if (turn !== null) return turn
      const waited = (yield* monotonicMillis) - startedAt
      const left = turnWaitMillis - waited
      if (left <= 0) return yield* busy(waited)
      yield* Effect.sleep(Math.min(left, pause * (yield* Random.nextBetween(0.5, 1))))
      pause = Math.min(pause * pollGrowth, pollMillisMax)
    }
  })

  /** Who would wait behind others must be told at once when there is nothing to wait for. */
  const isOwner = (userId: UserId, conversationId: ConversationId) => {
    const holder = held.find(conversationId)
    return holder === undefined
      ? orUnavailable(leases.isOwner(userId, conversationId))
      : Effect.succeed(holder.userId === userId)
  }

  const open = Effect.fnUntraced(function* (userId: UserId, conversationId: ConversationId) {
    const startedAt = yield* monotonicMillis
    const { held: taken, waiting } = queue.of(conversationId)
    if (taken + waiting > 0 && !(yield* isOwner(userId, conversationId))) {
      return yield* new ConversationNotFound({ param: "conversation_id" })
    }
    if (Option.isNone(yield* Effect.timeoutOption(queue.acquire(conversationId), turnWaitMillis))) {
      return yield* busy((yield* monotonicMillis) - startedAt)
    }
    return yield* pollLease(userId, conversationId, startedAt)
  }, withOwnScope)

  return { create, open }
})

/** Like `effect`, but what it acquired is given back as soon as it fails, and not only with the caller's scope. */
const withOwnScope = <A, E, R>(
  effect: Effect.Effect<A, E, R | Scope.Scope>
): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.fork(yield* Scope.Scope)
      return yield* restore(Effect.provideService(effect, Scope.Scope, scope)).pipe(
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
    })
  )
