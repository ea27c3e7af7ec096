import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The terms of a file are written in several transactions, so that what one replaces leaves room for the next. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Positions that are a file's once all its terms are written; until then no search finds them. They refer to no file,
  // because what was written must be known, and swept, when that is gone.
  yield* sql`CREATE TABLE retrieval_writes (
    index_id integer NOT NULL REFERENCES retrieval_indexes (id) ON DELETE CASCADE,
    base integer NOT NULL,
    file_id uuid NOT NULL,
    chunks integer NOT NULL,
    tokens integer NOT NULL,
    begun_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (index_id, base)
  )`

  // No plan depends on what is inside of these lists and texts, and to analyze them takes seconds of the time after a load.
  yield* sql`ALTER TABLE retrieval_postings ALTER postings SET STATISTICS 0`
  yield* sql`ALTER TABLE retrieval_passages ALTER starts SET STATISTICS 0, ALTER ends SET STATISTICS 0,
    ALTER outlines SET STATISTICS 0, ALTER headings SET STATISTICS 0, ALTER table_headers SET STATISTICS 0,
    ALTER text SET STATISTICS 0`
})
