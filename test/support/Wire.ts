import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ErrorBody } from "../../src/api/ErrorEnvelope.ts"
import { ResponseEvent } from "../../src/api/ResponseEvent.ts"
import { ResponseObject, type ShownResponse } from "../../src/api/ResponseObject.ts"
import { assertDeclared } from "./DeclaredStatuses.ts"

/** One exchange as a client sees it, byte for byte. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export interface Call {
  readonly method?: string
  readonly key?: string
  readonly headers?: Record<string, string>
  /** Sent as JSON unless it is a string already. */
  readonly body?: unknown
}

const initOf = (call: Call): RequestInit => ({
  method: call.method ?? (call.body === undefined ? "GET" : "POST"),
  headers: {
    ...(call.key === undefined ? {} : { authorization: `Bearer ${call.key}` }),
    ...(call.body === undefined ? {} : { "content-type": "application/json" }),
    ...call.headers
  },
  ...(call.body === undefined
    ? {}
    : { body: typeof call.body === "string" ? call.body : JSON.stringify(call.body) })
})

/** The response with its body still to be read; aborted when the fiber is interrupted. */
export const openCall = (url: string, call: Call): Effect.Effect<Response> =>
  Effect.promise((signal) => fetch(url, { ...initOf(call), signal }))

/** One whole exchange. */
export const call = (url: string, options: Call): Effect.Effect<Reply> =>
  Effect.promise(async (signal) => {
    const init = initOf(options)
    const response = await fetch(url, { ...init, signal })
    const text = await response.text()
    assertDeclared(init.method ?? "GET", url, response.status, text)
    return { status: response.status, headers: response.headers, text }
  })

const decodeEvent = Schema.decodeUnknownSync(Schema.fromJsonString(ResponseEvent))

/** The frames of a whole stream, each of exactly two lines and a blank one; comments left out. */
export const framesOf = (text: string): ReadonlyArray<string> => {
  assert.isTrue(text.endsWith("\n\n"), "a stream ends with a blank line")
  return text
    .slice(0, -2)
    .split("\n\n")
    .filter((block) => block !== ": keepalive")
}

/** The events of a whole stream, having checked the bytes of every frame. */
export const eventsOf = (text: string): ReadonlyArray<ResponseEvent> =>
  framesOf(text).map((block) => {
    const match = /^event: message\ndata: (\{.*\})$/.exec(block)
    assert.isNotNull(match, `a frame has an event line and a data line: ${block.slice(0, 80)}`)
    return decodeEvent(match![1]!)
  })

const decodeResponse = Schema.decodeUnknownSync(Schema.fromJsonString(ResponseObject))

/** The JSON delivery. */
export const responseOf = (reply: Reply): ShownResponse => {
  assert.strictEqual(reply.status, 200, reply.text)
  assert.strictEqual(reply.headers.get("content-type"), "application/json")
  return decodeResponse(reply.text)
}

const Envelope = Schema.Struct({
  detail: Schema.String,
  // An error without a field has "" here in `/v1`, and null in `/openai/v1`.
  error: Schema.Struct({ ...ErrorBody.fields, param: Schema.NullOr(Schema.String) })
})
const decodeEnvelope = Schema.decodeUnknownSync(Schema.fromJsonString(Envelope))

/**
 * The error of a reply, having checked that it is the envelope, bounded and with the headers of every error.
 */
export const errorOf = (reply: Reply, status: number): (typeof Envelope.Type)["error"] => {
  assert.strictEqual(reply.status, status, reply.text)
  assert.match(reply.headers.get("content-type") ?? "", /^application\/json/)
  assert.isNotNull(reply.headers.get("x-request-id"))
  assert.isAtMost(Buffer.byteLength(reply.text), 2048)
  const { detail, error } = decodeEnvelope(reply.text)
  assert.strictEqual(detail, error.message)
  return error
}
