import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Conversations } from "../../src/conversations/Conversations.ts"
import { historyTurnsMax } from "../../src/conversations/TurnTable.ts"
import type { ConversationId, UserId } from "../../src/domain/Ids.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { content, conversationOf, conversationsWith, someUser } from "./fixtures.ts"

const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 }))
const TokensOfTurns = Schema.Array(Tokens).check(Schema.isMaxLength(8))
const TokensMax = Schema.Int.check(Schema.isBetween({ minimum: -1, maximum: 200 }))

/** The number of turns, counted from the newest, that have at most `tokensMax` tokens together. */
const fitting = (tokens: ReadonlyArray<number>, tokensMax: number): number => {
  let sum = 0
  let count = 0
  for (const each of tokens.toReversed()) {
    sum += each
    if (sum > tokensMax) break
    count++
  }
  return count
}

const historyOf = Effect.fnUntraced(function* (user: UserId, id: ConversationId, tokensMax: number) {
  const conversations = yield* Conversations
  return yield* Effect.scoped(
    Effect.flatMap(conversations.open(user, id), (turn) => conversations.history(turn, tokensMax))
  )
})

/** A conversation of very many turns, written past the service. */
const longConversation = Effect.fnUntraced(function* (user: UserId, turns: number) {
  const sql = yield* SqlClient.SqlClient
  const id = yield* conversationOf(user, [])
  yield* sql`INSERT INTO turns (response_id, conversation_id, user_id, position, model, prompt_tokens)
    SELECT gen_random_uuid(), ${id}::uuid, ${user}::uuid, n, 'test-model', 1 FROM generate_series(0, ${turns - 1}::int) AS n`
  yield* sql`INSERT INTO items (response_id, side, position, id, user_id, item)
    SELECT response_id, 'output', 0, gen_random_uuid(), user_id,
      '{"id":"00000000-0000-4000-8000-000000000000","type":"message","status":"completed","role":"assistant","content":[]}'
    FROM turns WHERE conversation_id = ${id}::uuid`
  yield* sql`UPDATE conversations SET turn_count = ${turns} WHERE id = ${id}::uuid`
  return id
})

layer(Layer.provideMerge(conversationsWith(), TestDatabase.layer))("The history of a conversation", (it) => {
  it.effect.prop(
    "the history is the longest run of newest turns that fits, each whole, oldest first",
    { tokens: TokensOfTurns, tokensMax: TokensMax },
    ({ tokens, tokensMax }) =>
      Effect.gen(function* () {
        const user = yield* someUser
        const turns = tokens.map((promptTokens, n) => content(`turn ${n}`, promptTokens))
        const id = yield* conversationOf(user, turns)
        const count = fitting(tokens, tokensMax)
        const expected = turns
          .slice(turns.length - count)
          .map(({ input, output, promptTokens, responseId }, n) => ({
            position: turns.length - count + n,
            responseId,
            promptTokens,
            input,
            output
          }))
        assert.deepStrictEqual(yield* historyOf(user, id, tokensMax), expected)
      }),
    { arbitrary: { runs: 40 } }
  )

  it.effect("the history has a bounded number of turns", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const id = yield* longConversation(user, historyTurnsMax + 5)
      const history = yield* historyOf(user, id, Number.MAX_SAFE_INTEGER)
      assert.strictEqual(history.length, historyTurnsMax)
      assert.strictEqual(history.at(-1)?.position, historyTurnsMax + 4)
    })
  )

  it.effect("the history shows a turn without items", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const id = yield* conversationOf(user, [{ ...content("empty"), input: [], output: [] }])
      const [turn] = yield* historyOf(user, id, 10)
      assert.deepStrictEqual([turn?.input, turn?.output], [[], []])
    })
  )

  it.effect("the history ends before the open turn, also when another turn was added since", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const sql = yield* SqlClient.SqlClient
      const user = yield* someUser
      const id = yield* conversationOf(user, [content("one")])
      const turn = yield* conversations.open(user, id)
      yield* sql`INSERT INTO turns (response_id, conversation_id, user_id, position, model, prompt_tokens)
        VALUES (gen_random_uuid(), ${id}::uuid, ${user}::uuid, 1, 'test-model', 1)`
      assert.strictEqual((yield* conversations.history(turn, 100)).length, 1)
    })
  )

  it.effect("the history reads no more rows of a long conversation than of a middling one", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const sql = yield* SqlClient.SqlClient
      const user = yield* someUser
      const rowsRead = Effect.fnUntraced(function* (id: ConversationId) {
        const turn = yield* Effect.scoped(conversations.open(user, id))
        const read = sql<{ rows: bigint }>`
          SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint AS rows
          FROM pg_stat_xact_user_tables WHERE relname IN ('turns', 'items')`
        return yield* sql.withTransaction(
          Effect.gen(function* () {
            // The view may still hold what the same session counted in earlier transactions.
            const [before] = yield* read
            assert.strictEqual((yield* conversations.history(turn, 10)).length, 10)
            const [after] = yield* read
            return Number(after?.rows) - Number(before?.rows)
          })
        )
      })
      const middling = yield* longConversation(user, historyTurnsMax)
      const long = yield* longConversation(user, 40 * historyTurnsMax)
      yield* sql`ANALYZE turns`
      yield* sql`ANALYZE items`
      assert.isAtMost(yield* rowsRead(long), 2 * (yield* rowsRead(middling)))
    })
  )
})
