import { Deferred, Effect, type Scope } from "effect"
import type { OpenTurn } from "../domain/Conversation.ts"
import { TurnLeaseLost, type DatabaseUnavailable } from "../domain/Errors.ts"
import type { ConversationId, UserId } from "../domain/Ids.ts"
import { monotonicMillis, inRealTime } from "../domain/Monotonic.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import type { LeaseTable } from "./LeaseTable.ts"

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
