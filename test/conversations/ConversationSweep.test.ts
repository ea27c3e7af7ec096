import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Conversations } from "../../src/conversations/Conversations.ts"
import {
  countConversations,
  deleteIdleBatch,
  deleteUnusedBatch
} from "../../src/conversations/ConversationSweep.ts"
import type { ConversationId } from "../../src/domain/Ids.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { untilValue } from "../support/until.ts"
import { content, conversationOf, conversationsWith, someUser } from "./fixtures.ts"

const age = Effect.fnUntraced(function* (id: ConversationId, hours: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE conversations SET created_at = now() - make_interval(hours => ${hours}) WHERE id = ${id}::uuid`
})

layer(Layer.provideMerge(conversationsWith(), TestDatabase.layer))(
  "Conversations that were never used",
  (it) => {
    it.effect("conversations that were never used are deleted after a day, and no others", () =>
      Effect.gen(function* () {
        const conversations = yield* Conversations
        const sql = yield* SqlClient.SqlClient
        const user = yield* someUser
        const [unused, young, used, shown, held] = [
          yield* conversationOf(user, []),
          yield* conversationOf(user, []),
          yield* conversationOf(user, [content("hello")]),
          yield* conversationOf(user, []),
          yield* conversationOf(user, [])
        ]
        for (const id of [unused, used, shown, held]) yield* age(id, 25)
        yield* age(young, 23)
        yield* sql`UPDATE conversations SET hidden = false WHERE id = ${shown}::uuid`
        yield* conversations.open(user, held)
        yield* deleteUnusedBatch
        const left = yield* sql<{ id: string }>`SELECT id FROM conversations WHERE user_id = ${user}::uuid`
        assert.sameMembers(
          left.map(({ id }) => id),
          [young, used, shown, held]
        )
      })
    )

    it.effect("conversations that were never used are deleted when the service starts", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const user = yield* someUser
        const ids = [yield* conversationOf(user, []), yield* conversationOf(user, [])]
        for (const id of ids) yield* age(id, 48)
        yield* Layer.build(conversationsWith())
        const kept = sql`SELECT 1 FROM conversations WHERE user_id = ${user}::uuid`
        yield* untilValue(kept, ({ length }) => length === 0)
      })
    )
  }
)

const lastUsed = Effect.fnUntraced(function* (id: ConversationId, days: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE conversations SET updated_at = now() - make_interval(days => ${days}) WHERE id = ${id}::uuid`
})

const idsOf = Effect.fnUntraced(function* (user: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ id: string }>`SELECT id FROM conversations WHERE user_id = ${user}::uuid`
  return rows.map(({ id }) => id)
})

/** Nothing sweeps but what a test does. */
const unswept = conversationsWith({ retentionDays: 0 })

layer(Layer.provideMerge(unswept, TestDatabase.layer))("Conversations that are old", (it) => {
  it.effect("old conversations are deleted with their turns after the retention, unless held", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const sql = yield* SqlClient.SqlClient
      const user = yield* someUser
      const one = () => conversationOf(user, [content("hello")])
      const [idle, recent, shown, held] = [yield* one(), yield* one(), yield* one(), yield* one()]
      for (const id of [idle, shown, held]) yield* lastUsed(id, 31)
      yield* lastUsed(recent, 29)
      yield* sql`UPDATE conversations SET hidden = false WHERE id = ${shown}::uuid`
      yield* conversations.open(user, held)
      assert.strictEqual(yield* deleteIdleBatch(30), 1)
      assert.sameMembers(yield* idsOf(user), [recent, shown, held])
      assert.lengthOf(yield* sql`SELECT 1 FROM turns WHERE conversation_id = ${idle}::uuid`, 0)
      assert.lengthOf(yield* sql`SELECT 1 FROM items WHERE user_id = ${user}::uuid`, 6)
    })
  )

  it.effect("old conversations count as used by a request that only reads them", () =>
    Effect.gen(function* () {
      const conversations = yield* Conversations
      const user = yield* someUser
      const id = yield* conversationOf(user, [content("hello")])
      yield* lastUsed(id, 31)
      yield* conversations.read(user, id)
      yield* deleteIdleBatch(30)
      assert.deepStrictEqual(yield* idsOf(user), [id])
    })
  )

  it.effect("old conversations are deleted in steps of bounded size, one long conversation whole", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const user = yield* someUser
      for (let count = 0; count < 3; count++) {
        const id = yield* conversationOf(user, [content("hello")])
        yield* lastUsed(id, 40 - count)
        yield* sql`UPDATE conversations SET turn_count = 900 WHERE id = ${id}::uuid`
      }
      assert.strictEqual(yield* deleteIdleBatch(30), 2)
      assert.strictEqual(yield* deleteIdleBatch(30), 1)
      assert.strictEqual(yield* deleteIdleBatch(30), 0)
    })
  )

  it.effect(
    "old conversations are deleted when the service starts, but not with a retention of 0, and are counted",
    () =>
      Effect.gen(function* () {
        const user = yield* someUser
        const id = yield* conversationOf(user, [content("hello")])
        yield* lastUsed(id, 400)
        const counts = (retentionDays: number) =>
          Effect.provideService(
            countConversations,
            AppConfig,
            testConfig({ conversations: { retentionDays } })
          )
        assert.strictEqual((yield* counts(0)).idle, 0)
        assert.isAtLeast((yield* counts(30)).idle, 1)
        const sql = yield* SqlClient.SqlClient
        const shown = yield* conversationOf(user, [content("hello")])
        yield* sql`UPDATE conversations SET hidden = false WHERE id = ${shown}::uuid`
        const { hidden, kept } = yield* counts(0)
        assert.isAtLeast(hidden, 1)
        assert.isBelow(hidden, kept)
        yield* Layer.build(conversationsWith({ retentionDays: 0 }))
        assert.sameMembers(yield* idsOf(user), [id, shown])
        yield* Layer.build(conversationsWith({ retentionDays: 365 }))
        yield* untilValue(idsOf(user), ({ length }) => length === 1)
      })
  )
})
