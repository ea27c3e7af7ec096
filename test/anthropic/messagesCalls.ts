import { assert } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { Message } from "../../src/api/anthropic/Message.ts"
import { MessagesError } from "../../src/api/anthropic/MessagesError.ts"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { type says, ScriptedModel, scriptedUsage } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, type Reply } from "../support/Wire.ts"
import { foldMessage, messageEventsIn } from "./messageEvents.ts"

/** Requests to `/anthropic/v1`, and what they are answered. */

export const post = Effect.fnUntraced(function* (
  body: unknown,
  path = "/v1/messages",
  user: "alice" | "bob" = "alice"
) {
  const app = yield* TestApp
  return yield* call(`${app.url}/anthropic${path}`, {
    body,
    headers: { "x-api-key": app[user].key, "anthropic-version": "2023-06-01" }
  })
})

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Message))
const decodeError = Schema.decodeUnknownSync(Schema.fromJsonString(MessagesError))

export const hello = { max_tokens: 100, messages: [{ role: "user", content: "Hi" }] }

/** A whole answer. */
export const answer = Effect.fnUntraced(function* (body: object) {
  const reply = yield* post({ ...hello, ...body })
  assert.strictEqual(reply.status, 200, reply.text)
  return yield* decode(reply.text)
})

/** The same, streamed. */
export const streamed = Effect.fnUntraced(function* (body: object) {
  const reply = yield* post({ ...hello, ...body, stream: true })
  assert.strictEqual(reply.headers.get("content-type"), "text/event-stream")
  const { isWhole, message } = foldMessage(messageEventsIn(reply.text))
  assert.isTrue(isWhole)
  return message
})

/** The error of a reply, having checked that it is the envelope, with the header that names the request. */
export const messagesErrorOf = (reply: Reply, status: number): MessagesError["error"] => {
  assert.strictEqual(reply.status, status, reply.text)
  assert.match(reply.headers.get("content-type") ?? "", /^application\/json/)
  const { error, request_id, ...rest } = decodeError(reply.text)
  assert.deepStrictEqual(rest, { type: "error" })
  assert.isString(request_id)
  assert.strictEqual(reply.headers.get("request-id"), request_id)
  assert.strictEqual(reply.headers.get("x-request-id"), request_id)
  return error
}

/** A model that calls these functions. */
export const calls = (...names: ReadonlyArray<string>) =>
  Stream.fromIterable<ModelPart>([
    ...names.map((name, index): ModelPart => ({
      type: "tool_call",
      call: { id: `provider_${index}`, name, arguments: `{"city":"Bonn"}` }
    })),
    { type: "finish", reason: "tool_calls", usage: scriptedUsage }
  ])

/** Says what a model is to answer, and that it calls tools and sees. */
export const script = (...streams: ReadonlyArray<ReturnType<typeof says>>) =>
  Effect.flatMap(ScriptedModel, (model) =>
    Effect.all([
      model.clear,
      model.change({ tools: true, vision: true, contextWindow: 50_000 }),
      model.next(...streams)
    ])
  )

/** The last request to the model. */
export const asked = Effect.map(
  Effect.flatMap(ScriptedModel, (model) => model.asked),
  (all) => all.at(-1)!.request
)
