import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Texts that the service wrote in the place of answers without a text. Models took them for their own words. */
const invented = [
  "(No answer: there was no room left for one within the bound on tokens.)",
  "(No answer: the limit of tokens was reached.)",
  "(No answer: the provider of the model withheld it.)",
  "(No answer: the model called tools, and wrote nothing after them.)",
  "(No answer: the model wrote nothing.)"
]

/** An answer without a text is stored as a message with an empty text. */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // As text: an item comes back exactly as it was stored, with its keys in their order.
  yield* sql`UPDATE items SET item = replace(item::text, to_json(item #>> '{content,0,text}')::text, '""')::json
    WHERE side = 'output' AND item::text LIKE '%(No answer: %'
      AND item ->> 'type' = 'message' AND item #>> '{content,0,text}' IN ${sql.in(invented)}`
})
