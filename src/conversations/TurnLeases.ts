import { Deferred, Effect, Schema, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { OpenTurn } from "../domain/Conversation.ts"
import { ConversationNotFound, type DatabaseUnavailable, TurnLeaseLost } from "../domain/Errors.ts"
import type { ConversationId, UserId } from "../domain/Ids.ts"
import { inRealTime, monotonicMillis } from "../runtime/Monotonic.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { prepared } from "../sql/prepared.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"

/** A conversation, and the number of its lease. */
interface LeaseKey {
  readonly conversationId: ConversationId
  readonly fence: number
}

export interface NewConversation {
  readonly conversationId: ConversationId
  readonly userId: UserId
  readonly systemMessage: string | null
}

/** A turn whose lease this process holds. */
export interface HeldTurn {
  readonly userId: UserId
  readonly turn: OpenTurn
  /** Completes when the conversation's row is in the database; null when it was there before. */
  readonly stored: Deferred.Deferred<void, DatabaseUnavailable> | null
  /** Fails when the lease is lost. */
  readonly lost: Deferred.Deferred<never, TurnLeaseLost>
  /** The time at which the last successful renewal was sent, in milliseconds of the monotonic clock. */
  renewedAt: number
  /** True if the client has been sent the conversation's id, so that its row must stay. */
  isShown: boolean
  /** A commit releases the lease, so a renewal that fails after it is no loss. */
  state: "open" | "committing" | "committed"
}

const Acquired = Schema.Struct({
  leaseFence: Schema.NullOr(Schema.Int),
  turnCount: Schema.NullOr(Schema.Int),
  systemMessage: Schema.NullOr(Schema.String)
})
const IdRow = Schema.Struct({ id: Schema.String })

/** The fence of a conversation's first lease. */
export const firstFence = 1

const renewalsPerLease = 3
/** Pause after a renewal that failed. */
const retrySeconds = 1
/** The time for which the end of a request waits for the release of a lease; after that the lease expires. */
const releaseSeconds = 5
/** Leases renewed by one statement. */
const leasesPerStatementMax = 1000

/**
 * Ends every lease. Only for a process that shares the database with no other, before it acquires its first
 * lease.
 */
export const endAllLeases = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE conversations SET lease_until = NULL, lease_fence = lease_fence + 1 WHERE lease_until IS NOT NULL`
})

/**
 * The lease columns of `conversations`. Leases expire by the clock of the database. A crash of the server may
 * forget what was written here in the last moments, so nothing waits for the disk: two holders that share a
 * fence because of it still can't both store a turn, since a turn's position is checked as well.
 */
const makeLeaseTable = Effect.fnUntraced(function* (leaseSeconds: number) {
  const sql = yield* SqlClient.SqlClient
  const quick = sql`SELECT set_config('synchronous_commit', 'off', true)`
  const leaseEnd = sql`clock_timestamp() + make_interval(secs => ${leaseSeconds})`

  /** New hidden conversations, whose leases are held by `firstFence`. */
  const create = (created: ReadonlyArray<NewConversation>) =>
    insert({
      ids: created.map(({ conversationId }) => conversationId),
      userIds: created.map(({ userId }) => userId),
      systemMessages: created.map(({ systemMessage }) => systemMessage ?? "")
    })
  const insert = prepared<Readonly<Record<"ids" | "userIds" | "systemMessages", ReadonlyArray<string>>>>(
    sql,
    (parameter) =>
      sql`INSERT INTO conversations (id, user_id, hidden, system_message, lease_fence, lease_until)
        SELECT created.id, created.user_id, true, nullif(created.system_message, ''), ${firstFence}, ${leaseEnd}
        FROM (${quick}) AS quick, unnest(
          ${parameter("ids")}::uuid[], ${parameter("userIds")}::uuid[], ${parameter("systemMessages")}::text[]
        ) AS created (id, user_id, system_message)`
  )

  /** No row for another user's conversation; a row of nulls while another process holds the lease. */
  const acquire = (userId: UserId, conversationId: ConversationId) =>
    sql`WITH quick AS MATERIALIZED (${quick}), acquired AS (
        UPDATE conversations SET lease_fence = lease_fence + 1, lease_until = ${leaseEnd} FROM quick
        WHERE id = ${conversationId}::uuid AND user_id = ${userId}::uuid
          AND (lease_until IS NULL OR lease_until <= clock_timestamp())
        RETURNING lease_fence, turn_count, system_message
      )
      SELECT acquired.lease_fence, acquired.turn_count, acquired.system_message
      FROM conversations LEFT JOIN acquired ON true
      WHERE conversations.id = ${conversationId}::uuid AND conversations.user_id = ${userId}::uuid`.pipe(
      rowAs(Acquired)
    )

  const isOwner = (userId: UserId, conversationId: ConversationId) =>
    Effect.map(
      sql`SELECT 1 FROM conversations WHERE id = ${conversationId}::uuid AND user_id = ${userId}::uuid`,
      (rows) => rows.length > 0
    )

  /** The ids of the leases that were renewed. */
  const renew = (keys: ReadonlyArray<LeaseKey>) =>
    sql`UPDATE conversations SET lease_until = ${leaseEnd}
      FROM (${quick}) AS quick, unnest(
        ${keys.map((key) => key.conversationId)}::uuid[], ${keys.map((key) => key.fence)}::int[]
      ) AS held (id, fence)
      WHERE conversations.id = held.id AND conversations.lease_fence = held.fence
      RETURNING conversations.id`.pipe(
      rowsAs(IdRow),
      Effect.map((rows): ReadonlySet<string> => new Set(rows.map((row) => row.id)))
    )

  /** Releases the lease. Has no effect if another process has acquired it. */
  const release = ({ conversationId, fence }: LeaseKey) =>
    sql`UPDATE conversations SET lease_until = NULL, lease_fence = lease_fence + 1, updated_at = now() FROM (${quick}) AS quick
      WHERE id = ${conversationId}::uuid AND lease_fence = ${fence}`

  /** Deletes a conversation that no client has seen, and that has nothing. */
  const remove = ({ conversationId, fence }: LeaseKey) =>
    sql`DELETE FROM conversations WHERE id = ${conversationId}::uuid AND lease_fence = ${fence} AND hidden AND turn_count = 0
      AND unanswered IS NULL`

  return { create, acquire, isOwner, renew, release, remove }
})

/**
 * The leases that this process holds. They are renewed together as long as the scope is open, and by the real
 * clock, since they expire by the clock of the database.
 */
export const makeTurnLeases = Effect.fnUntraced(function* (leaseSeconds: number) {
  const table = yield* makeLeaseTable(leaseSeconds)
  const held = new Map<ConversationId, HeldTurn>()
  yield* keepRenewing(held, table, leaseSeconds * 1000)

  const release = Effect.fnUntraced(
    function* ({ isShown, stored, turn }: HeldTurn) {
      // Before its row is written, there is no lease to release.
      if (stored !== null) yield* Effect.exit(Deferred.await(stored))
      yield* isShown ? table.release(turn) : table.remove(turn)
    },
    orUnavailable,
    (released) => Effect.ignore(Effect.timeoutOption(released, `${releaseSeconds} seconds`)),
    inRealTime
  )

  /** Renews the lease until the scope closes, and releases it then. */
  const hold = (userId: UserId, turn: OpenTurn, stored: HeldTurn["stored"]) =>
    Effect.acquireRelease(
      Effect.map(inRealTime(monotonicMillis), (renewedAt) => {
        const lost = Deferred.makeUnsafe<never, TurnLeaseLost>()
        const isShown = stored === null
        const entry: HeldTurn = { userId, turn, stored, lost, renewedAt, isShown, state: "open" }
        held.set(turn.conversationId, entry)
        return entry
      }),
      (entry) =>
        Effect.ensuring(
          // A commit has released it.
          Effect.suspend(() => (entry.state === "committed" ? Effect.void : release(entry))),
          Effect.sync(() => held.delete(turn.conversationId))
        )
    ).pipe(Effect.asVoid)

  /** Null while another process holds the lease. */
  const acquire = Effect.fnUntraced(function* (userId: UserId, conversationId: ConversationId) {
    const row = yield* orUnavailable(table.acquire(userId, conversationId))
    if (row === undefined) return yield* new ConversationNotFound({ param: "conversation_id" })
    const { leaseFence, systemMessage, turnCount } = row
    if (leaseFence === null || turnCount === null) return null
    const turn: OpenTurn = { conversationId, turnCount, systemMessage, fence: leaseFence }
    yield* hold(userId, turn, null)
    return turn
  }, Effect.uninterruptible)

  const isOwner = (userId: UserId, conversationId: ConversationId) => {
    const holder = held.get(conversationId)
    return holder === undefined
      ? orUnavailable(table.isOwner(userId, conversationId))
      : Effect.succeed(holder.userId === userId)
  }

  /** A new conversation that a client has seen stays, also without a turn. */
  const setShown = ({ conversationId }: LeaseKey, isShown: boolean) =>
    Effect.sync(() => {
      const holder = held.get(conversationId)
      if (holder !== undefined && holder.stored !== null) holder.isShown = isShown
    })

  /** The turn as it is held, if its lease still is. */
  const find = ({ conversationId, fence }: LeaseKey): HeldTurn | undefined => {
    const holder = held.get(conversationId)
    return holder?.turn.fence === fence ? holder : undefined
  }

  return { create: table.create, hold, acquire, isOwner, setShown, find }
})

export type TurnLeases = Effect.Success<ReturnType<typeof makeTurnLeases>>

const keepRenewing = (
  held: ReadonlyMap<ConversationId, HeldTurn>,
  table: Effect.Success<ReturnType<typeof makeLeaseTable>>,
  leaseMillis: number
): Effect.Effect<void, never, Scope.Scope> => {
  const pauseMillis = leaseMillis / renewalsPerLease

  const lose = ({ lost, state }: HeldTurn) => {
    if (state === "open") Deferred.doneUnsafe(lost, Effect.fail(new TurnLeaseLost()))
  }

  const renewSome = Effect.fnUntraced(function* (entries: ReadonlyArray<HeldTurn>) {
    const sentAt = yield* monotonicMillis
    const renewed = yield* table.renew(entries.map(({ turn }) => turn))
    for (const entry of entries) {
      if (renewed.has(entry.turn.conversationId)) entry.renewedAt = sentAt
      else lose(entry)
    }
  })

  /** Renews all leases. True if all renewals could be sent. */
  const renewAll = Effect.gen(function* () {
    const entries = [...held.values()].filter(
      ({ state, stored }) => state !== "committed" && (stored === null || Deferred.isDoneUnsafe(stored))
    )
    for (let from = 0; from < entries.length; from += leasesPerStatementMax) {
      yield* renewSome(entries.slice(from, from + leasesPerStatementMax))
    }
    return true
  }).pipe(
    orUnavailable,
    Effect.timeoutOrElse({ duration: pauseMillis, orElse: () => Effect.succeed(false) }),
    Effect.catchTag("DatabaseUnavailable", () => Effect.succeed(false)),
    // Nothing may end this: without it, every lease would expire while its turn is open.
    Effect.catchCause((cause) =>
      Effect.as(Effect.logError("The leases of turns could not be renewed.", cause), false)
    )
  )

  return Effect.gen(function* () {
    while (true) {
      const renewed = yield* renewAll
      const now = yield* monotonicMillis
      for (const entry of held.values()) {
        if (now - entry.renewedAt >= leaseMillis) lose(entry)
      }
      yield* Effect.sleep(renewed ? pauseMillis : Math.min(retrySeconds * 1000, pauseMillis))
    }
  }).pipe(inRealTime, Effect.forkScoped, Effect.asVoid)
}
