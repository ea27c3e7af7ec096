import { assert, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { type Item, ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import type { ModelPart } from "../../src/domain/ModelCall.ts"
import { ScriptedModel, scriptedUsage, says } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"
import { framesIn } from "./frames.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponseResource))

const post = Effect.fnUntraced(function* (
  body: object,
  { headers = {}, path = "/openai/v1/responses" }: { headers?: Record<string, string>; path?: string } = {}
) {
  const { alice, url } = yield* TestApp
  return yield* call(url + path, { key: alice.key, body, headers })
})

/** A model that calls these, in pieces of three characters, and what it was asked last. */
const calling = (...calls: ReadonlyArray<readonly [name: string, args: string]>) =>
  Effect.gen(function* () {
    const model = yield* ScriptedModel
    yield* model.change({ tools: true, vision: true, contextWindow: 200_000 })
    const parts = calls.flatMap(([name, args], position): ReadonlyArray<ModelPart> => [
      ...Array.from({ length: Math.ceil(args.length / 3) }, (_, at) => ({
        type: "call_text" as const,
        position,
        name,
        text: args.slice(at * 3, at * 3 + 3),
        reasoning: []
      })),
      { type: "tool_call", call: { id: `c${position}`, name, arguments: args } }
    ])
    yield* model.next(
      Stream.fromIterable<ModelPart>([
        ...parts,
        { type: "finish", reason: "tool_calls", usage: scriptedUsage }
      ])
    )
  })

const answering = Effect.gen(function* () {
  const model = yield* ScriptedModel
  yield* model.change({ tools: true, vision: true, contextWindow: 200_000 })
  yield* model.next(says("Done."))
})

const lastAsked = Effect.flatMap(ScriptedModel, (model) =>
  Effect.map(model.asked, (asked) => asked.at(-1)!.request)
)
const offered = Effect.map(lastAsked, ({ tools }) => tools.map(({ name }) => name))

const parameters = { type: "object", properties: { id: { type: "string" } } }
const weather = { type: "function", name: "weather", parameters }
const grammar = { type: "grammar", syntax: "lark", definition: 'start: "*** Begin\\n" /.+/ "\\n"' }
const tools = [
  weather,
  {
    type: "namespace",
    name: "agents",
    description: "Agents",
    tools: [
      { type: "function", name: "wait", parameters },
      { type: "custom", name: "note" }
    ]
  },
  { type: "custom", name: "patch", description: "Changes files.", format: grammar },
  { type: "local_shell" },
  { type: "shell" },
  { type: "apply_patch" },
  { type: "image_generation", size: "auto" },
  { type: "mcp", server_label: "x", server_url: "https://mcp.example.com" }
]

const calls = [
  ["weather", '{"id":"a"}'],
  ["agents__wait", '{"id":"b"}'],
  ["agents__note", '{"input":"n \\u00e4 \\ud83d\\ude00"}'],
  ["patch", '{ "input" : "*** Begin\\n+\\"x\\"\\n" }'],
  ["local_shell", '{"command":["ls","-l"],"timeout_ms":5}'],
  ["shell", '{"commands":["ls"]}'],
  ["apply_patch", '{"type":"create_file","path":"a.txt","diff":"+a"}'],
  ["apply_patch", '{"type":"rename"}']
] as const

const shown = (item: Item) => {
  const { id: _, ...rest } = item
  return { ...rest, ...("call_id" in rest ? { call_id: "" } : {}) }
}
const expected = [
  { type: "function_call", name: "weather", arguments: '{"id":"a"}' },
  { type: "function_call", name: "wait", namespace: "agents", arguments: '{"id":"b"}' },
  { type: "custom_tool_call", name: "note", namespace: "agents", input: "n ä 😀" },
  { type: "custom_tool_call", name: "patch", input: '*** Begin\n+"x"\n' },
  { type: "local_shell_call", action: { type: "exec", command: ["ls", "-l"], env: {}, timeout_ms: 5 } },
  { type: "shell_call", action: { commands: ["ls"], timeout_ms: null, max_output_length: null } },
  { type: "apply_patch_call", operation: { type: "create_file", path: "a.txt", diff: "+a" } },
  { type: "function_call", name: "apply_patch", arguments: '{"type":"rename"}' }
].map((one) => ({ ...one, call_id: "", status: "completed" }))

const png =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

layer(TestApp.layer(), { excludeTestServices: true })("tools that a client runs", (it) => {
  it.effect("client tools of every kind are offered as functions, and called as what they are", () =>
    Effect.gen(function* () {
      yield* calling(...calls)
      const reply = yield* post({ input: "Go", tools })
      assert.strictEqual(reply.status, 200, reply.text)
      assert.strictEqual(reply.headers.get("x-ignored-fields"), "tools[6], tools[7]")
      const whole = yield* decode(reply.text)
      assert.deepStrictEqual(whole.output.map(shown), expected as never)
      const { tools: specs } = yield* lastAsked
      assert.deepStrictEqual(
        specs.map(({ name }) => name),
        ["weather", "agents__wait", "agents__note", "patch", "local_shell", "shell", "apply_patch"]
      )
      assert.deepStrictEqual(specs[3]?.text, {
        description: "Changes files.",
        grammar: { syntax: "lark", definition: grammar.definition }
      })
      assert.include(specs[3]?.description ?? "", grammar.definition)
      assert.deepStrictEqual(whole.tools[6], { type: "image_generation", size: "auto" })

      yield* calling(...calls)
      const frames = framesIn((yield* post({ input: "Go", tools, stream: true })).text)
      const streamed = assertProfileGrammar(frames)
      assert.deepStrictEqual(streamed.whole?.output.map(shown), expected as never)

      const { alice, url } = yield* TestApp
      const again = yield* decode(
        (yield* call(`${url}/openai/v1/responses/${whole.id}`, { key: alice.key })).text
      )
      assert.deepStrictEqual(again.output, whole.output)
    })
  )

  it.effect("client tools have a history that says the same, whoever kept it", () =>
    Effect.gen(function* () {
      yield* calling(...calls.slice(0, 7))
      const first = yield* decode((yield* post({ input: "Go", tools })).text)
      const ids = first.output.map((item) => ("call_id" in item ? item.call_id : ""))
      const results = [
        { type: "function_call_output", call_id: ids[0], output: "0" },
        { type: "function_call_output", call_id: ids[1], output: [{ type: "input_text", text: "1" }] },
        { type: "custom_tool_call_output", call_id: ids[2], output: "2" },
        { type: "custom_tool_call_output", call_id: ids[3], output: "3" },
        { type: "local_shell_call_output", id: ids[4], output: "4" },
        { type: "shell_call_output", call_id: ids[5], output: [{ stdout: "5" }] },
        { type: "apply_patch_call_output", call_id: ids[6], status: "completed", output: "6" }
      ]
      yield* answering
      const stored = yield* post({ previous_response_id: first.id, input: results, tools })
      assert.strictEqual(stored.status, 200, stored.text)
      const messages = (yield* lastAsked).messages
      yield* answering
      const replayed = yield* post({
        store: false,
        input: [{ role: "user", content: "Go" }, ...first.output, ...results],
        tools
      })
      assert.strictEqual(replayed.status, 200, replayed.text)
      const said = (all: typeof messages) =>
        all.map((one) => {
          if (one.role === "tool") return `${one.name}: ${one.text}`
          return one.role === "assistant"
            ? one.toolCalls.map((made) => [made.name, JSON.parse(made.arguments)])
            : one.role
        })
      assert.deepStrictEqual(said((yield* lastAsked).messages), said(messages))
      assert.deepStrictEqual(said(messages).slice(-7), [
        "weather: 0",
        "agents__wait: 1",
        "agents__note: 2",
        "patch: 3",
        "local_shell: 4",
        'shell: [{"stdout":"5"}]',
        "apply_patch: completed\n6"
      ])
    })
  )

  it.effect(
    "client tools may come in the middle of the input, and what says nothing to a model is left out and named",
    () =>
      Effect.gen(function* () {
        yield* answering
        const reply = yield* post({
          input: [
            { role: "user", content: "Go" },
            { type: "additional_tools", role: "developer", tools: [{ ...weather, name: "later" }, weather] },
            { type: "mcp_list_tools", server_label: "x", tools: [] },
            { type: "image_generation_call", id: "ig_1", result: "AAAA" },
            {
              type: "code_interpreter_call",
              id: "ci_1",
              code: "1+1",
              outputs: [{ type: "logs", logs: "2" }]
            },
            { type: "computer_call", call_id: "c", action: { type: "screenshot" } },
            {
              type: "computer_call_output",
              call_id: "c",
              output: { type: "computer_screenshot", image_url: png }
            }
          ],
          tools: [weather]
        })
        assert.strictEqual(reply.status, 200, reply.text)
        assert.deepStrictEqual(yield* offered, ["later", "weather"])
        assert.strictEqual(reply.headers.get("x-ignored-fields"), "input[2], input[3]")
        const { messages } = yield* lastAsked
        const results = messages.flatMap((one) => (one.role === "tool" ? [one] : []))
        assert.deepStrictEqual(
          results.map(({ images = [], name, text }) => [name, text, images.length]),
          [
            ["code_interpreter", '[{"type":"logs","logs":"2"}]', 0],
            ["computer", "", 1]
          ]
        )

        const { tools: specs } = yield* lastAsked
        assert.deepStrictEqual(
          specs.map(({ param }) => param),
          ["input[1].tools[0].parameters", "input[1].tools[1].parameters"]
        )
        yield* answering
        const unserved = yield* post({
          input: [
            { role: "user", content: "Go" },
            { type: "additional_tools", tools: [weather, { type: "mcp", server_label: "x" }] }
          ],
          tools: [weather]
        })
        assert.strictEqual(unserved.headers.get("x-ignored-fields"), "input[1].tools[1]")

        const named = (name: string) => ({ ...weather, name })
        const found = (...names: ReadonlyArray<string>) => ({
          type: "tool_search_output",
          tools: [{ type: "namespace", name: "mcp", tools: names.map(named) }]
        })
        yield* answering
        yield* post({ input: [{ role: "user", content: "Go" }, found("x", "y"), found("x", "z")] })
        assert.deepStrictEqual([...(yield* offered)].toSorted(), ["mcp__x", "mcp__y", "mcp__z"])
        const many = Array.from({ length: 300 }, (_, index) => named(`f${index}`))
        const others = many.map(({ name, ...one }) => ({ ...one, name: `g${name}` }))
        const added = [many, others].map((tools) => ({ type: "additional_tools", tools }))
        const refused = errorOf(yield* post({ input: [{ role: "user", content: "Go" }, ...added] }), 400)
        assert.include(refused.message, "512")
        yield* answering
        yield* post({
          input: "Go",
          own_tools: "off",
          tools: [weather, { type: "web_search", external_web_access: false }],
          tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "web_search" }] }
        })
        assert.deepStrictEqual(yield* offered, [])
      })
  )

  it.effect("client tools that a long input adds are known to the stream of a request with a key", () =>
    Effect.gen(function* () {
      yield* calling(["note", '{"input":"x"}'])
      const input = [
        { role: "user", content: "w ".repeat(40_000) },
        { type: "additional_tools", tools: [{ type: "custom", name: "note" }] }
      ]
      const reply = yield* post({ input, stream: true }, { headers: { "idempotency-key": "long" } })
      const { whole } = assertProfileGrammar(framesIn(reply.text))
      assert.deepStrictEqual(
        whole?.output.map(({ type }) => type),
        ["custom_tool_call"]
      )
      assert.lengthOf(whole?.tools ?? [], 1)
    })
  )

  it.effect(
    "client tools may have results that name the item of a shell call, and cut calls are left out with theirs",
    () =>
      Effect.gen(function* () {
        const user = { role: "user", content: "Go" }
        yield* calling(["local_shell", '{"command":["ls"]}'])
        const [made] = (yield* decode((yield* post({ input: "Go", tools })).text)).output
        assert(made?.type === "local_shell_call")
        const cut = {
          type: "function_call",
          call_id: "cut",
          name: "weather",
          arguments: '{"a',
          status: "incomplete"
        }
        yield* answering
        const reply = yield* post({
          input: [
            user,
            made,
            { type: "local_shell_call_output", id: made.id, output: "files" },
            cut,
            { type: "function_call_output", call_id: "cut", output: "aborted" }
          ],
          tools
        })
        assert.strictEqual(reply.status, 200, reply.text)
        const results = (yield* lastAsked).messages.flatMap((one) => (one.role === "tool" ? [one.text] : []))
        assert.deepStrictEqual(results, ["files"])
      })
  )

  it.effect("client tools are offered without the service's own, unless the client asks for these", () =>
    Effect.gen(function* () {
      const cases = [
        [{ tools: [weather] }, {}, ["weather"]],
        [{ tools: [weather, { type: "web_search" }] }, {}, ["web_fetch", "weather"]],
        [{ tools: [weather, { type: "web_search", external_web_access: false }] }, {}, ["weather"]],
        [
          { tools: [weather], own_tools: "on" },
          {},
          ["calculator", "current_datetime", "web_fetch", "weather"]
        ],
        [
          { tools: [weather] },
          { "x-own-tools": "on" },
          ["calculator", "current_datetime", "web_fetch", "weather"]
        ],
        [{}, {}, ["calculator", "current_datetime", "web_fetch"]],
        [{ own_tools: "off" }, {}, []],
        [{}, { "x-own-tools": "off" }, []]
      ] as const
      for (const [body, headers, names] of cases) {
        yield* answering
        const reply = yield* post({ input: "Hi", ...body }, { headers })
        assert.strictEqual(reply.status, 200, reply.text)
        assert.deepStrictEqual([...(yield* offered)].toSorted(), [...names].toSorted())
      }
      const chat = { path: "/openai/v1/chat/completions" }
      const messages = [{ role: "user", content: "Hi" }]
      const fn = [{ type: "function", function: { name: "weather" } }]
      for (const [body, headers, count] of [
        [{ tools: fn }, {}, 1],
        [{ tools: fn, own_tools: "on" }, {}, 4],
        [{ tools: fn }, { "x-own-tools": "on" }, 4],
        [{}, {}, 3],
        [{ own_tools: "off" }, {}, 0]
      ] as const) {
        yield* answering
        assert.strictEqual((yield* post({ messages, ...body }, { ...chat, headers })).status, 200)
        assert.lengthOf(yield* offered, count)
      }
      const wrong = errorOf(yield* post({ input: "Hi" }, { headers: { "x-own-tools": "yes" } }), 400)
      assert.strictEqual(wrong.param, "x-own-tools")
    })
  )

  it.effect("client tools are at most 512, of 1 MiB together, with names of their own", () =>
    Effect.gen(function* () {
      const many = (count: number) =>
        Array.from({ length: count }, (_, index) => ({ ...weather, name: `f${index}` }))
      yield* answering
      assert.strictEqual(
        (yield* post({ input: "Hi", tools: [{ type: "namespace", name: "n", tools: many(512) }] })).status,
        200
      )
      const cases = [
        [[weather, { type: "namespace", name: "n", tools: many(512) }], "512"],
        [[{ ...weather, description: "x".repeat(1024 * 1024) }], "1048576"],
        [
          [
            { type: "namespace", name: "a", tools: [{ ...weather, name: "b" }] },
            { ...weather, name: "a__b" }
          ],
          "different names"
        ]
      ] as const
      for (const [all, says] of cases) {
        const error = errorOf(yield* post({ input: "Hi", tools: all }), 400)
        assert.strictEqual(error.param, "tools")
        assert.include(error.message, says)
      }
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("images and files in results", (it) => {
  it.effect("images and files in results reach the model in this turn and in later ones", () =>
    Effect.gen(function* () {
      yield* calling(["weather", "{}"])
      const first = yield* decode((yield* post({ input: "Go", tools: [weather] })).text)
      const [made] = first.output
      assert(made?.type === "function_call")
      const output = [
        { type: "input_text", text: "See" },
        { type: "input_image", image_url: png, detail: "low" },
        { type: "input_file", filename: "a.txt", file_data: Buffer.from("words").toString("base64") }
      ]
      yield* answering
      const second = yield* post({
        previous_response_id: first.id,
        input: [{ type: "function_call_output", call_id: made.call_id, output }],
        tools: [weather]
      })
      assert.strictEqual(second.status, 200, second.text)
      const shownImages = Effect.map(lastAsked, ({ messages }) =>
        messages.flatMap((one) =>
          one.role === "tool" ? [[one.text.includes("words"), one.images?.[0]?.detail]] : []
        )
      )
      assert.deepStrictEqual(yield* shownImages, [[true, "low"]])

      const { id } = yield* decode(second.text)
      const { alice, url } = yield* TestApp
      const listed = yield* call(`${url}/openai/v1/responses/${id}/input_items`, { key: alice.key })
      assert.include(listed.text, '{"type":"input_image","detail":"low","image_url":null,"file_id":null}')
      const own = yield* call(`${url}/v1/responses/${id}`, { key: alice.key })
      assert.notInclude(own.text, "attached")

      yield* answering
      yield* post({ previous_response_id: id, input: "Again?", tools: [weather] })
      assert.deepStrictEqual(yield* shownImages, [[true, "low"]])

      yield* answering
      const chat = yield* post(
        {
          messages: [
            { role: "user", content: "Go" },
            {
              role: "assistant",
              tool_calls: [{ id: "c", type: "function", function: { name: "weather", arguments: "{}" } }]
            },
            {
              role: "tool",
              tool_call_id: "c",
              content: [
                { type: "text", text: "words" },
                { type: "image_url", image_url: { url: png, detail: "low" } }
              ]
            }
          ],
          tools: [{ type: "function", function: { name: "weather" } }]
        },
        { path: "/openai/v1/chat/completions" }
      )
      assert.strictEqual(chat.status, 200, chat.text)
      assert.deepStrictEqual(yield* shownImages, [[true, "low"]])
    })
  )

  it.effect("images and files in results are bounded and refused like those of messages, and named", () =>
    Effect.gen(function* () {
      const result = (part: object) => [
        { role: "user", content: "Go" },
        { type: "function_call", call_id: "c", name: "weather", arguments: "{}" },
        { type: "function_call_output", call_id: "c", output: [part] }
      ]
      const cases = [
        [{ type: "input_image", image_url: "data:image/png;base64,AAAA" }, "input[2].output[0].image_url"],
        [
          { type: "input_file", file_id: "file-019845e1-682f-4b02-a706-3b2422d13aec" },
          "input[2].output[0].file_id"
        ],
        [{ type: "input_audio", data: "x" }, "input[2].output"]
      ] as const
      for (const [part, param] of cases) {
        const reply = yield* post({ input: result(part), tools: [weather] })
        const error = errorOf(reply, reply.status)
        assert.isTrue(reply.status === 400 || reply.status === 404, reply.text)
        assert.isTrue(error.param?.startsWith(param) === true, reply.text)
      }
    })
  )
})
