import { Context, Deferred, Effect, Exit, Layer, Random, Schedule, Scope } from "effect"
import { SecureRandom } from "effect/crypto"
import type { SqlClient } from "effect/sql"
import { AppConfig } from "../AppConfig.ts"
import type { OpenTurn, StoredTurn } from "../domain/Conversation.ts"
import { ConversationBusy, ConversationNotFound, TurnLeaseLost } from "../domain/Errors.ts"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import { ConversationId } from "../domain/Ids.ts"
import type { ItemId, ResponseId, UserId } from "../domain/Ids.ts"
import type { StoredItem } from "../domain/Item.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { makeHeldTurns, monotonicMillis } from "./HeldTurns.ts"
import { firstFence, makeLeaseTable } from "./LeaseTable.ts"
import { makeTurnQueues } from "./TurnQueues.ts"
import { makeTurnTable } from "./TurnTable.ts"
import type { CommitTurn } from "./TurnTable.ts"
import { sweepUnusedConversations } from "./UnusedConversations.ts"

export type { CommitTurn } from "./TurnTable.ts"

/** How often another process's lease is looked at while waiting for it: from the first pause to the longest. */
const pollMillisMin = 50
const pollMillisMax = 1000
const pollGrowth = 1.5
/** How long a commit is repeated while the database is away, before the answer counts as lost. */
const commitSeconds = 10

/**
 * The conversations, and the right to add a turn to one. That right is a lease in the database: one holder at a time
 * across all processes, renewed while it is held, and ended by the database's clock when its process has gone.
 */
export class Conversations extends Context.Service<
  Conversations,
  {
    /**
     * A new hidden conversation with its turn open. Returns at once: its row is being written while the caller goes on,
     * and `stored` completes when it is there.
     */
    readonly create: (
      userId: UserId
    ) => Effect.Effect<
      { readonly turn: OpenTurn; readonly stored: Effect.Effect<void, DatabaseUnavailable> },
      never,
      Scope.Scope
    >
    /** The turn of an existing conversation of this user, held until the scope closes; waits while another holds it. */
    readonly open: (
      userId: UserId,
      conversationId: ConversationId
    ) => Effect.Effect<OpenTurn, ConversationNotFound | ConversationBusy | DatabaseUnavailable, Scope.Scope>
    /** The newest turns, oldest first and each whole, whose `promptTokens` add up to at most `tokensMax`. */
    readonly history: (
      turn: OpenTurn,
      tokensMax: number
    ) => Effect.Effect<ReadonlyArray<StoredTurn>, DatabaseUnavailable>
    /**
     * Stores the turn whole, or not at all; refused when another holder has taken the conversation over. Gives the lease
     * back, so that it succeeds once per open turn. After `DatabaseUnavailable` the turn may be there or not.
     */
    readonly commit: (
      turn: OpenTurn,
      content: CommitTurn
    ) => Effect.Effect<void, TurnLeaseLost | DatabaseUnavailable>
    /** Fails when another holder took the lease over, or when it could not be renewed in time; never succeeds. */
    readonly lost: (turn: OpenTurn) => Effect.Effect<never, TurnLeaseLost>
    /** The conversation that one of this user's responses belongs to. */
    readonly ofResponse: (
      userId: UserId,
      responseId: ResponseId
    ) => Effect.Effect<ConversationId, ConversationNotFound | DatabaseUnavailable>
    /** This user's stored items with these ids; those that aren't there, or aren't this user's, are absent. */
    readonly items: (
      userId: UserId,
      ids: ReadonlyArray<ItemId>
    ) => Effect.Effect<ReadonlyMap<ItemId, StoredItem>, DatabaseUnavailable>
  }
>()("parley/conversations/Conversations") {
  static readonly layer: Layer.Layer<Conversations, never, SqlClient.SqlClient | AppConfig> = Layer.effect(
    Conversations,
    Effect.gen(function* () {
      const { leaseSeconds, turnWaitSeconds } = (yield* AppConfig).conversations
      const random = yield* SecureRandom.SecureRandom
      const leases = yield* makeLeaseTable(leaseSeconds)
      const turns = yield* makeTurnTable
      const held = yield* makeHeldTurns(leases, leaseSeconds)
      const queues = makeTurnQueues()
      const serviceScope = yield* Scope.Scope
      yield* sweepUnusedConversations

      const create = Effect.fn("Conversations.create")(function* (userId: UserId) {
        const conversationId = ConversationId.make(yield* random.uuidV7())
        const turn: OpenTurn = { conversationId, turnCount: 0, systemMessage: null, fence: firstFence }
        const stored = yield* Deferred.make<void, DatabaseUnavailable>()
        yield* queues.enter(conversationId)
        yield* queues.wait(conversationId, Infinity)
        yield* held.hold(userId, turn, stored)
        // Not interrupted with the request, so that what `hold` gives back at the end is known to be there.
        yield* leases.create(userId, conversationId).pipe(
          orUnavailable,
          Effect.asVoid,
          Effect.onExit((exit) => Deferred.done(stored, exit)),
          Effect.exit,
          Effect.forkIn(serviceScope, { startImmediately: true })
        )
        return { turn, stored: Deferred.await(stored) }
      }, Effect.uninterruptible)

      /** Asks for the lease again and again, with growing pauses, until it is free or the time is up. */
      const pollLease = Effect.fnUntraced(function* (userId: UserId, id: ConversationId, startedAt: number) {
        let pause = pollMillisMin
        while (true) {
          const turn = yield* takeLease(userId, id)
          if (turn !== null) return turn
          const waited = (yield* monotonicMillis) - startedAt
          const left = turnWaitSeconds * 1000 - waited
          if (left <= 0) return yield* busy(waited)
          yield* Effect.sleep(Math.min(left, pause * (yield* Random.nextBetween(0.5, 1))))
          pause = Math.min(pause * pollGrowth, pollMillisMax)
        }
      })

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

      /** Who waits behind others must be told at once when there is nothing to wait for. */
      const isOwner = (userId: UserId, conversationId: ConversationId) => {
        const holder = held.find(conversationId)
        return holder === undefined
          ? orUnavailable(leases.isOwner(userId, conversationId))
          : Effect.succeed(holder.userId === userId)
      }

      const openIn = Effect.fnUntraced(function* (userId: UserId, conversationId: ConversationId) {
        const startedAt = yield* monotonicMillis
        if ((yield* queues.enter(conversationId)) && !(yield* isOwner(userId, conversationId))) {
          return yield* new ConversationNotFound({ param: "conversation_id" })
        }
        if (!(yield* queues.wait(conversationId, turnWaitSeconds * 1000))) {
          return yield* busy((yield* monotonicMillis) - startedAt)
        }
        return yield* pollLease(userId, conversationId, startedAt)
      })

      const open = Effect.fn("Conversations.open")(function* (
        userId: UserId,
        conversationId: ConversationId
      ) {
        return yield* withOwnScope(openIn(userId, conversationId))
      })

      const history = Effect.fn("Conversations.history")(function* (turn: OpenTurn, tokensMax: number) {
        if (turn.turnCount === 0 || tokensMax < 0) return []
        return yield* orUnavailable(turns.history(turn, tokensMax))
      })

      const commit = Effect.fn("Conversations.commit")(function* (turn: OpenTurn, content: CommitTurn) {
        const holder = held.find(turn.conversationId)
        const own = holder?.turn.fence === turn.fence ? holder : undefined
        if (own === undefined) return yield* commitStored(turn, content)
        if (own.stored !== null) yield* Deferred.await(own.stored)
        own.state = "committing"
        yield* commitStored(turn, content).pipe(
          Effect.onExit((exit) =>
            Effect.sync(() => {
              own.state = Exit.isSuccess(exit) ? "committed" : "open"
            })
          )
        )
      })

      const commitStored = Effect.fnUntraced(function* (turn: OpenTurn, content: CommitTurn) {
        const stored = yield* turns.commit(turn, content).pipe(
          orUnavailable,
          // A lost answer leaves open whether the turn is there; asking again finds out, or stores it.
          Effect.retry(
            Schedule.spaced("250 millis").pipe(Schedule.upTo({ duration: `${commitSeconds} seconds` }))
          )
        )
        if (!stored) return yield* new TurnLeaseLost()
      })

      const lost = (turn: OpenTurn) =>
        Effect.suspend(() => {
          const holder = held.find(turn.conversationId)
          return holder?.turn.fence === turn.fence
            ? Deferred.await(holder.lost)
            : Effect.fail(new TurnLeaseLost())
        })

      const ofResponse = Effect.fn("Conversations.ofResponse")(function* (
        userId: UserId,
        responseId: ResponseId
      ) {
        const id = yield* orUnavailable(turns.conversationOf(userId, responseId))
        return id ?? (yield* new ConversationNotFound({ param: "previous_response_id" }))
      })

      const items = Effect.fn("Conversations.items")(function* (userId: UserId, ids: ReadonlyArray<ItemId>) {
        return ids.length === 0
          ? new Map<ItemId, StoredItem>()
          : yield* orUnavailable(turns.items(userId, ids))
      })

      return { create, open, history, commit, lost, ofResponse, items }
    })
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}

const busy = (waitedMillis: number): ConversationBusy =>
  new ConversationBusy({ waitedSeconds: Math.round(waitedMillis / 1000) })

/** Like `effect`, except that what it acquired is given back at once when it fails, and not only with the caller's scope. */
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
