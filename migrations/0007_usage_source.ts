import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // Who counted the tokens: the model's provider, or the service's own tokenizer. Records made before there was a choice say
  // 'estimate', and stay as they are. What they hold is within the new rule, so that nothing has to be looked through.
  yield* sql`ALTER TABLE usage_records DROP CONSTRAINT usage_records_source_check`
  yield* sql`ALTER TABLE usage_records ADD CONSTRAINT usage_records_source_check
    CHECK (source IN ('provider', 'tokenizer', 'estimate')) NOT VALID`
})
