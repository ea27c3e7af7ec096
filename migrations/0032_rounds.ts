import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Calls have a field that says which of them a model made at once. Until now their ids said it: those of one round have the same
 * millisecond, and the counter behind it went up by one from each to the next.
 */
export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // As text, at the end: an item comes back exactly as it was stored, with its keys in their order.
  yield* sql`WITH calls AS (
      SELECT response_id, side, position, id, replace(id::text, '-', '') AS digits FROM items
      WHERE item ->> 'type' IN ('mcp_call', 'function_call') AND item ->> 'round' IS NULL
    ), places AS (
      SELECT response_id, side, position, id, left(digits, 12) AS millisecond,
        (('x' || lpad(substr(digits, 14, 3), 16, '0'))::bit(64)::bigint << 30)
          + (('x' || lpad(substr(digits, 17, 8), 16, '0'))::bit(64)::bigint & 1073741823) AS place
      FROM calls
    ), starts AS (
      SELECT *, (lag(millisecond) OVER turn, lag(place) OVER turn + 1) IS DISTINCT FROM (millisecond, place) AS is_first
      FROM places WINDOW turn AS (PARTITION BY response_id, side ORDER BY position)
    ), rounds AS (
      SELECT *, count(*) FILTER (WHERE is_first) OVER (PARTITION BY response_id, side ORDER BY position) AS number FROM starts
    ), named AS (
      SELECT response_id, side, position,
        first_value(id) OVER (PARTITION BY response_id, side, number ORDER BY position) AS round
      FROM rounds
    )
    UPDATE items SET item = (regexp_replace(item::text, '\\}\\s*$', '') || ',"round":"' || named.round || '"}')::json
    FROM named
    WHERE items.response_id = named.response_id AND items.side = named.side AND items.position = named.position`
})
