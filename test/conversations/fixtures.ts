import { randomUUID } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Conversations } from "../../src/conversations/Conversations.ts"
import type { CommitTurn } from "../../src/conversations/Conversations.ts"
import type { InputMessage, OutputMessage } from "../../src/domain/Conversation.ts"
import { ConversationId, ItemId, ResponseId, UserId } from "../../src/domain/Ids.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import type { Settings } from "../../src/settings/AppConfig.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
export { until } from "../support/until.ts"

/** Conversations over whatever client is below, as one process of its own. */
export const conversationsWith = (conversations: Partial<Settings["conversations"]> = {}) =>
  Layer.fresh(Conversations.layer).pipe(
    Layer.provide(Layer.succeed(AppConfig, testConfig({ conversations })))
  )

export const someUser = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const organization = randomUUID()
  const user = UserId.make(randomUUID())
  yield* sql`INSERT INTO organizations (id, name) VALUES (${organization}::uuid, ${organization})`
  yield* sql`INSERT INTO users (id, organization_id, email) VALUES (${user}::uuid, ${organization}::uuid, ${user})`
  return user
})

export const question = (text: string): InputMessage => ({
  id: ItemId.make(randomUUID()),
  type: "message",
  role: "user",
  content: [{ type: "input_text", text }]
})

export const answer = (text: string): OutputMessage => ({
  id: ItemId.make(randomUUID()),
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }]
})

export const someResponse = () => ResponseId.make(randomUUID())
export const unknownConversation = () => ConversationId.make(randomUUID())

export const content = (text: string, promptTokens = 1): CommitTurn => ({
  responseId: someResponse(),
  model: "test-model",
  input: [question(text)],
  output: [answer(`re: ${text}`)],
  systemMessage: null,
  promptTokens,
  details: null
})

/** A new conversation with one turn for each text. */
export const conversationOf = Effect.fnUntraced(function* (
  user: UserId,
  turns: ReadonlyArray<CommitTurn>,
  systemMessage: string | null = null
) {
  const conversations = yield* Conversations
  const [first, ...others] = turns
  const id = yield* Effect.scoped(
    Effect.gen(function* () {
      const { stored, turn } = yield* conversations.create(user)
      yield* stored
      if (first !== undefined) yield* conversations.commit(turn, { ...first, systemMessage })
      return turn.conversationId
    })
  )
  for (const turn of others) yield* addTurn(user, id, turn)
  return id
})

export const addTurn = Effect.fnUntraced(function* (user: UserId, id: ConversationId, turn: CommitTurn) {
  const conversations = yield* Conversations
  yield* Effect.scoped(
    Effect.flatMap(conversations.open(user, id), (open) => conversations.commit(open, turn))
  )
})

/** The texts of a conversation's turns, read from the tables. */
export const storedTurns = Effect.fnUntraced(function* (id: ConversationId) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ position: number; responseId: string; items: number }>`
    SELECT position, response_id, (SELECT count(*)::int FROM items WHERE items.response_id = turns.response_id) AS items
    FROM turns WHERE conversation_id = ${id}::uuid ORDER BY position`
})

/** Ends a lease as if its time had run out. */
export const expireLease = Effect.fnUntraced(function* (id: ConversationId) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE conversations SET lease_until = clock_timestamp() - interval '1 second' WHERE id = ${id}::uuid`
})

/** The service of one more process on the same database, with a pool of its own. */
export const anotherProcess = (conversations: Partial<Settings["conversations"]> = {}) =>
  Layer.build(
    conversationsWith(conversations).pipe(Layer.provide(TestDatabase.client({ connectionsMax: 3 })))
  ).pipe(Effect.map((context) => Context.get(context, Conversations)))
