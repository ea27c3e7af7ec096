import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schema } from "effect"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { catalogApp, catalogConfig } from "../support/CatalogApp.ts"
import { makeMockModelServer, type MockModelServer } from "../support/MockModelServer.ts"
import { TestApp } from "../support/TestApp.ts"
import { untilValue } from "../support/until.ts"
import { upload } from "../support/Uploads.ts"
import { call } from "../support/Wire.ts"

class Server extends Context.Service<Server, MockModelServer>()("parley/test/StablePrompts/Server") {}

const models = {
  "openai-chat": "house-model",
  "openai-responses": "gpt-5.5",
  anthropic: "claude-opus-5-5"
} as const
type ProtocolName = keyof typeof models
const protocols: ReadonlyArray<ProtocolName> = ["openai-chat", "openai-responses", "anthropic"]

const setUp = Effect.gen(function* () {
  const server = yield* makeMockModelServer
  const catalog = {
    providers: protocols.map((protocol) => ({
      id: protocol,
      protocol,
      baseUrl: server.url,
      dialect: "openai",
      ...(protocol === "openai-responses" ? { encryptedReasoning: true } : {})
    })),
    models: protocols.map((protocol) => ({
      id: models[protocol],
      provider: protocol,
      contextWindow: 32_000,
      maxOutputTokens: 2_000,
      tools: true,
      quality: 1,
      cost: 0
    }))
  }
  return Layer.merge(Layer.succeed(Server, server), yield* catalogConfig(catalog))
})

/** The reasoning of a model, and the call of a tool or the text that follows. */
interface Said {
  readonly thought: string
  readonly callId?: string
  readonly text?: string
}

const args = { expression: "12*7" }

/** The whole answer of a server. */
const documents: Readonly<Record<ProtocolName, (said: Said) => unknown>> = {
  "openai-chat": ({ callId, text = null, thought }) => ({
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: text,
          reasoning_content: thought,
          ...(callId === undefined
            ? {}
            : {
                tool_calls: [
                  {
                    id: callId,
                    type: "function",
                    function: { name: "calculator", arguments: JSON.stringify(args) }
                  }
                ]
              })
        },
        finish_reason: callId === undefined ? "stop" : "tool_calls"
      }
    ],
    usage: { prompt_tokens: 9, completion_tokens: 5 }
  }),
  "openai-responses": ({ callId, text, thought }) => ({
    object: "response",
    status: "completed",
    output: [
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: thought }],
        encrypted_content: Buffer.from(thought).toString("base64")
      },
      callId === undefined
        ? { type: "message", role: "assistant", content: [{ type: "output_text", text, annotations: [] }] }
        : { type: "function_call", call_id: callId, name: "calculator", arguments: JSON.stringify(args) }
    ],
    usage: { input_tokens: 9, output_tokens: 5 }
  }),
  anthropic: ({ callId, text, thought }) => ({
    type: "message",
    role: "assistant",
    content: [
      { type: "thinking", thinking: thought, signature: Buffer.from(thought).toString("base64") },
      callId === undefined
        ? { type: "text", text }
        : { type: "tool_use", id: callId, name: "calculator", input: args }
    ],
    stop_reason: callId === undefined ? "end_turn" : "tool_use",
    usage: { input_tokens: 9, output_tokens: 5 }
  })
}

type Body = Readonly<Record<string, unknown>>

const unmarked = (_key: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && "cache_control" in value
    ? { ...value, cache_control: undefined }
    : value

/**
 * The parts of a request that a server caches, without the marks: one part that all messages share, and
 * each message.
 */
const cachedParts = (body: Body) => {
  const list = body["messages"] ?? body["input"]
  assert(Array.isArray(list))
  const { instructions, prompt_cache_key, system, tools } = body
  return {
    shared: JSON.stringify({ instructions, prompt_cache_key, system, tools }, unmarked),
    messages: list.map((message: unknown) => JSON.stringify(message, unmarked))
  }
}

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponseResource))

const passages = "[Passages"

/** A project of alice's with a file that can be found. */
const makeProject = Effect.fnUntraced(function* (name: string) {
  const { alice } = yield* TestApp
  const projects = yield* Projects
  const { id } = yield* projects.create(name, "alice's")
  yield* projects.addMember(id, alice.email, "member")
  const file = yield* upload(alice, "tides.md", "The tide at the pier is highest at six in the evening.\n")
  yield* projects.addFile(id, file.id)
  yield* untilValue(projects.files(id, { status: "indexed" }), ({ data }) => data.length === 1)
  return id
})

layer(catalogApp(setUp), { excludeTestServices: true })("the prompts of one conversation", (it) => {
  it.effect.each(protocols)(
    "%s: begin with the same bytes as the one before, so that a provider's cache has them",
    (protocol) =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const server = yield* Server
        const before = server.requests.length
        let previous: string | null = null
        const ask = Effect.fnUntraced(function* (
          input: unknown,
          answers: ReadonlyArray<Said>,
          more: object = {}
        ) {
          yield* server.script(
            ...answers.map((said) => ({ raw: [JSON.stringify(documents[protocol](said))] }))
          )
          const body = {
            model: models[protocol],
            instructions: "You are a harbour master.",
            input,
            previous_response_id: previous,
            ...more
          }
          const reply = yield* call(`${url}/openai/v1/responses`, { key: alice.key, body })
          assert.strictEqual(reply.status, 200, reply.text)
          previous = (yield* decode(reply.text)).id
        })
        const file = yield* upload(alice, "berths.md", "Berth 7 is 12 metres long.\n")
        const project = yield* makeProject(`harbour ${protocol}`)
        const knowledge = { tools: [{ type: "file_search", vector_store_ids: [`vs_${project}`] }] }

        const content = [
          { type: "input_text", text: "How long are seven berths?" },
          { type: "input_file", file_id: file.id }
        ]
        // A server may give the calls of later turns the same ids again.
        yield* ask(
          [{ role: "user", content }],
          [
            { thought: "I multiply.", callId: "call_0" },
            { thought: "It is 84.", text: "84 metres." }
          ]
        )
        yield* ask("Check it.", [
          { thought: "Once more.", callId: "call_0" },
          { thought: "The same.", text: "It is right." }
        ])
        yield* ask("Thanks.", [{ thought: "Polite.", text: "You are welcome." }])
        const tide = [{ thought: "I look it up.", text: "At six [1]." }]
        yield* ask("When is the tide highest at the pier?", tide, knowledge)
        yield* ask("And the tide at the pier in the morning?", tide, knowledge)

        const sent = server.requests.slice(before).map(({ body }) => cachedParts(body))
        assert.lengthOf(sent, 7)
        for (const [index, { messages, shared }] of sent.slice(1).entries()) {
          const earlier = sent[index]!
          assert.strictEqual(shared, earlier.shared)
          // Passages stand behind all earlier turns, and are kept with none.
          const isKept = (message: string) => !message.includes(passages)
          const kept = earlier.messages.filter(isKept)
          assert.deepStrictEqual(messages.slice(0, kept.length), kept)
          assert.isTrue(messages.slice(0, -1).every(isKept))
        }
        assert.isTrue(sent.slice(-2).every(({ messages }) => messages.at(-1)?.includes(passages)))
        const first = sent[0]!
        assert.include(first.shared, "calculator")
        assert.strictEqual(first.shared.includes("prompt_cache_key"), protocol !== "anthropic")
        assert.include(first.shared + first.messages[0], "You are a harbour master.")
        const last = sent.at(-1)!.messages.join("\n")
        for (const said of ["I multiply.", "Once more.", "Polite."])
          assert.isTrue(last.includes(said) || last.includes(Buffer.from(said).toString("base64")), said)
        assert.include(last, "12 metres")
      })
  )
})
