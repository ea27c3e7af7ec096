import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { ApiKeyRecord } from "../domain/Account.ts"
import type { KeyAllowance } from "../domain/Allowance.ts"
import { hasTokenLimit } from "../domain/KeyLimits.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowsAs } from "../sql/rows.ts"
import { keyAllowance, notCounted } from "./AllowanceWindows.ts"
import { makeTokenCounters, windowsOf } from "./TokenCounters.ts"

export type LimitedKey = Pick<ApiKeyRecord, "id" | "userId" | "limits">

/** Returns the allowance of each of the keys that were read. */
export type KeyAllowances = (key: LimitedKey) => KeyAllowance

const Spent = Schema.Struct({ keyId: Schema.String, day: Schema.Int, month: Schema.Int })

/** Reads what is counted for keys; for those that have no counters yet, what the records say. */
export const makeKeyAllowances = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const counters = yield* makeTokenCounters

  const spentBy = (keys: ReadonlyArray<LimitedKey>, now: DateTime.Utc) => {
    const { day, month } = windowsOf(now)
    return sql`
      SELECT key_id, sum(input_tokens::bigint + output_tokens)::float8 AS month,
        coalesce(sum(input_tokens::bigint + output_tokens) FILTER (WHERE created_at >= ${day}::date), 0)::float8 AS day
      FROM usage_records
      WHERE user_id = ANY (${keys.map(({ userId }) => userId)}::uuid[])
        AND key_id = ANY (${keys.map(({ id }) => id)}::uuid[]) AND created_at >= ${month}::date
      GROUP BY key_id`.pipe(rowsAs(Spent))
  }

  return Effect.fn("Usage.keyAllowances")(function* (keys: ReadonlyArray<LimitedKey>) {
    const now = yield* DateTime.now
    const limited = keys.filter(({ limits }) => hasTokenLimit(limits))
    const counted = limited.length === 0 ? [] : yield* counters.readAll(limited.map(({ id }) => id))
    const known = new Map(counted.map(({ ownerId, ...windows }) => [ownerId, windows]))
    const others = limited.filter(({ id }) => !known.has(id))
    const spent = others.length === 0 ? [] : yield* spentBy(others, now)
    for (const { day, keyId, month } of spent) known.set(keyId, notCounted(now, day, month))
    return (({ id, limits }) =>
      keyAllowance(limits, known.get(id) ?? notCounted(now, 0, 0), now)) satisfies KeyAllowances
  }, orUnavailable)
})
