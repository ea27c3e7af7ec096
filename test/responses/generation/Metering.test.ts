import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import type { ModelPart, ModelUsage } from "../../../src/domain/ModelCall.ts"
import { countPromptTokens, countTokens } from "../../../src/providers/Tokenizer.ts"
import { beginCall, costOf, finishCall, newMeter } from "../../../src/responses/generation/Accounting.ts"
import { failure, ScriptedModel, scriptedUsage, text } from "../../support/ScriptedModel.ts"
import { TestApp } from "../../support/TestApp.ts"
import { textSamples } from "../../support/TextSamples.ts"
import { until } from "../../support/until.ts"
import { call, eventsOf, openCall } from "../../support/Wire.ts"
import { attempt } from "../attempts.ts"

const { model } = attempt("a", Stream.empty)
const prompt = {
  messages: [{ role: "user" as const, text: "How many tokens are there in this?" }],
  tools: []
}
const said = "Seven or so, I should think."

const usage: ModelUsage = { ...scriptedUsage, cachedInputTokens: 3, cacheWriteInputTokens: 2 }

describe("costOf", () => {
  it.effect("the cost of finished calls is what their provider counted", () =>
    Effect.gen(function* () {
      const meter = newMeter(model)
      beginCall(meter, model, prompt)
      finishCall(meter, usage)
      assert.deepStrictEqual(yield* costOf(meter), usage)
    })
  )

  it.effect("the cost of two rounds is the sum of every count", () =>
    Effect.gen(function* () {
      const meter = newMeter(model)
      for (const round of [usage, { ...usage, cacheWriteInputTokens: 1, reasoningTokens: 4 }]) {
        beginCall(meter, model, prompt)
        finishCall(meter, round)
      }
      assert.deepStrictEqual(yield* costOf(meter), {
        inputTokens: 22,
        cachedInputTokens: 6,
        cacheWriteInputTokens: 3,
        outputTokens: 14,
        reasoningTokens: 4,
        source: "provider"
      })
    })
  )

  it.effect("the tokenizer counts an unfinished call, and the record says so", () =>
    Effect.gen(function* () {
      const meter = newMeter(model)
      beginCall(meter, model, prompt)
      const inputTokens = yield* countPromptTokens(prompt)
      const none = { cachedInputTokens: 0, reasoningTokens: 0, source: "tokenizer" as const }
      assert.deepInclude(yield* costOf(meter), { ...none, inputTokens, outputTokens: 0 })
      meter.text = () => said
      const spent = { ...none, inputTokens, outputTokens: yield* countTokens(said) }
      assert.deepInclude(yield* costOf(meter), spent)
      meter.outcome = "failed"
      assert.deepInclude(yield* costOf(meter), spent)
    })
  )

  it.effect(
    "nothing is counted before the first call, after one that failed without text, and while tools run",
    () =>
      Effect.gen(function* () {
        const meter = newMeter(model)
        const nothing = { inputTokens: 0, outputTokens: 0, source: "provider" as const }
        assert.deepInclude(yield* costOf(meter), nothing)
        beginCall(meter, model, prompt)
        assert.deepInclude(yield* costOf({ ...meter, outcome: "failed" }), nothing)
        meter.text = () => said
        finishCall(meter, usage)
        assert.deepStrictEqual(yield* costOf(meter), usage)
      })
  )
})

const Records = Schema.Array(
  Schema.Struct({
    model: Schema.String,
    inputTokens: Schema.Int,
    outputTokens: Schema.Int,
    source: Schema.String,
    outcome: Schema.String
  })
)

const records = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT model, input_tokens, output_tokens, source, outcome
    FROM usage_records ORDER BY created_at, response_id`
  return yield* Schema.decodeUnknownEffect(Records)(rows)
})

const hanging = (...parts: ReadonlyArray<ModelPart>) =>
  Stream.concat(Stream.fromIterable(parts), Stream.never)

layer(TestApp.layer(), { excludeTestServices: true })("a client that goes away", (it) => {
  const body = { input: "Well?", stream: true }

  /** Leaves as soon as the answer says this. */
  const leaveAt = Effect.fnUntraced(function* (word: string) {
    const { alice, url } = yield* TestApp
    const before = (yield* records).length
    const response = yield* openCall(`${url}/v1/responses`, { key: alice.key, body })
    const reader = response.body!.getReader()
    yield* Effect.promise(async () => {
      const decoder = new TextDecoder()
      let seen = ""
      while (!seen.includes(word)) seen += decoder.decode((await reader.read()).value, { stream: true })
      await reader.cancel()
    })
    yield* until(Effect.map(records, (all) => all.length > before))
    return (yield* records).at(-1)!
  })

  it.effect("a client that disconnects has spent what the model was sent and what it wrote", () =>
    Effect.gen(function* () {
      const scripted = yield* ScriptedModel
      yield* scripted.next(hanging(text(said)))
      const record = yield* leaveAt(said)
      const { request } = (yield* scripted.asked).at(-1)!
      assert.deepStrictEqual(record, {
        model: "scripted-1",
        inputTokens: yield* countPromptTokens(request),
        outputTokens: yield* countTokens(said),
        source: "tokenizer",
        outcome: "abandoned"
      })
    })
  )

  it.effect(
    "a client that disconnects has spent the prompt of the running call, and not of the failed one before it",
    () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const scripted = yield* ScriptedModel
        const asked = (yield* scripted.asked).length
        const before = (yield* records).length
        yield* scripted.next(Stream.fail(failure("refused")), hanging())
        const client = yield* Effect.forkChild(call(`${url}/v1/responses`, { key: alice.key, body }))
        yield* until(Effect.map(scripted.asked, (all) => all.length === asked + 2))
        yield* Fiber.interrupt(client)
        yield* until(Effect.map(records, (all) => all.length > before))
        const { request } = (yield* scripted.asked).at(-1)!
        assert.deepInclude((yield* records).at(-1), {
          model: "scripted-2",
          inputTokens: yield* countPromptTokens(request),
          outputTokens: 0,
          source: "tokenizer"
        })
      })
  )

  it.effect(
    "a client that disconnects has spent the finished rounds, and the last prompt with all tool results",
    () =>
      Effect.gen(function* () {
        const scripted = yield* ScriptedModel
        yield* scripted.change({ tools: true })
        yield* scripted.next(
          Stream.make<[ModelPart, ModelPart, ModelPart]>(
            text("Let me see. "),
            { type: "tool_call", call: { id: "a", name: "calculator", arguments: '{"expression":"2+2"}' } },
            { type: "finish", reason: "tool_calls", usage: scriptedUsage }
          ),
          hanging(text(said))
        )
        const record = yield* leaveAt(said)
        yield* scripted.change({ tools: false })
        const { request } = (yield* scripted.asked).at(-1)!
        assert.strictEqual(request.messages.at(-1)?.role, "tool")
        assert.deepInclude(record, {
          inputTokens: scriptedUsage.inputTokens + (yield* countPromptTokens(request)),
          outputTokens: scriptedUsage.outputTokens + (yield* countTokens(said)),
          source: "tokenizer"
        })
      })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("an answer in Russian", (it) => {
  it.effect(
    "an answer in Russian arrives whole within max_output_tokens, and costs what its server counts",
    () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const scripted = yield* ScriptedModel
        const before = (yield* records).length
        const answer = (textSamples["Russian"] ?? "").repeat(3)
        const outputTokens = yield* countTokens(answer)
        const pieces = answer.match(/ ?.{1,5}/gu) ?? []
        yield* scripted.next(
          Stream.fromIterable<ModelPart>([
            ...pieces.map(text),
            { type: "finish", reason: "stop", usage: { ...scriptedUsage, outputTokens } }
          ])
        )
        const body = { input: "Well?", stream: true, max_output_tokens: outputTokens + 5 }
        const events = eventsOf((yield* call(`${url}/v1/responses`, { key: alice.key, body })).text)
        const deltas = events.flatMap((event) =>
          event.type === "response.output_text.delta" ? [event.delta] : []
        )
        assert.deepStrictEqual(deltas, pieces)
        yield* until(Effect.map(records, (all) => all.length > before))
        assert.deepInclude((yield* records).at(-1), {
          outputTokens,
          source: "provider",
          outcome: "completed"
        })
      })
  )
})
