import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { makeListed } from "../../src/conversations/ConversationRows.ts"
import { ListedConversations } from "../../src/conversations/ListedConversations.ts"
import type { UserId } from "../../src/domain/Ids.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { someUser } from "./fixtures.ts"

const count = 10_000
/** Far more than it takes, and far less than the work without an index. */
const secondsMax = 30

/** A user with many conversations of one turn each, of which every thousandth says something else. */
const busyUser = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const user = yield* someUser
  yield* sql`INSERT INTO conversations (id, user_id, hidden, title, turn_count, updated_at)
    SELECT gen_random_uuid(), ${user}::uuid, false, 'conversation ' || n, 1, now() - make_interval(mins => n)
    FROM generate_series(1, ${count}::int) AS n`
  yield* sql`INSERT INTO turns (response_id, conversation_id, user_id, position, model, prompt_tokens)
    SELECT gen_random_uuid(), id, user_id, 0, 'm', 10 FROM conversations WHERE user_id = ${user}::uuid`
  yield* sql`INSERT INTO items (response_id, side, position, id, user_id, item)
    SELECT response_id, side, 0, gen_random_uuid(), t.user_id, json_build_object('id', gen_random_uuid(), 'type', 'message', 'role', 'user',
      'content', json_build_array(json_build_object('type', 'input_text', 'text', repeat('words of a long message ', 40) ||
        CASE WHEN c.title LIKE '%000' THEN 'needle' ELSE 'hay' END)))
    FROM turns t JOIN conversations c ON c.id = t.conversation_id, unnest(ARRAY['input', 'output']) AS side WHERE t.user_id = ${user}::uuid`
  yield* sql`ANALYZE conversations, turns, items`
  return user
})

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const startedAt = performance.now()
    const value = yield* effect
    assert.isBelow((performance.now() - startedAt) / 1_000, secondsMax)
    return value
  })

/** All results of a search, page by page. */
const searchAll = Effect.fnUntraced(function* (user: UserId, search: string) {
  const conversations = yield* ListedConversations
  const found: Array<string> = []
  let after: { readonly after?: never } = {}
  for (let pages = 1; ; pages++) {
    const wanted = { limit: 20, hidden: false, search, ...after }
    const page = yield* timed(conversations.list(user, wanted))
    found.push(...page.data.map(({ title }) => title!))
    if (!page.hasMore) return { found, pages }
    after = { after: page.lastId as never }
  }
})

layer(Layer.provideMerge(ListedConversations.layer, TestDatabase.layer), {
  excludeTestServices: true,
  timeout: 300_000
})("ten thousand conversations", (it) => {
  it.effect("ten thousand conversations are listed in pages and searched within a bounded time", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const conversations = yield* ListedConversations
      const user = yield* busyUser
      const first = yield* timed(conversations.list(user, { limit: 100, hidden: false }))
      assert.strictEqual(first.data[0]!.title, "conversation 1")
      const next = yield* timed(conversations.list(user, { limit: 100, hidden: false, after: first.lastId! }))
      assert.strictEqual(next.data[0]!.title, "conversation 101")

      const { from } = yield* makeListed
      const place = { id: next.lastId!, updatedAt: "2020-01-01" }
      const plan =
        yield* sql`EXPLAIN SELECT c.id FROM ${from(user, { limit: 100, hidden: false }, place)} LIMIT 101`
      assert.match(JSON.stringify(plan), /Index (Only )?Scan using conversations_listed/)
      assert.notMatch(JSON.stringify(plan), /Sort|Seq Scan/)

      const { found } = yield* searchAll(user, "NEEDLE message")
      assert.deepStrictEqual(
        found,
        Array.from({ length: 10 }, (_, index) => `conversation ${(index + 1) * 1000}`)
      )
      assert.deepStrictEqual((yield* searchAll(user, "nowhere")).found, [])
      assert.deepStrictEqual((yield* searchAll(user, "Conversation 9999")).found, ["conversation 9999"])
    })
  )

  it.effect("a conversation of five hundred turns opens with its newest ones at once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const conversations = yield* ListedConversations
      const user = yield* someUser
      const { id } = yield* conversations.create(user, {
        title: "long",
        systemMessage: null,
        projectId: null
      })
      yield* sql`INSERT INTO turns (response_id, conversation_id, user_id, position, model, prompt_tokens)
        SELECT gen_random_uuid(), ${id}::uuid, ${user}::uuid, n, 'm', 10 FROM generate_series(0, 499) AS n`
      yield* sql`UPDATE conversations SET turn_count = 500 WHERE id = ${id}::uuid`
      const opened = yield* timed(conversations.open(user, id, { limit: 20 }))
      assert.deepStrictEqual(
        opened.turns.map(({ position }) => position),
        Array.from({ length: 20 }, (_, index) => 480 + index)
      )
      const before = opened.turns[0]!.responseId
      const earlier = yield* timed(conversations.open(user, id, { limit: 20, before }))
      assert.strictEqual(earlier.turns.at(-1)!.position, 479)
      assert.isTrue(earlier.hasMore)
    })
  )
})
