import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import OpenAI from "openai"
import { mockDirective } from "../support/MockModelServer.ts"
import { mockLogprob } from "../support/MockWire.ts"
import { TestApp } from "../support/TestApp.ts"
import { untilValue } from "../support/until.ts"
import { call } from "../support/Wire.ts"
import { connect } from "./connection.ts"
import { framesIn } from "./frames.ts"
import { decodeResponse, show } from "./jobCalls.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"
import { app, Servers } from "./ProtocolServers.ts"

const asked = mockDirective({ deltas: ["Ye", "s"] })
const messages = [{ role: "user" as const, content: asked }]
/** The protocols of servers that have logprobs. */
const telling = ["openai-chat", "openai-responses"] as const
const told = (others: number) => ["Ye", "s"].map((token) => mockLogprob(token, others))
const include = ["message.output_text.logprobs" as const]

const client = Effect.map(
  TestApp,
  ({ alice, url }) => new OpenAI({ apiKey: alice.key, baseURL: `${url}/openai/v1`, maxRetries: 0 })
)

const send = Effect.fnUntraced(function* (path: string, body: object, headers: Record<string, string> = {}) {
  const { alice, url } = yield* TestApp
  const reply = yield* call(`${url}${path}`, { key: alice.key, body, headers })
  assert.strictEqual(reply.status, 200, reply.text)
  return reply
})

const logprobsOf = (response: { readonly output: ReadonlyArray<object> }) =>
  response.output.flatMap((item) =>
    "content" in item && Array.isArray(item.content) ? item.content.flatMap((part) => part.logprobs) : []
  )

layer(app, { excludeTestServices: true })("logprobs on /openai/v1", (it) => {
  it.effect.each(telling)("logprobs are shown to a chat of the library that asks for them (%s)", (protocol) =>
    Effect.gen(function* () {
      const { chat } = yield* client
      const body = { model: `model-${protocol}`, messages, logprobs: true, top_logprobs: 2 }
      const whole = yield* Effect.promise(() => chat.completions.create(body))
      assert.deepStrictEqual(whole.choices[0]?.logprobs, { content: told(2), refusal: null })
      const streamed = yield* Effect.promise(() => chat.completions.stream(body).finalChatCompletion())
      assert.deepStrictEqual(streamed.choices[0]?.logprobs, { content: told(2), refusal: null })
      const without = yield* Effect.promise(() =>
        chat.completions.create({ ...body, logprobs: false, top_logprobs: 0 })
      )
      assert.isNull(without.choices[0]?.logprobs)
    })
  )

  it.effect.each(telling)("logprobs are in a response to the library that asks for them (%s)", (protocol) =>
    Effect.gen(function* () {
      const { responses } = yield* client
      const body = { model: `model-${protocol}`, input: asked }
      const whole = yield* Effect.promise(() => responses.create({ ...body, include, top_logprobs: 2 }))
      assert.deepStrictEqual([logprobsOf(whole), whole.top_logprobs], [told(2), 2])
      const stored = yield* Effect.promise(() => responses.retrieve(whole.id))
      assert.deepStrictEqual([logprobsOf(stored), stored.top_logprobs], [[], 2])
      const streamed = yield* Effect.promise(() => responses.stream({ ...body, include }).finalResponse())
      assert.deepStrictEqual(logprobsOf(streamed), told(0))
      const likely = yield* Effect.promise(() => responses.create({ ...body, top_logprobs: 1 }))
      assert.deepStrictEqual(logprobsOf(likely), told(1))
      assert.deepStrictEqual(logprobsOf(yield* Effect.promise(() => responses.create(body))), [])
    })
  )

  it.effect("logprobs have the older form in completions, whole and streamed, for each choice", () =>
    Effect.gen(function* () {
      const { completions } = yield* client
      const body = { model: "model-openai-chat", prompt: asked, logprobs: 1, n: 2, echo: true }
      const { choices } = yield* Effect.promise(() => completions.create(body))
      const expected = {
        tokens: ["Ye", "s"],
        token_logprobs: [-0.25, -0.25],
        top_logprobs: [
          { "other 0": -1, Ye: -0.25 },
          { "other 0": -1, s: -0.25 }
        ],
        text_offset: [asked.length, asked.length + 2]
      }
      assert.deepStrictEqual(
        choices.map(({ logprobs }) => logprobs),
        [expected, expected]
      )
      const stream = yield* Effect.promise(() =>
        completions.create({ ...body, n: 1, logprobs: 0, stream: true })
      )
      const chunks = yield* Stream.runCollect(
        Stream.fromAsyncIterable(stream, (cause) => new Error("the stream broke", { cause }))
      )
      assert.deepStrictEqual(
        chunks.flatMap(({ choices: [choice] }) => choice?.logprobs ?? []),
        [
          {
            tokens: ["Ye"],
            token_logprobs: [-0.25],
            top_logprobs: [{ Ye: -0.25 }],
            text_offset: [asked.length]
          },
          {
            tokens: ["s"],
            token_logprobs: [-0.25],
            top_logprobs: [{ s: -0.25 }],
            text_offset: [asked.length + 2]
          }
        ]
      )
    })
  )

  const ways: ReadonlyArray<readonly [path: string, body: object, named: string]> = [
    ["responses", { input: asked, include, top_logprobs: 2 }, "top_logprobs, include[0]"],
    ["chat/completions", { messages, logprobs: true, top_logprobs: 2 }, "logprobs, top_logprobs"],
    ["chat/completions", { messages, logprobs: true, n: 2 }, "logprobs"],
    ["completions", { prompt: asked, logprobs: 0, wishes: 1 }, "wishes, logprobs"]
  ]
  const deliveries = ways.flatMap((way) => [true, false].map((stream) => [...way, stream] as const))

  it.effect.each(deliveries)(
    "logprobs are named as ignored if a model has none, or its server refuses them (%s, %j)",
    ([path, body, named, stream]) =>
      Effect.gen(function* () {
        const refused = mockDirective({ deltas: ["Yes"], refusesField: "logprobs" })
        const refusing = JSON.parse(
          JSON.stringify(body).replace(JSON.stringify(asked), JSON.stringify(refused))
        )
        for (const asking of [
          { model: "model-anthropic", ...body },
          { model: "model-openai-chat", ...refusing }
        ]) {
          const reply = yield* send(`/openai/v1/${path}`, { ...asking, stream })
          assert.strictEqual(reply.headers.get("x-ignored-fields"), named)
          assert.notInclude(reply.text, `"token"`)
        }
        const reply = yield* send(`/openai/v1/${path}`, { model: "model-openai-chat", ...body, stream })
        assert.strictEqual(
          reply.headers.get("x-ignored-fields"),
          named.startsWith("wishes") ? "wishes" : null
        )
      })
  )

  it.effect("logprobs are left out and named as ignored if the text is checked before it is shown", () =>
    Effect.gen(function* () {
      const content = mockDirective({ deltas: [`{"a":`, "1}"] })
      const reply = yield* send("/openai/v1/chat/completions", {
        model: "model-openai-chat",
        messages: [{ role: "user", content }],
        response_format: { type: "json_object" },
        logprobs: true
      })
      assert.strictEqual(reply.headers.get("x-ignored-fields"), "logprobs")
      assert.include(reply.text, `"logprobs":null`)
    })
  )

  it.effect("logprobs are the same by WebSocket and in the background, and are not stored", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const body = { model: "model-openai-chat", input: asked, include }
      const background = yield* send("/openai/v1/responses", { ...body, background: true, stream: true })
      const { whole } = assertProfileGrammar(framesIn(background.text))
      assert.deepStrictEqual(logprobsOf(whole ?? assert.fail("the response completes")), told(0))
      const stored = yield* untilValue(
        show(url, whole!.id, alice.key),
        ({ status }) => status === "completed"
      )
      assert.deepStrictEqual(logprobsOf(stored), [])

      const socket = yield* connect(url, alice.key)
      socket.send({ type: "response.create", ...body, store: false })
      const [first = ""] = yield* socket.last(1)
      const { response } = JSON.parse(first)
      assert.deepStrictEqual(logprobsOf(response), told(0))
      const servers = yield* Servers
      const before = servers["openai-chat"].requests.length
      socket.send({ type: "response.create", ...body, store: false, previous_response_id: response.id })
      yield* socket.last(2)
      assert.notInclude(
        JSON.stringify((yield* servers["openai-chat"].request(before)).body["messages"]),
        "logprob"
      )
    })
  )

  it.effect("logprobs with an idempotency key are streamed, and named as ignored in a response's JSON", () =>
    Effect.gen(function* () {
      const body = { model: "model-openai-chat", input: asked, include }
      const streamed = yield* send(
        "/openai/v1/responses",
        { ...body, stream: true },
        { "idempotency-key": "logprobs 1" }
      )
      assert.deepStrictEqual(logprobsOf(assertProfileGrammar(framesIn(streamed.text)).whole!), told(0))
      assert.isNull(streamed.headers.get("x-ignored-fields"))
      const whole = yield* send("/openai/v1/responses", body, { "idempotency-key": "logprobs 2" })
      assert.strictEqual(whole.headers.get("x-ignored-fields"), "include[0]")
      assert.deepStrictEqual(logprobsOf(decodeResponse(whole.text)), [])
      const chat = { model: "model-openai-chat", messages, logprobs: true }
      const keyed = yield* send("/openai/v1/chat/completions", chat, { "idempotency-key": "logprobs 3" })
      assert.isNull(keyed.headers.get("x-ignored-fields"))
      assert.include(keyed.text, `"logprobs":{"content":[{"token":"Ye"`)
      const claude = { ...chat, model: "model-anthropic" }
      const without = yield* send("/openai/v1/chat/completions", claude, { "idempotency-key": "logprobs 4" })
      assert.strictEqual(without.headers.get("x-ignored-fields"), "logprobs")
    })
  )

  it.effect("logprobs are ignored by /v1 and not sent to a model server", () =>
    Effect.gen(function* () {
      const servers = yield* Servers
      const counted = () => Object.values(servers).map(({ requests }) => requests.length)
      const before = counted()
      const body = { input: asked, include, logprobs: true, top_logprobs: 2 }
      for (const stream of [true, false]) {
        const reply = yield* send("/v1/responses", { ...body, stream })
        assert.notInclude(reply.text, `"token"`)
        assert.strictEqual(reply.headers.get("x-ignored-fields"), "include, logprobs, top_logprobs")
      }
      for (const [index, { requests }] of Object.values(servers).entries())
        for (const one of requests.slice(before[index]))
          assert.notInclude(JSON.stringify(one.body), "logprobs")
    })
  )
})
