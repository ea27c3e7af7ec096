import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { rowAs } from "../../sql/rows.ts"

/** Chunks that are written until the tables are vacuumed: so many, and this share of all that there are. */
const writtenChunksMin = 500
const writtenShareMin = 0.1

const Stored = Schema.Struct({ chunks: Schema.Finite })

/**
 * Vacuums the tables of the index as part of the writing, in proportion to it: the room that rows leave behind as they grow is used
 * again, and the terms alone are read without their rows. Autovacuum would come a minute after a load, at the earliest.
 */
export const makeVacuum = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  let written = 0

  const isDue = Effect.gen(function* () {
    if (written < writtenChunksMin) return false
    const stored = yield* sql`SELECT sum(chunks)::float8 AS chunks FROM retrieval_indexes`.pipe(rowAs(Stored))
    return written >= (stored?.chunks ?? 0) * writtenShareMin
  })

  /** Counts chunks that were written, and vacuums once there are enough. Outside of any transaction. */
  const afterWriting = (chunks: number) =>
    Effect.gen(function* () {
      written += chunks
      if (!(yield* isDue)) return
      written = 0
      // Another vacuum, of this or of another process, does as well.
      yield* sql`VACUUM (SKIP_LOCKED, TRUNCATE FALSE) retrieval_postings, retrieval_passages`
    }).pipe(Effect.catchCause((cause) => Effect.logWarning("The search index could not be vacuumed", cause)))

  return { afterWriting }
})
