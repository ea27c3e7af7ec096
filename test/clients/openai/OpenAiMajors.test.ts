import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import OpenAi7 from "openai"
import OpenAi4 from "openai-4"
import OpenAi5 from "openai-5"
import OpenAi6 from "openai-6"
import type { ModelPart } from "../../../src/domain/ModelCall.ts"
import { failure, says, ScriptedModel, scriptedUsage, text } from "../../support/ScriptedModel.ts"
import { TestApp } from "../../support/TestApp.ts"

/**
 * The tests use an interface that is the same in all major versions; the types of the newest stand for all.
 */
const majors: ReadonlyArray<readonly [name: string, make: typeof OpenAi7]> = [
  ["openai 4", OpenAi4 as unknown as typeof OpenAi7],
  ["openai 5", OpenAi5 as unknown as typeof OpenAi7],
  ["openai 6", OpenAi6 as unknown as typeof OpenAi7],
  ["openai 7", OpenAi7]
]

const call = (name: string, args: object): ModelPart => ({
  type: "tool_call",
  call: { id: `model_${name}`, name, arguments: JSON.stringify(args) }
})

/** A round that only calls functions. */
const calls = (...parts: ReadonlyArray<ModelPart>) =>
  Stream.fromIterable<ModelPart>([...parts, { type: "finish", reason: "tool_calls", usage: scriptedUsage }])

const weather = {
  type: "function" as const,
  name: "weather",
  description: "The weather of a city.",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false
  },
  strict: true
}

const person = {
  type: "json_schema" as const,
  name: "person",
  schema: {
    type: "object",
    properties: { name: { type: "string" }, age: { type: "integer" } },
    required: ["name", "age"],
    additionalProperties: false
  },
  strict: true
}

for (const [name, OpenAi] of majors) {
  layer(TestApp.layer(), { excludeTestServices: true })(`${name} at /openai/v1`, (it) => {
    const client = Effect.map(
      TestApp,
      ({ alice, url }) => new OpenAi({ apiKey: alice.key, baseURL: `${url}/openai/v1`, maxRetries: 0 })
    )

    it.effect(`${name} creates a response, which is JSON unless a stream is asked for`, () =>
      Effect.gen(function* () {
        const openai = yield* client
        const model = yield* ScriptedModel
        yield* model.next(says("Hello", " world"))
        const response = yield* Effect.promise(() => openai.responses.create({ model: "auto", input: "Hi" }))
        assert.strictEqual(response.output_text, "Hello world")
        assert.match(response.id, /^resp_/)
        assert.match(response.output[0]?.id ?? "", /^msg_/)
        assert.isBelow(response.created_at, 100_000_000_000)
        assert.strictEqual(response.usage?.total_tokens, 18)
      })
    )

    it.effect(`${name} streams a response`, () =>
      Effect.gen(function* () {
        const openai = yield* client
        const model = yield* ScriptedModel
        yield* model.next(says("Hello", " world"))
        const seen = yield* Effect.promise(async () => {
          const stream = await openai.responses.create({ model: "auto", input: "Hi", stream: true })
          const types: Array<string> = []
          let said = ""
          for await (const event of stream) {
            types.push(event.type)
            if (event.type === "response.output_text.delta") said += event.delta
          }
          return { said, types }
        })
        assert.strictEqual(seen.said, "Hello world")
        assert.deepStrictEqual(seen.types, [
          "response.created",
          "response.in_progress",
          "response.output_item.added",
          "response.content_part.added",
          "response.output_text.delta",
          "response.output_text.delta",
          "response.output_text.done",
          "response.content_part.done",
          "response.output_item.done",
          "response.completed"
        ])
      })
    )

    it.effect(`${name} accumulates a stream with its own helper`, () =>
      Effect.gen(function* () {
        const openai = yield* client
        const model = yield* ScriptedModel
        yield* model.next(says("Hello", " world"))
        const final = yield* Effect.promise(() =>
          openai.responses.stream({ model: "auto", input: "Hi" }).finalResponse()
        )
        assert.strictEqual(final.output_text, "Hello world")
        assert.strictEqual(final.status, "completed")
      })
    )

    it.effect(`${name} shows that a stream failed`, () =>
      Effect.gen(function* () {
        const openai = yield* client
        const model = yield* ScriptedModel
        yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("server_error"))))
        const seen = yield* Effect.promise(async () => {
          try {
            const stream = await openai.responses.create({ model: "auto", input: "Hi", stream: true })
            const types: Array<string> = []
            for await (const event of stream) types.push(event.type)
            return types
          } catch (error) {
            return error instanceof Error ? ["thrown"] : ["?"]
          }
        })
        assert.isTrue(["thrown", "response.failed", "error"].includes(seen.at(-1) ?? ""), seen.join())
      })
    )

    it.effect(`${name} calls a function of its own, and goes on with the result`, () =>
      Effect.gen(function* () {
        const openai = yield* client
        const model = yield* ScriptedModel
        yield* model.change({ tools: true, contextWindow: 20_000 })
        yield* model.next(calls(call("weather", { city: "Rome" })), says("It is sunny in Rome."))
        const { first, second } = yield* Effect.promise(async () => {
          const one = await openai.responses.create({ model: "auto", input: "Rome?", tools: [weather] })
          const [item] = one.output
          if (item?.type !== "function_call") throw new Error(`no function_call but ${item?.type}`)
          const two = await openai.responses.create({
            model: "auto",
            previous_response_id: one.id,
            input: [{ type: "function_call_output", call_id: item.call_id, output: "sunny" }],
            tools: [weather]
          })
          return { first: item, second: two }
        })
        assert.strictEqual(first.name, "weather")
        assert.deepStrictEqual(JSON.parse(first.arguments), { city: "Rome" })
        assert.match(first.id ?? "", /^fc_/)
        assert.strictEqual(second.output_text, "It is sunny in Rome.")
        const { messages } = (yield* model.asked).at(-1)!.request
        assert.deepStrictEqual(
          messages.slice(-2).map(({ role, text: said }) => [role, said]),
          [
            ["assistant", ""],
            ["tool", "sunny"]
          ]
        )
      })
    )

    it.effect(`${name} streams the call of a function`, () =>
      Effect.gen(function* () {
        const openai = yield* client
        const model = yield* ScriptedModel
        yield* model.change({ tools: true, contextWindow: 20_000 })
        yield* model.next(calls(call("weather", { city: "Rome" })))
        const final = yield* Effect.promise(() =>
          openai.responses.stream({ model: "auto", input: "Rome?", tools: [weather] }).finalResponse()
        )
        const [item] = final.output
        assert.strictEqual(item?.type, "function_call")
        if (item?.type === "function_call")
          assert.deepStrictEqual(JSON.parse(item.arguments), { city: "Rome" })
      })
    )

    it.effect(`${name} parses structured output`, () =>
      Effect.gen(function* () {
        const openai = yield* client
        const model = yield* ScriptedModel
        yield* model.next(says('{"name":"Ada",', '"age":36}'))
        const parsed = yield* Effect.promise(() =>
          openai.responses.parse({ model: "auto", input: "Who?", text: { format: person } })
        )
        assert.deepStrictEqual(parsed.output_parsed as unknown, { name: "Ada", age: 36 })
      })
    )

    it.effect(`${name} gives a model its encrypted thoughts back, with nothing stored`, () =>
      Effect.gen(function* () {
        const openai = yield* client
        const model = yield* ScriptedModel
        yield* model.change({ tools: true, contextWindow: 20_000 })
        const reasoning = { text: "I look.", opaque: { origin: "o", data: "secret" } }
        yield* model.next(
          calls(
            { type: "reasoning_text", text: "I look." },
            { type: "reasoning", reasoning },
            call("weather", { city: "Rome" })
          ),
          says("Sunny.")
        )
        const said = yield* Effect.promise(async () => {
          const asked = { model: "auto", tools: [weather], store: false }
          const input: Array<OpenAi7.Responses.ResponseInputItem> = [{ role: "user", content: "Rome?" }]
          const include: Array<OpenAi7.Responses.ResponseIncludable> = ["reasoning.encrypted_content"]
          const one = await openai.responses.stream({ ...asked, input, include }).finalResponse()
          input.push(...one.output.map((item) => ({ ...item }) as OpenAi7.Responses.ResponseInputItem))
          for (const item of one.output)
            if (item.type === "function_call")
              input.push({ type: "function_call_output", call_id: item.call_id, output: "sunny" })
          return (await openai.responses.create({ ...asked, input, include })).output_text
        })
        assert.strictEqual(said, "Sunny.")
        const { messages } = (yield* model.asked).at(-1)!.request
        const calling = messages.flatMap((message) =>
          message.role === "assistant" ? message.toolCalls.flatMap((one) => one.reasoning ?? []) : []
        )
        assert.deepStrictEqual(calling, [reasoning])
      })
    )

    it.effect(`${name} shows a refusal in a response and in a chat, and parses none`, () =>
      Effect.gen(function* () {
        const openai = yield* client
        const model = yield* ScriptedModel
        const refuses = Stream.fromIterable<ModelPart>([
          { type: "text", text: "I ", isRefusal: true },
          { type: "text", text: "won't.", isRefusal: true },
          { type: "finish", reason: "stop", usage: scriptedUsage, isRefusal: true }
        ])
        yield* model.next(refuses, refuses, refuses)
        const seen = yield* Effect.promise(async () => {
          const stream = openai.responses.stream({ model: "auto", input: "?", text: { format: person } })
          const streamed = await stream.finalResponse()
          const messages = [{ role: "user" as const, content: "?" }]
          const chat = await openai.chat.completions.create({ model: "auto", messages })
          const chunks = await openai.chat.completions.create({ model: "auto", messages, stream: true })
          let refusal = ""
          for await (const chunk of chunks) refusal += chunk.choices[0]?.delta.refusal ?? ""
          return { streamed, chat: chat.choices[0]?.message, refusal }
        })
        const [item] = seen.streamed.output
        const [part] = item?.type === "message" ? item.content : []
        assert.deepInclude(part as object, { type: "refusal", refusal: "I won't." })
        assert.isNotOk(seen.streamed.output_parsed)
        assert.deepStrictEqual([seen.chat?.content, seen.chat?.refusal], [null, "I won't."])
        assert.strictEqual(seen.refusal, "I won't.")
      })
    )

    it.effect(`${name} gets Chat Completions, whole and streamed, with tools`, () =>
      Effect.gen(function* () {
        const openai = yield* client
        const model = yield* ScriptedModel
        yield* model.change({ tools: true, contextWindow: 20_000 })
        yield* model.next(says("Hello"), says("Hel", "lo"), calls(call("weather", { city: "Rome" })))
        const messages = [{ role: "user" as const, content: "Hi" }]
        const seen = yield* Effect.promise(async () => {
          const whole = await openai.chat.completions.create({ model: "auto", messages })
          const stream = await openai.chat.completions.create({ model: "auto", messages, stream: true })
          let streamed = ""
          for await (const chunk of stream) streamed += chunk.choices[0]?.delta.content ?? ""
          const { name: functionName, description, parameters } = weather
          const called = await openai.chat.completions.create({
            model: "auto",
            messages,
            tools: [{ type: "function", function: { name: functionName, description, parameters } }]
          })
          return { whole, streamed, called }
        })
        assert.strictEqual(seen.whole.choices[0]?.message.content, "Hello")
        assert.strictEqual(seen.whole.usage?.total_tokens, 18)
        assert.strictEqual(seen.streamed, "Hello")
        assert.strictEqual(seen.called.choices[0]?.finish_reason, "tool_calls")
        const [tool] = seen.called.choices[0]?.message.tool_calls ?? []
        assert.strictEqual(tool?.type === "function" ? tool.function.name : null, "weather")
      })
    )

    it.effect(`${name} lists the models, and keeps, reads and deletes a response`, () =>
      Effect.gen(function* () {
        const openai = yield* client
        const model = yield* ScriptedModel
        yield* model.next(says("Hello"))
        const seen = yield* Effect.promise(async () => {
          const ids: Array<string> = []
          for await (const one of openai.models.list()) ids.push(one.id)
          const { id } = await openai.responses.create({ model: "auto", input: "Hi" })
          const again = await openai.responses.retrieve(id)
          const items = await openai.responses.inputItems.list(id)
          // Version 4 has `del` in its place.
          const responses = openai.responses as unknown as Record<string, (id: string) => Promise<unknown>>
          await (responses["delete"] ?? responses["del"])?.call(openai.responses, id)
          const gone = await openai.responses.retrieve(id).then(
            () => 200,
            (error: unknown) => (error as { readonly status: number }).status
          )
          return { ids, again, items: items.data.length, gone }
        })
        assert.include(seen.ids, "auto")
        assert.include(seen.ids, "scripted-1")
        assert.strictEqual(seen.again.output_text ?? "Hello", "Hello")
        assert.deepStrictEqual([seen.items, seen.gone], [1, 404])
      })
    )

    it.effect(`${name} uploads a file, and refers to it`, () =>
      Effect.gen(function* () {
        const openai = yield* client
        const model = yield* ScriptedModel
        yield* model.change({ contextWindow: 20_000 })
        yield* model.next(says("A zebra."))
        const file = new File(["The zebra is striped."], "zebra.txt", { type: "text/plain" })
        const seen = yield* Effect.promise(async () => {
          const { id } = await openai.files.create({ file, purpose: "assistants" })
          const response = await openai.responses.create({
            model: "auto",
            input: [
              {
                role: "user",
                content: [
                  { type: "input_text", text: "What animal?" },
                  { type: "input_file", file_id: id }
                ]
              }
            ]
          })
          return { id, said: response.output_text }
        })
        assert.match(seen.id, /^file-/)
        assert.strictEqual(seen.said, "A zebra.")
      })
    )
  })
}
