import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { ConversationId, ResponseId } from "../domain/Ids.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { rowAs, rowsAs } from "../sql/rows.ts"
import type { JobLease } from "./ResponseJobRow.ts"

/** Batches of events that one statement reads. */
const batchesMax = 100

const BatchRow = Schema.Struct({ position: Schema.Int, events: Schema.Array(Schema.Unknown) })

const EventRow = Schema.Struct({ event: Schema.Unknown })

/** The events of responses in the background, in the table `response_events`. */
export const makeEventLog = Effect.map(SqlClient.SqlClient, (sql) => {
  const append = Effect.fnUntraced(function* (
    { leaseFence, responseId }: JobLease,
    position: number,
    events: ReadonlyArray<unknown>,
    conversationId: ConversationId | null = null
  ) {
    const kept = yield* sql`WITH held AS (
        UPDATE response_jobs SET event_count = ${position + events.length}::int,
          conversation_id = coalesce(conversation_id, ${conversationId}::uuid)
        WHERE response_id = ${responseId}::uuid AND lease_fence = ${leaseFence}::int AND status = 'in_progress'
        RETURNING response_id
      ), written AS (
        INSERT INTO response_events (response_id, position, events)
        SELECT response_id, ${position}::int, ${JSON.stringify(events)}::json FROM held
        ON CONFLICT (response_id, position) DO NOTHING
      )
      SELECT response_id FROM held`
    return kept.length > 0
  }, orUnavailable)

  /** Batches begin where another one ends, so a position between two is the beginning of one. */
  const events = Effect.fnUntraced(function* (id: ResponseId, from: number) {
    const rows = yield* sql`SELECT position, events FROM response_events
      WHERE response_id = ${id}::uuid AND position >= ${from}::int ORDER BY position LIMIT ${batchesMax}`.pipe(
      rowsAs(BatchRow)
    )
    return rows.flatMap((row) => row.events)
  }, orUnavailable)

  const lastEvent = Effect.fnUntraced(function* (id: ResponseId) {
    const row = yield* sql`SELECT events -> -1 AS event FROM response_events
      WHERE response_id = ${id}::uuid ORDER BY position DESC LIMIT 1`.pipe(rowAs(EventRow))
    return row?.event
  }, orUnavailable)

  return { append, events, lastEvent }
})
