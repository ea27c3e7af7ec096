import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Conversations } from "../../src/conversations/Conversations.ts"
import { deleteUnusedBatch } from "../../src/conversations/UnusedConversations.ts"
import type { ConversationId } from "../../src/domain/Ids.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { content, conversationOf, conversationsWith, someUser } from "./fixtures.ts"

const age = Effect.fnUntraced(function* (id: ConversationId, hours: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE conversations SET created_at = now() - make_interval(hours => ${hours}) WHERE id = ${id}::uuid`
})

layer(Layer.provideMerge(conversationsWith(), TestDatabase.layer))(
  "Conversations that were never used",
  (it) => {
    it.effect("are deleted after a day, and no others", () =>
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

    it.effect("are deleted when the service starts", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const user = yield* someUser
        const ids = [yield* conversationOf(user, []), yield* conversationOf(user, [])]
        for (const id of ids) yield* age(id, 48)
        yield* Layer.build(conversationsWith())
        while ((yield* sql`SELECT 1 FROM conversations WHERE user_id = ${user}::uuid`).length > 0)
          yield* Effect.yieldNow
      })
    )
  }
)
