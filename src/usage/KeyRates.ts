import { type Array as Arr, Clock, Context, DateTime, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type DatabaseUnavailable, KeyRateExceeded } from "../domain/Errors.ts"
import { ApiKeyId } from "../domain/Ids.ts"
import { makeBatcher } from "../sql/Batcher.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowsAs } from "../sql/rows.ts"

/** Requests counted by one statement. */
const requestsPerStatementMax = 1_000
/** Keys whose minute is known to be used up, so that their requests cost no statement. */
const refusedKeysMax = 10_000

const nanosPerSecond = 1_000_000_000

const Row = Schema.Struct({ keyId: ApiKeyId, admitted: Schema.Int, secondsLeft: Schema.Finite })

/** A request that waits for its count. */
interface Asking {
  readonly keyId: ApiKeyId
  /** Requests per minute. */
  readonly limit: number
  /** Seconds until the minute ends, set when the request is refused. */
  refusedSeconds: number | null
}

interface Refused {
  readonly limit: number
  readonly untilNanos: number
}

/**
 * The requests per minute of keys with such a limit, counted in PostgreSQL for all processes. A minute begins
 * with the first request after the last one, by the clock of the database.
 */
export class KeyRates extends Context.Service<
  KeyRates,
  {
    /**
     * Counts a request, or refuses it without counting where the key has sent `limit` of them in its minute.
     */
    readonly admit: (
      keyId: ApiKeyId,
      limit: number
    ) => Effect.Effect<void, KeyRateExceeded | DatabaseUnavailable>
  }
>()("parley/usage/KeyRates") {
  static readonly layer: Layer.Layer<KeyRates, never, SqlClient.SqlClient> = Layer.effect(
    KeyRates,
    Effect.gen(function* () {
      const { add } = yield* makeBatcher(yield* makeCount, requestsPerStatementMax)
      const refused = new Map<ApiKeyId, Refused>()

      /** A limit that was changed is asked for again. */
      const knownSeconds = (keyId: ApiKeyId, limit: number, nanos: number): number | null => {
        const known = refused.get(keyId)
        if (known === undefined) return null
        if (known.limit === limit && nanos < known.untilNanos) {
          return (known.untilNanos - nanos) / nanosPerSecond
        }
        refused.delete(keyId)
        return null
      }

      const remember = (keyId: ApiKeyId, one: Refused) => {
        const [oldest] = refused.keys()
        if (oldest !== undefined && refused.size >= refusedKeysMax) refused.delete(oldest)
        refused.set(keyId, one)
      }

      const ask = Effect.fnUntraced(function* (keyId: ApiKeyId, limit: number) {
        const asking: Asking = { keyId, limit, refusedSeconds: null }
        yield* add(asking)
        const nanos = Number(yield* Clock.monotonicTimeNanos)
        const seconds = asking.refusedSeconds
        if (seconds !== null) remember(keyId, { limit, untilNanos: nanos + seconds * nanosPerSecond })
        return seconds
      })

      const admit = Effect.fnUntraced(function* (keyId: ApiKeyId, limit: number) {
        const known = knownSeconds(keyId, limit, Number(yield* Clock.monotonicTimeNanos))
        const seconds = known ?? (yield* ask(keyId, limit))
        if (seconds === null) return
        const retryAfterSeconds = Math.max(1, Math.ceil(seconds))
        const resetsAt = DateTime.add(yield* DateTime.now, { seconds: retryAfterSeconds })
        return yield* new KeyRateExceeded({ limit, resetsAt, retryAfterSeconds })
      })

      return KeyRates.of({ admit })
    })
  )
}

/**
 * Counts a batch of requests by one statement: of each key as many as its minute has left, in their order.
 * Rows are locked in one order, so that the statements of two processes never deadlock. A minute that begins
 * in the future is over: the clock was set back.
 */
const makeCount = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const count = (
    keys: ReadonlyArray<ApiKeyId>,
    asked: ReadonlyArray<number>,
    limits: ReadonlyArray<number>
  ) =>
    sql`
      WITH locked AS MATERIALIZED (
        SELECT m.*, asks.asked, asks.max
        FROM key_minutes AS m
        JOIN unnest(${keys}::uuid[], ${asked}::int[], ${limits}::int[]) AS asks (key_id, asked, max)
          ON asks.key_id = m.key_id
        ORDER BY m.key_id FOR UPDATE OF m
      ), minutes AS MATERIALIZED (
        SELECT key_id, asked, max, at,
          CASE WHEN is_over THEN at ELSE began END AS began, CASE WHEN is_over THEN 0 ELSE requests END AS requests
        FROM (SELECT *, clock_timestamp() AS at FROM locked) AS timed,
          LATERAL (SELECT at < began OR at >= began + interval '1 minute' AS is_over) AS state
      )
      UPDATE key_minutes AS m SET
        began = minutes.began,
        requests = minutes.requests + greatest(0, least(asked, max - minutes.requests))
      FROM minutes WHERE m.key_id = minutes.key_id
      RETURNING m.key_id, m.requests - minutes.requests AS admitted,
        extract(epoch FROM m.began + interval '1 minute' - at)::float8 AS seconds_left`.pipe(rowsAs(Row))

  const create = (keys: ReadonlyArray<ApiKeyId>) => sql`
    INSERT INTO key_minutes (key_id, began, requests)
    SELECT key_id, '-infinity', 0 FROM unnest(${keys}::uuid[]) AS new (key_id) ORDER BY key_id
    ON CONFLICT DO NOTHING`

  const countAll = Effect.fnUntraced(function* (requests: ReadonlyMap<ApiKeyId, ReadonlyArray<Asking>>) {
    const keys = [...requests.keys()]
    const lists = [...requests.values()]
    const rows = yield* count(
      keys,
      lists.map(({ length }) => length),
      lists.map((list) => list.at(-1)?.limit ?? 0)
    )
    for (const { admitted, keyId, secondsLeft } of rows) {
      const refused = requests.get(keyId)?.slice(admitted) ?? []
      for (const one of refused) one.refusedSeconds = secondsLeft
    }
    const counted = new Set(rows.map(({ keyId }) => keyId))
    return keys.filter((id) => !counted.has(id))
  })

  return Effect.fnUntraced(function* (batch: Arr.NonEmptyReadonlyArray<Asking>) {
    const requests = Map.groupBy(batch, ({ keyId }) => keyId)
    const missing = yield* countAll(requests)
    if (missing.length === 0) return
    yield* create(missing)
    const uncounted = new Map(missing.map((id) => [id, requests.get(id) ?? []]))
    const lost = yield* countAll(uncounted)
    if (lost.length > 0) return yield* Effect.die(new Error("A key has no minute."))
  }, orUnavailable)
})
