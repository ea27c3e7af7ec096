import type { OpenTurn } from "../domain/Conversation.ts"
import { TurnLeaseLost, type DatabaseUnavailable } from "../domain/Errors.ts"
import type { ConversationId, UserId } from "../domain/Ids.ts"
import { monotonicMillis, inRealTime } from "../domain/Monotonic.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { Deferred, Effect, type Scope, Schema } from "effect"
import { SqlClient } from "effect/sql"

/** One conversation and the holder's number on it. */
interface LeaseKey {
  readonly conversationId: ConversationId
  readonly fence: number
}

export interface NewConversation {
  readonly conversationId: ConversationId
  readonly userId: UserId
  readonly systemMessage: string | null
}

/** What came of asking for a lease. */
type LeaseAnswer =
  | {
      readonly _tag: "Taken"
      readonly fence: number
      readonly turnCount: number
      readonly systemMessage: string | null
    }
  | { readonly _tag: "Busy" }
  | { readonly _tag: "Missing" }

const Answer = Schema.Array(
  Schema.Struct({
    leaseFence: Schema.NullOr(Schema.Int),
    turnCount: Schema.NullOr(Schema.Int),
    systemMessage: Schema.NullOr(Schema.String)
  })
)
const Ids = Schema.Array(Schema.Struct({ id: Schema.String }))

/** The fence of a conversation's first holder, who creates it. */
export const firstFence = 1

/** Ends every lease. Only for a process that shares the database with no other, before it acquires its first lease. */
export const endAllLeases = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE conversations SET lease_until = NULL, lease_fence = lease_fence + 1 WHERE lease_until IS NOT NULL`
})

/**
 * The lease columns of `conversations`. The database's clock alone decides when a lease has ended. A crash of the server
 * may forget what was written here in the last moments, so nothing waits for the disk: two holders that share a fence
 * because of it still can't both store a turn, since a turn's position is checked as well.
 */
export const makeLeaseTable = Effect.fnUntraced(function* (leaseSeconds: number) {
  const sql = yield* SqlClient.SqlClient
  const quick = sql`SELECT set_config('synchronous_commit', 'off', true)`
  const leaseEnd = sql`clock_timestamp() + make_interval(secs => ${leaseSeconds})`

  /** New hidden conversations, their leases already held by `firstFence`. */
  const create = (made: ReadonlyArray<NewConversation>) =>
    sql`INSERT INTO conversations (id, user_id, hidden, system_message, lease_fence, lease_until)
      SELECT made.id, made.user_id, true, nullif(made.system_message, ''), ${firstFence}, ${leaseEnd}
      FROM (${quick}) AS quick, unnest(
        ${made.map(({ conversationId }) => conversationId)}::uuid[], ${made.map(({ userId }) => userId)}::uuid[],
        ${made.map(({ systemMessage }) => systemMessage ?? "")}::text[]
      ) AS made (id, user_id, system_message)`

  /** The conversation's lease, if it is this user's and nobody holds it. */
  const take = (userId: UserId, conversationId: ConversationId) =>
    sql`WITH quick AS MATERIALIZED (${quick}), taken AS (
        UPDATE conversations SET lease_fence = lease_fence + 1, lease_until = ${leaseEnd} FROM quick
        WHERE id = ${conversationId}::uuid AND user_id = ${userId}::uuid
          AND (lease_until IS NULL OR lease_until <= clock_timestamp())
        RETURNING lease_fence, turn_count, system_message
      )
      SELECT taken.lease_fence, taken.turn_count, taken.system_message
      FROM conversations LEFT JOIN taken ON true
      WHERE conversations.id = ${conversationId}::uuid AND conversations.user_id = ${userId}::uuid`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Answer)),
      Effect.map(([row]): LeaseAnswer => {
        if (row === undefined) return { _tag: "Missing" }
        if (row.leaseFence === null || row.turnCount === null) return { _tag: "Busy" }
        return {
          _tag: "Taken",
          fence: row.leaseFence,
          turnCount: row.turnCount,
          systemMessage: row.systemMessage
        }
      })
    )

  const isOwner = (userId: UserId, conversationId: ConversationId) =>
    sql`SELECT 1 FROM conversations WHERE id = ${conversationId}::uuid AND user_id = ${userId}::uuid`.pipe(
      Effect.map((rows) => rows.length > 0)
    )

  /** Renews the leases that are still held as `keys` say; the ids of the others are absent from the answer. */
  const renew = (keys: ReadonlyArray<LeaseKey>) =>
    sql`UPDATE conversations SET lease_until = ${leaseEnd}
      FROM (${quick}) AS quick, unnest(
        ${keys.map((key) => key.conversationId)}::uuid[], ${keys.map((key) => key.fence)}::int[]
      ) AS held (id, fence)
      WHERE conversations.id = held.id AND conversations.lease_fence = held.fence
      RETURNING conversations.id`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Ids)),
      Effect.map((rows): ReadonlySet<string> => new Set(rows.map((row) => row.id)))
    )

  /** Gives a lease back; without effect when it has changed hands. */
  const release = ({ conversationId, fence }: LeaseKey) =>
    sql`UPDATE conversations SET lease_until = NULL, lease_fence = lease_fence + 1, updated_at = now() FROM (${quick}) AS quick
      WHERE id = ${conversationId}::uuid AND lease_fence = ${fence}`

  return { create, take, isOwner, renew, release }
})

export type LeaseTable = Effect.Success<ReturnType<typeof makeLeaseTable>>

/** A turn that this process holds. */
export interface HeldTurn {
  readonly userId: UserId
  readonly turn: OpenTurn
  /** Completes when the conversation's row is in the database; null when it was there before. */
  readonly stored: Deferred.Deferred<void, DatabaseUnavailable> | null
  readonly lost: Deferred.Deferred<never, TurnLeaseLost>
  /** When the last renewal that succeeded was asked for, in milliseconds of the monotonic clock. */
  renewedAt: number
  /** A commit gives the lease back, so a renewal that comes too late for it is no loss. */
  state: "open" | "committing" | "committed"
}

export interface HeldTurns {
  readonly find: (conversationId: ConversationId) => HeldTurn | undefined
  /** Keeps the lease alive until the scope closes, and gives it back then. */
  readonly hold: (
    userId: UserId,
    turn: OpenTurn,
    stored: HeldTurn["stored"]
  ) => Effect.Effect<void, never, Scope.Scope>
}

/** Renewals per lease. */
const beatsPerLease = 3
/** Wait after a renewal that failed. */
const retrySeconds = 1
/** How long the end of a request may wait for a lease to be given back; after that it ends by itself. */
const releaseSeconds = 5
/** Leases renewed by one statement. */
const leasesPerStatementMax = 1000

/**
 * Renews the leases of all turns that this process holds, together, for as long as the scope is open. Leases end by the
 * clock of the database, so this goes by the real clock too.
 */
export const makeHeldTurns = Effect.fnUntraced(function* (leases: LeaseTable, leaseSeconds: number) {
  const held = new Map<ConversationId, HeldTurn>()
  const leaseMillis = leaseSeconds * 1000
  const beatMillis = leaseMillis / beatsPerLease

  const lose = (entry: HeldTurn) => {
    if (entry.state === "open") Deferred.doneUnsafe(entry.lost, Effect.fail(new TurnLeaseLost()))
  }

  const renewSome = Effect.fnUntraced(function* (entries: ReadonlyArray<HeldTurn>) {
    const askedAt = yield* monotonicMillis
    const renewed = yield* leases.renew(
      entries.map(({ turn: { conversationId, fence } }) => ({ conversationId, fence }))
    )
    for (const entry of entries) {
      if (renewed.has(entry.turn.conversationId)) entry.renewedAt = askedAt
      else lose(entry)
    }
  })

  /** True when every lease could be asked for. */
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
    Effect.timeoutOrElse({ duration: beatMillis, orElse: () => Effect.succeed(false) }),
    Effect.catchTag("DatabaseUnavailable", () => Effect.succeed(false))
  )

  yield* Effect.gen(function* () {
    while (true) {
      const renewed = yield* renewAll
      const now = yield* monotonicMillis
      for (const entry of held.values()) {
        if (now - entry.renewedAt >= leaseMillis) lose(entry)
      }
      yield* Effect.sleep(renewed ? beatMillis : Math.min(retrySeconds * 1000, beatMillis))
    }
  }).pipe(inRealTime, Effect.forkScoped)

  const release = ({ state, stored, turn }: HeldTurn) =>
    Effect.gen(function* () {
      // A row that is still being written is waited for; otherwise its lease would stay until it ends by itself.
      if (stored !== null) yield* Effect.exit(Deferred.await(stored))
      if (state !== "committed") yield* leases.release(turn)
    }).pipe(orUnavailable, Effect.timeoutOption(`${releaseSeconds} seconds`), Effect.ignore, inRealTime)

  const hold = (userId: UserId, turn: OpenTurn, stored: HeldTurn["stored"]) =>
    Effect.acquireRelease(
      Effect.gen(function* () {
        const lost = yield* Deferred.make<never, TurnLeaseLost>()
        const renewedAt = yield* inRealTime(monotonicMillis)
        const entry: HeldTurn = { userId, turn, stored, lost, renewedAt, state: "open" }
        held.set(turn.conversationId, entry)
        return entry
      }),
      (entry) =>
        Effect.ensuring(
          release(entry),
          Effect.sync(() => held.delete(turn.conversationId))
        )
    ).pipe(Effect.asVoid)

  return { find: (conversationId: ConversationId) => held.get(conversationId), hold } satisfies HeldTurns
})
