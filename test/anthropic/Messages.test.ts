import { assert, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import type { ModelMessage, ModelPart } from "../../src/domain/ModelCall.ts"
import { makePdf } from "../documents/PdfFixture.ts"
import { failure, finish, says, ScriptedModel, scriptedUsage, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call } from "../support/Wire.ts"
import { foldMessage, messageEventsIn } from "./messageEvents.ts"
import { answer, asked, calls, hello, post, script, streamed } from "./messagesCalls.ts"

const weather = {
  name: "weather",
  description: "The weather.",
  input_schema: { type: "object", properties: { city: { type: "string" } } }
}

const saidIn = (messages: ReadonlyArray<ModelMessage>) =>
  messages.filter(({ role }) => role !== "system").map(({ role, text: said }) => [role, said])

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

layer(TestApp.layer(), { excludeTestServices: true })("POST /anthropic/v1/messages", (it) => {
  it.effect("a message is one document unless a stream is asked for, and the same streamed", () =>
    Effect.gen(function* () {
      yield* script(says("Hello", " world"), says("Hello", " world"))
      const whole = yield* answer({})
      assert.match(whole.id, /^msg_[0-9a-f-]{36}$/)
      assert.strictEqual(whole.model, "scripted-1")
      assert.deepStrictEqual(whole.content, [{ type: "text", text: "Hello world", citations: null }])
      assert.strictEqual(whole.stop_reason, "end_turn")
      assert.deepStrictEqual([whole.usage.input_tokens, whole.usage.output_tokens], [11, 7])
      const same = yield* streamed({})
      assert.deepStrictEqual({ ...same, id: whole.id }, whole)
    })
  )

  it.effect("a message needs a key in either header, and a key of this service wins over another one", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      yield* script(says("1"), says("2"), says("3"), says("4"))
      for (const headers of [
        { "x-api-key": alice.key },
        { authorization: `Bearer ${alice.key}` },
        { "x-api-key": alice.key, authorization: "Bearer sk-ant-oat01-of-another-service" },
        { "x-api-key": "sk-ant-api03-of-another-service", authorization: `Bearer ${alice.key}` }
      ]) {
        const reply = yield* call(`${url}/anthropic/v1/messages`, { headers, body: hello })
        assert.strictEqual(reply.status, 200, reply.text)
      }
    })
  )

  it.effect("a message gives the model the whole conversation, calls and results included", () =>
    Effect.gen(function* () {
      yield* script(says("It rains."))
      const use = (id: string) => ({ type: "tool_use", id, name: "weather", input: { city: "Bonn" } })
      const result = (id: string, content: unknown, more = {}) => ({
        type: "tool_result",
        tool_use_id: id,
        content,
        ...more
      })
      yield* answer({
        system: [
          { type: "text", text: "x-anthropic-billing-header: cc_version=2; cch=1a2b3;" },
          { type: "text", text: "Be kind.", cache_control: { type: "ephemeral" } }
        ],
        messages: [
          { role: "user", content: [{ type: "text", text: "Weather?" }] },
          { role: "user", content: "In Bonn and Berlin." },
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "hm", signature: "of another service" },
              { type: "redacted_thinking", data: "of another service" },
              { type: "text", text: "I look." },
              use("toolu_a"),
              use("toolu_b")
            ]
          },
          {
            role: "user",
            content: [
              result("toolu_b", "rain"),
              result(
                "toolu_a",
                [
                  { type: "text", text: "No" },
                  { type: "text", text: "station." }
                ],
                {
                  is_error: true
                }
              ),
              { type: "text", text: "Go on." }
            ]
          },
          { role: "system", content: [text("Be short."), { type: "tool_addition", tool: {} }] },
          { role: "assistant", content: "Both." },
          { role: "user", content: "And now?" }
        ],
        tools: [weather]
      })
      const { messages, tools } = yield* asked
      const system = messages.flatMap((message) => (message.role === "system" ? [message.text] : [])).join()
      assert.strictEqual(system, "Be kind.\n\nBe short.")
      assert.deepStrictEqual(saidIn(messages), [
        ["user", "Weather?"],
        ["user", "In Bonn and Berlin."],
        ["assistant", "I look."],
        ["tool", "Error: No\nstation."],
        ["tool", "rain"],
        ["user", "Go on."],
        ["assistant", "Both."],
        ["user", "And now?"]
      ])
      // The service's own tools are offered only where they are asked for.
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["weather"]
      )
    })
  )

  it.effect("a message ends with the calls of the client's tools, and goes on from their results", () =>
    Effect.gen(function* () {
      yield* script(calls("weather", "weather"), calls("weather", "weather"), says("Sunny."))
      const body = { tools: [weather], tool_choice: { type: "any" } }
      const same = yield* streamed(body)
      const whole = yield* answer(body)
      const inputs = ({ content }: typeof whole) =>
        content.map((block) => (block.type === "tool_use" ? [block.name, block.input] : block))
      assert.deepStrictEqual(inputs(whole), [
        ["weather", { city: "Bonn" }],
        ["weather", { city: "Bonn" }]
      ])
      assert.deepStrictEqual([inputs(same), same.stop_reason], [inputs(whole), "tool_use"])
      const { options } = yield* asked
      assert.deepStrictEqual(options, { toolChoice: "required" })
      const results = whole.content.flatMap((block) =>
        block.type === "tool_use" ? [{ type: "tool_result", tool_use_id: block.id, content: "sun" }] : []
      )
      yield* answer({
        tools: [weather],
        messages: [
          ...hello.messages,
          { role: "assistant", content: whole.content },
          { role: "user", content: results }
        ]
      })
      assert.deepStrictEqual(saidIn((yield* asked).messages), [
        ["user", "Hi"],
        ["assistant", ""],
        ["tool", "sun"],
        ["tool", "sun"]
      ])
    })
  )

  it.effect("a message passes on which tool is to be called, and whether alone", () =>
    Effect.gen(function* () {
      const choices = [
        [{ type: "auto" }, { toolChoice: "auto" }],
        [{ type: "none" }, { toolChoice: "none" }],
        [{ type: "tool", name: "weather" }, { toolChoice: { name: "weather" } }],
        [
          { type: "auto", disable_parallel_tool_use: true },
          { toolChoice: "auto", parallelToolCalls: false }
        ]
      ] as const
      yield* script(...choices.map(() => says("x")))
      for (const [choice, options] of choices) {
        yield* answer({ tools: [weather], tool_choice: choice })
        assert.deepStrictEqual((yield* asked).options, options)
      }
    })
  )

  it.effect("a message gives the model the parameters of the answer", () =>
    Effect.gen(function* () {
      const schema = { type: "object", properties: { a: { type: "integer" } } }
      yield* script(says(`{"a":1}`), says("x"), says("x"), says("x"))
      yield* answer({
        max_tokens: 20,
        temperature: 0.5,
        top_p: 0.9,
        top_k: 5,
        stop_sequences: ["END"],
        thinking: { type: "adaptive" },
        output_config: { effort: "max", format: { type: "json_schema", schema } }
      })
      const { maxOutputTokens, options } = yield* asked
      assert.strictEqual(maxOutputTokens, 20)
      assert.deepStrictEqual(options, {
        temperature: 0.5,
        topP: 0.9,
        stop: ["END"],
        format: { type: "json_schema", name: "answer", description: null, schema, strict: false },
        reasoningEffort: "max",
        effortIsHint: true
      })
      for (const [thinking, effort] of [
        [{ type: "enabled", budget_tokens: 1024 }, "low"],
        [{ type: "enabled", budget_tokens: 31_999 }, "high"],
        [{ type: "disabled" }, "none"]
      ] as const) {
        yield* answer({ thinking })
        assert.strictEqual((yield* asked).options?.reasoningEffort, effort)
      }
    })
  )

  it.effect("a message names what is ignored and would be missed, and nothing else", () =>
    Effect.gen(function* () {
      yield* script(says("x"), says("x"))
      const quiet = yield* post({
        ...hello,
        metadata: { user_id: "u" },
        service_tier: "auto",
        cache_control: { type: "ephemeral" },
        betas: ["a"]
      })
      assert.isNull(quiet.headers.get("x-ignored-fields"))
      const reply = yield* post({
        ...hello,
        messages: [
          { role: "user", content: "a" },
          {
            role: "assistant",
            content: [{ type: "server_tool_use", id: "s", name: "web_search", input: {} }]
          },
          { role: "user", content: "b" }
        ],
        top_k: 3,
        inference_geo: "eu",
        context_management: { edits: [] },
        thinking: { type: "adaptive", display: "updates" },
        output_config: { effort: "extreme" },
        mcp_servers: [{ type: "url", url: "https://mcp.example.com", name: "m" }],
        tools: [
          { ...weather, strict: true },
          { type: "computer_20250124", name: "computer", display_width_px: 1, display_height_px: 1 },
          { type: "code_execution_20250825", name: "code_execution" },
          { type: "web_search_20250305", name: "web_search", allowed_domains: ["example.com"] },
          { type: "mcp_toolset", mcp_server_name: "m" }
        ]
      })
      assert.strictEqual(reply.status, 200, reply.text)
      assert.strictEqual(
        reply.headers.get("x-ignored-fields"),
        "top_k, inference_geo, context_management, mcp_servers, tools[0].strict, tools[1], tools[2], tools[3].allowed_domains, " +
          "tools[4], thinking.display, output_config.effort, messages[1].content[0]"
      )
    })
  )

  it.effect("a message offers tools that Anthropic defines and clients run, and the web tools", () =>
    Effect.gen(function* () {
      yield* script(calls("bash"))
      yield* answer({
        tools: [
          { type: "bash_20250124", name: "bash" },
          { type: "text_editor_20250728", name: "str_replace_based_edit_tool" },
          { type: "memory_20250818", name: "memory" },
          { type: "web_fetch_20250910", name: "web_fetch", max_uses: 2 }
        ]
      })
      const { tools } = yield* asked
      assert.sameMembers(
        tools.map(({ name }) => name),
        ["bash", "str_replace_based_edit_tool", "memory", "web_fetch"]
      )
    })
  )

  it.effect("a message shows thoughts only where they are asked for, sealed for the way back", () =>
    Effect.gen(function* () {
      const opaque = { origin: "o", data: "signed" }
      const thinks = Stream.fromIterable<ModelPart>([
        { type: "reasoning_text", text: "Let me " },
        { type: "reasoning_text", text: "think." },
        { type: "reasoning", reasoning: { text: "Let me think.", opaque } },
        {
          type: "tool_call",
          call: { id: "c", name: "weather", arguments: "{}", opaque: { origin: "o", data: "of the call" } }
        },
        { type: "finish", reason: "tool_calls", usage: scriptedUsage }
      ])
      yield* script(thinks, thinks, thinks, says("Sunny."), says("Sunny."))
      const plain = yield* answer({ tools: [weather] })
      assert.deepStrictEqual(
        plain.content.map(({ type }) => type),
        ["tool_use"]
      )
      const body = { tools: [weather], thinking: { type: "adaptive" } }
      const whole = yield* answer(body)
      const same = yield* streamed(body)
      for (const { content } of [whole, same]) {
        const [thought, use] = content
        assert(thought?.type === "thinking" && use?.type === "tool_use")
        assert.strictEqual(thought.thinking, "Let me think.")
        yield* answer({
          ...body,
          messages: [
            ...hello.messages,
            { role: "assistant", content },
            { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "sun" }] }
          ]
        })
        const said = (yield* asked).messages.find(({ role }) => role === "assistant")
        assert(said?.role === "assistant")
        assert.deepStrictEqual(
          said.toolCalls.map((one) => [one.opaque, one.reasoning]),
          [[{ origin: "o", data: "of the call" }, [{ text: "Let me think.", opaque }]]]
        )
      }
    })
  )

  it.effect("a message shows the model images and documents", () =>
    Effect.gen(function* () {
      yield* script(says("Seen."))
      const pdf = makePdf([["A letter."]])
      yield* answer({
        messages: [
          {
            role: "user",
            content: [
              { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
              {
                type: "document",
                title: "Letter",
                context: "From my aunt.",
                source: {
                  type: "base64",
                  media_type: "application/pdf",
                  data: Buffer.from(pdf).toString("base64")
                }
              },
              { type: "document", source: { type: "text", media_type: "text/plain", data: "A note: ä." } },
              { type: "document", title: "Parts", source: { type: "content", content: [text("One.")] } },
              {
                type: "search_result",
                source: "https://example.com",
                title: "Found",
                content: [text("Two.")]
              },
              { type: "text", text: "What is it?" }
            ]
          }
        ]
      })
      const [message] = (yield* asked).messages
      assert(message?.role === "user")
      assert.deepStrictEqual(
        message.images?.map(({ data, mediaType }) => [mediaType, data]),
        [["image/png", pixel]]
      )
      for (const words of ["From my aunt.", "A letter.", "A note: ä.", "One.", "Two.", "What is it?"])
        assert.include(message.text, words)
    })
  )

  it.effect("a message stores nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const count = sql`SELECT (SELECT count(*) FROM conversations) + (SELECT count(*) FROM turns) AS n`
      const before = yield* count
      yield* script(says("Hello"), says("Hello"))
      yield* answer({})
      yield* streamed({})
      assert.deepStrictEqual(yield* count, before)
    })
  )

  it.effect("a message ends a stream that fails with an error event", () =>
    Effect.gen(function* () {
      const breaks = (reason: Parameters<typeof failure>[0]) =>
        Stream.concat(Stream.make(text("Hel")), Stream.fail(failure(reason)))
      yield* script(breaks("server_error"), breaks("rate_limited"))
      for (const type of ["api_error", "overloaded_error"]) {
        const events = messageEventsIn((yield* post({ ...hello, stream: true })).text)
        const last = events.at(-1)
        assert(last?.type === "error")
        assert.strictEqual(last.error.type, type)
        const { isWhole, message } = foldMessage(events.slice(0, -1))
        assert.deepStrictEqual([isWhole, message.content], [false, []])
      }
    })
  )

  it.effect("a message says `max_tokens` of an answer that was cut", () =>
    Effect.gen(function* () {
      yield* script(Stream.fromIterable([text("Hel"), finish("length")]))
      assert.strictEqual((yield* answer({})).stop_reason, "max_tokens")
    })
  )

  it.effect("count_tokens counts the tokens of a conversation, its system prompt and its tools", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.change({ tools: true, contextWindow: 50_000 })
      const before = (yield* model.asked).length
      const counted = Effect.fnUntraced(function* (body: object) {
        const reply = yield* post({ messages: hello.messages, ...body }, "/v1/messages/count_tokens")
        assert.strictEqual(reply.status, 200, reply.text)
        return (yield* Schema.decodeEffect(
          Schema.fromJsonString(Schema.Struct({ input_tokens: Schema.Int }))
        )(reply.text)).input_tokens
      })
      const plain = yield* counted({})
      assert.isAbove(plain, 0)
      const withSystem = yield* counted({ system: "Be kind to everybody." })
      assert.isAbove(withSystem, plain)
      assert.isAbove(yield* counted({ system: "Be kind to everybody.", tools: [weather] }), withSystem)
      const image = { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } }
      assert.isAbove(yield* counted({ messages: [{ role: "user", content: [image] }] }), plain + 1_000)
      const long = [{ role: "user", content: "word ".repeat(100_000) }]
      assert.isAbove(yield* counted({ messages: long }), 90_000)
      assert.strictEqual((yield* model.asked).length, before)
    })
  )

  it.effect("the list of models has those that a request may name", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const get = (path: string) =>
        call(`${url}/anthropic/v1/models${path}`, { headers: { "x-api-key": alice.key } })
      const list = JSON.parse((yield* get("?limit=1000")).text)
      assert.deepStrictEqual(
        list.data.map(({ id }: { readonly id: string }) => id),
        ["auto", "scripted-1", "scripted-2"]
      )
      assert.deepStrictEqual([list.has_more, list.first_id, list.last_id], [false, "auto", "scripted-2"])
      const one = JSON.parse((yield* get("/scripted-2")).text)
      assert.deepStrictEqual([one.type, one.id, one.display_name], ["model", "scripted-2", "scripted-2"])
      yield* script(says("x"))
      assert.strictEqual((yield* answer({ model: "scripted-2" })).model, "scripted-2")
    })
  )

  it.effect("the interface for Anthropic describes itself", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const reply = yield* call(`${url}/anthropic/v1/openapi.json`, { headers: { "x-api-key": alice.key } })
      const { components, paths } = JSON.parse(reply.text)
      assert.includeMembers(Object.keys(paths), [
        "/anthropic/v1/messages",
        "/anthropic/v1/messages/count_tokens",
        "/anthropic/v1/models"
      ])
      assert.strictEqual(components.schemas.BadRequest.$ref, "#/components/schemas/MessagesError")
      assert.notInclude(reply.text, '"detail"')
      const unused = Object.keys(components.schemas).filter(
        (name) => !reply.text.includes(`schemas/${name}"`)
      )
      assert.deepStrictEqual(unused, [])
    })
  )
})
