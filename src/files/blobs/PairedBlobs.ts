import { Effect, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { StorageFailed } from "../../domain/Errors.ts"
import { orUnavailable } from "../../sql/orUnavailable.ts"
import { rowAs } from "../../sql/rows.ts"
import type { Blobs } from "./Blobs.ts"

/** Where bytes can be kept. */
export type StoreKind = "directory" | "postgres" | "s3"

const State = Schema.Struct({
  generation: Schema.Int,
  storeKind: Schema.NullOr(Schema.String),
  databaseId: Schema.String
})

/** Which store the files are in, as the database says to all processes at once. */
const stateOf = (sql: SqlClient.SqlClient) =>
  sql`SELECT generation, store_kind, database_id FROM file_store_binding`.pipe(rowAs(State), orUnavailable)

/** How many moves of the files have begun. */
export const generationOf = (sql: SqlClient.SqlClient) =>
  Effect.map(stateOf(sql), (state) => state?.generation ?? 0)

/**
 * The two stores of a move, as one: bytes are put into the second as soon as the database says that the move has begun, and
 * read from whichever has them. Only the current one is swept and listed.
 */
export const makePairedBlobs = Effect.fnUntraced(function* (first: Blobs, second: Blobs, kind: StoreKind) {
  const sql = yield* SqlClient.SqlClient
  const state = stateOf(sql).pipe(
    Effect.mapError((cause) => new StorageFailed({ operation: "start", cause }))
  )
  const current = Effect.map(state, (known) => (known?.storeKind === kind ? second : first))
  const ofCurrent = <A>(of: (blobs: Blobs) => Stream.Stream<A, StorageFailed>) =>
    Stream.unwrap(Effect.map(current, of))
  const withCurrent = <A, E, R>(use: (blobs: Blobs) => Effect.Effect<A, E, R>) => Effect.flatMap(current, use)

  const has = (key: string) =>
    Effect.flatMap(second.has(key), (found) => (found ? Effect.succeed(true) : first.has(key)))

  const get: Blobs["get"] = (key, range) =>
    Stream.unwrap(Effect.map(second.has(key), (found) => (found ? second : first).get(key, range)))

  const remove = (key: string) => Effect.andThen(first.remove(key), second.remove(key))

  const put: Blobs["put"] = (bytes) => withCurrent((blobs) => blobs.put(bytes))

  return {
    place: `${first.place} or ${second.place}`,
    put,
    get,
    has,
    remove,
    olderThan: (age) => ofCurrent((blobs) => blobs.olderThan(age)),
    sweepLeftovers: (age) => withCurrent((blobs) => blobs.sweepLeftovers(age)),
    trash: {
      add: (key) => Effect.andThen(first.trash.add(key), second.trash.add(key)),
      take: (key) => Effect.andThen(first.trash.take(key), second.trash.take(key)),
      list: ofCurrent(({ trash }) => trash.list)
    },
    check: withCurrent(({ check }) => check),
    mark: {
      read: Effect.gen(function* () {
        const { mark } = yield* current
        if (mark !== null) return yield* mark.read
        const id = (yield* state)?.databaseId ?? null
        return { store: id, database: id }
      }),
      write: (ids) => withCurrent(({ mark }) => mark?.write(ids) ?? Effect.void)
    }
  } satisfies Blobs
})
