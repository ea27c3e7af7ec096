import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ConversationDetail, ConversationList, ConversationObject } from "../../src/api/ConversationObject.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, openCall } from "../support/Wire.ts"
import { someone, someTenant } from "./ConsoleFixture.ts"

export const decoded = <S extends Schema.Codec<unknown, unknown>>(schema: S, text: string) =>
  Effect.map(Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text), (value) => value as S["Type"])

/** A signed-in user without any conversation, and what its browser sends. */
export const someUser = Effect.gen(function* () {
  const { url } = yield* TestApp
  const tenant = yield* someTenant
  const { headers, target } = yield* someone("member", tenant)
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM conversations WHERE id = ${target.conversationId}`
  const options = (method: string, body?: unknown, more: Record<string, string> = {}) => ({
    method,
    headers: { ...headers, ...more },
    ...(body === undefined ? {} : { body })
  })
  const send = (method: string, path: string, body?: unknown, more?: Record<string, string>) =>
    call(`${url}/console${path}`, options(method, body, more))
  const open = (method: string, path: string, body?: unknown) =>
    openCall(`${url}/console${path}`, options(method, body))
  const sent =
    <S extends Schema.Codec<unknown, unknown>>(schema: S) =>
    (method: string, path: string, body?: unknown) =>
      Effect.gen(function* () {
        const reply = yield* send(method, path, body)
        assert.strictEqual(reply.status, 200, reply.text)
        return yield* decoded(schema, reply.text)
      })
  return {
    tenant,
    target,
    send,
    open,
    list: (query = "") => sent(ConversationList)("GET", `/conversations${query}`),
    get: (id: string, query = "") => sent(ConversationDetail)("GET", `/conversations/${id}${query}`),
    create: (body: object = {}) => sent(ConversationObject)("POST", "/conversations", body),
    update: (id: string, body: object) => sent(ConversationObject)("PATCH", `/conversations/${id}`, body),
    ask: (id: string, body: object, more?: Record<string, string>) =>
      send("POST", `/conversations/${id}/responses`, body, more)
  }
})

export type SomeUser = Effect.Success<typeof someUser>
