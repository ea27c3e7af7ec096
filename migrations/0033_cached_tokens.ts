import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Of the tokens of a request: those read from a provider's prompt cache, those written to it, and those of reasoning. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Until now nobody kept them, so earlier records have none.
  yield* sql`ALTER TABLE usage_records
    ADD COLUMN cached_input_tokens integer NOT NULL DEFAULT 0,
    ADD COLUMN cache_write_input_tokens integer NOT NULL DEFAULT 0,
    ADD COLUMN reasoning_tokens integer NOT NULL DEFAULT 0`
})
