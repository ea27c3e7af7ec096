import { Clock, Deferred, Effect, Exit, Record, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/AuditRecorder.ts"
import { defaultPlan } from "../domain/Account.ts"
import { type LimitChange, type LimitSource, Span, type TokenLimits } from "../domain/Allowance.ts"
import { aboutUser } from "../domain/AuditEntry.ts"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import { OrganizationId, UserId } from "../domain/Ids.ts"
import { Plans } from "../domain/Plan.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"

/** The age at which a user's limits are read again before they are used. */
const knownSeconds = 5
/** The age at which they are read again while requests use the known ones. */
const refreshSeconds = 2
const knownUsersMax = 10_000

const nanosPerSecond = 1_000_000_000n

/** A row for each of the user's own limits, or one without a limit. */
const Row = Schema.Struct({
  plan: Schema.String,
  span: Schema.NullOr(Span),
  tokens: Schema.NullOr(Schema.Int)
})

const UserRow = Schema.Struct({
  id: UserId,
  email: Schema.String,
  organizationId: OrganizationId,
  organization: Schema.String
})

const OwnRow = Schema.Struct({ span: Span, tokens: Schema.NullOr(Schema.Int) })

/** The limits of a user, and who set them. */
export interface SourcedLimits extends TokenLimits {
  readonly sources: Readonly<Record<Span, LimitSource>>
}

interface Known {
  readonly sinceNanos: bigint
  readonly limits: Deferred.Deferred<TokenLimits, DatabaseUnavailable>
}

/**
 * The limits of the users: those of the settings, those that differ for a plan, and those that differ for one
 * user.
 */
export const makeLimitTable = Effect.gen(function* () {
  const { dailyTokens, monthlyTokens } = (yield* AppConfig).usage
  const plans = yield* Plans
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const scope = yield* Effect.scope
  const known = new Map<UserId, Known>()
  const refreshing = new Set<UserId>()

  const read = Effect.fnUntraced(function* (userId: UserId) {
    const rows = yield* sql`SELECT o.plan, t.span, t.tokens::float8
      FROM users u JOIN organizations o ON o.id = u.organization_id
      LEFT JOIN token_limits t ON t.user_id = u.id
      WHERE u.id = ${userId}::uuid`.pipe(rowsAs(Row))
    const planned = (yield* plans.current).termsOf(rows[0]?.plan ?? defaultPlan)?.tokens ?? {}
    const limitOf = (span: Span, usual: number | null): { tokens: number | null; source: LimitSource } => {
      const own = rows.find((row) => row.span === span)
      if (own !== undefined) return { tokens: own.tokens, source: "user" }
      const ofPlan = planned[span]
      return ofPlan === undefined ? { tokens: usual, source: "settings" } : { tokens: ofPlan, source: "plan" }
    }
    const [daily, monthly] = [limitOf("daily", dailyTokens), limitOf("monthly", monthlyTokens)]
    const limits: SourcedLimits = {
      daily: daily.tokens,
      monthly: monthly.tokens,
      sources: { daily: daily.source, monthly: monthly.source }
    }
    return limits
  }, orUnavailable)

  /** Reads beside the request; the limits are awaited where they are needed. */
  const ask = Effect.fnUntraced(function* (userId: UserId) {
    const entry: Known = { sinceNanos: yield* Clock.monotonicTimeNanos, limits: Deferred.makeUnsafe() }
    const [oldest] = known.keys()
    if (oldest !== undefined && known.size >= knownUsersMax) known.delete(oldest)
    known.set(userId, entry)
    yield* Effect.forkIn(lookUp(userId, entry), scope, { startImmediately: true })
    return entry
  })

  const lookUp = (userId: UserId, entry: Known) =>
    Effect.flatMap(Effect.exit(read(userId)), (exit) => {
      // Later requests read again after a failure.
      if (Exit.isFailure(exit) && known.get(userId) === entry) known.delete(userId)
      return Deferred.done(entry.limits, exit)
    })

  const refresh = Effect.fnUntraced(function* (userId: UserId, old: Known) {
    const sinceNanos = yield* Clock.monotonicTimeNanos
    const exit = yield* Effect.exit(read(userId))
    refreshing.delete(userId)
    if (Exit.isFailure(exit) || known.get(userId) !== old) return
    const limits = Deferred.makeUnsafe<TokenLimits, DatabaseUnavailable>()
    Deferred.doneUnsafe(limits, exit)
    known.set(userId, { sinceNanos, limits })
  })

  const entryOf = (userId: UserId) =>
    Effect.flatMap(Clock.monotonicTimeNanos, (now): Effect.Effect<Known> => {
      const entry = known.get(userId)
      if (entry === undefined || now - entry.sinceNanos >= BigInt(knownSeconds) * nanosPerSecond) {
        return ask(userId)
      }
      if (now - entry.sinceNanos < BigInt(refreshSeconds) * nanosPerSecond || refreshing.has(userId)) {
        return Effect.succeed(entry)
      }
      refreshing.add(userId)
      return Effect.as(Effect.forkIn(refresh(userId, entry), scope), entry)
    })

  const change = (userId: UserId, span: Span, value: LimitChange) =>
    value === "default"
      ? sql`DELETE FROM token_limits WHERE user_id = ${userId}::uuid AND span = ${span}`
      : sql`INSERT INTO token_limits (user_id, span, tokens) VALUES (${userId}::uuid, ${span}, ${value}::bigint)
          ON CONFLICT (user_id, span) DO UPDATE SET tokens = EXCLUDED.tokens`

  type Changes = Readonly<Partial<Record<Span, LimitChange>>>

  /** Locks the user, so that changes of the limits come one after the other. */
  const lock = (userId: UserId) =>
    sql`SELECT u.id, u.email, u.organization_id, o.name AS organization
      FROM users u JOIN organizations o ON o.id = u.organization_id
      WHERE u.id = ${userId}::uuid FOR NO KEY UPDATE OF u`.pipe(rowAs(UserRow))

  const ownLimits = (userId: UserId) =>
    sql`SELECT span, tokens::float8 FROM token_limits WHERE user_id = ${userId}::uuid`.pipe(rowsAs(OwnRow))

  const setWithin = Effect.fnUntraced(function* (userId: UserId, changes: Changes) {
    const user = yield* lock(userId)
    const rows = yield* ownLimits(userId)
    const details: Record<string, { readonly old: LimitChange; readonly new: LimitChange }> = {}
    for (const span of Span.literals) {
      const value = changes[span]
      if (value === undefined) continue
      const own = rows.find((row) => row.span === span)
      const old: LimitChange = own === undefined ? "default" : own.tokens
      yield* change(userId, span, value)
      if (old !== value) details[span] = { old, new: value }
    }
    if (user === undefined || Record.isEmptyReadonlyRecord(details)) return
    yield* audit.record({ action: "user.limits", ...aboutUser(user), details })
  })

  return {
    /** Starts to read, where that is needed. */
    prepare: entryOf,
    of: (userId: UserId) => Effect.flatMap(entryOf(userId), ({ limits }) => Deferred.await(limits)),
    read,
    set: (userId: UserId, changes: Changes) =>
      setWithin(userId, changes).pipe(
        sql.withTransaction,
        orUnavailable,
        Effect.ensuring(Effect.sync(() => known.delete(userId)))
      )
  }
})
