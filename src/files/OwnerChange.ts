import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { UserId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs } from "../sql/rows.ts"
import { BlobStore } from "./BlobStore.ts"
import { deleteBatch } from "./FileSweep.ts"

/** Files that one statement hands over. */
const filesPerStepMax = 500

const Counted = Schema.Struct({ files: Schema.Int })

/** What becomes of the files of a user who is deleted. */
export const makeOwnerChange = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const services = yield* Effect.context<SqlClient.SqlClient | BlobStore>()

  const countOf = Effect.fn("FileStore.countOf")(function* (userId: UserId) {
    const row = yield* sql`SELECT count(*)::int AS files FROM files WHERE user_id = ${userId}`.pipe(
      rowAs(Counted)
    )
    return row?.files ?? 0
  }, orUnavailable)

  /** The quota of the new owner doesn't bound it. */
  const handOverSome = Effect.fn("FileStore.handOverSome")(function* (from: UserId, to: UserId) {
    const row = yield* sql`WITH moved AS (
        UPDATE files SET user_id = ${to} WHERE id IN (
          SELECT id FROM files WHERE user_id = ${from} ORDER BY id LIMIT ${filesPerStepMax} FOR UPDATE SKIP LOCKED
        ) RETURNING bytes
      ), counted AS (
        SELECT count(*)::int AS files, coalesce(sum(bytes), 0)::bigint AS bytes FROM moved
      ), freed AS (
        UPDATE file_usage SET files = file_usage.files - counted.files, bytes = file_usage.bytes - counted.bytes
        FROM counted WHERE user_id = ${from}
      ), taken AS (
        INSERT INTO file_usage (user_id, files, bytes) SELECT ${to}::uuid, files, bytes FROM counted WHERE files > 0
        ON CONFLICT (user_id) DO UPDATE
          SET files = file_usage.files + excluded.files, bytes = file_usage.bytes + excluded.bytes
      )
      SELECT files FROM counted`.pipe(rowAs(Counted))
    return row?.files ?? 0
  }, orUnavailable)

  const eraseSome = Effect.fn("FileStore.eraseSome")(function* (userId: UserId) {
    const erased = yield* deleteBatch(sql`user_id = ${userId}`).pipe(Effect.provideContext(services))
    if (erased === 0)
      yield* orUnavailable(sql`DELETE FROM file_usage WHERE user_id = ${userId} AND files = 0`)
    return erased
  })

  return { countOf, handOverSome, eraseSome }
})
