import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import { protocols, type ProtocolName } from "../../src/providers/ModelServer.ts"
import { decodeOpenAiUsage } from "../../src/providers/TokenCounts.ts"

type Counts = readonly [input: number, cached: number, output: number, reasoning: number, written?: number]

const chat = (
  prompt: number,
  completion: number,
  total: number,
  more: Readonly<Record<string, unknown>> = {}
) => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: total,
  ...more
})

/** The usage that providers send at the end of an answer, and the tokens that are accounted for. */
const usages: ReadonlyArray<readonly [provider: string, usage: unknown, counts: Counts]> = [
  [
    "OpenAI",
    chat(1000, 80, 1080, {
      prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 200 },
      completion_tokens_details: { reasoning_tokens: 50 }
    }),
    [1000, 600, 80, 50, 200]
  ],
  ["Gemini, thinking in the total only", chat(20, 424, 1016), [20, 0, 996, 572]],
  [
    "xAI, thinking beside the output",
    chat(32, 9, 135, {
      prompt_tokens_details: { cached_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 94 }
    }),
    [32, 5, 103, 94]
  ],
  [
    "xAI, thinking beside a longer output",
    chat(32, 500, 632, { completion_tokens_details: { reasoning_tokens: 100 } }),
    [32, 0, 600, 100]
  ],
  [
    "xAI, without a total",
    { prompt_tokens: 32, completion_tokens: 9, completion_tokens_details: { reasoning_tokens: 94 } },
    [32, 0, 103, 94]
  ],
  ["SGLang", chat(10, 30, 40, { prompt_tokens_details: null, reasoning_tokens: 20 }), [10, 0, 30, 20]],
  ["another spelling", chat(10, 30, 40, { output_tokens_details: { thinking_tokens: 20 } }), [10, 0, 30, 20]],
  [
    "DeepSeek",
    chat(100, 30, 130, { prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 }),
    [100, 64, 30, 0]
  ],
  ["Kimi", chat(100, 30, 130, { cached_tokens: 64 }), [100, 64, 30, 0]],
  ["Mistral", chat(100, 30, 130, { num_cached_tokens: 64 }), [100, 64, 30, 0]],
  [
    "Mistral, in an object",
    chat(100, 30, 130, { prompt_token_details: { cached_tokens: 64 } }),
    [100, 64, 30, 0]
  ],
  [
    "Qwen",
    chat(100, 30, 130, { prompt_tokens_details: { cached_tokens: 10, cache_creation_input_tokens: 50 } }),
    [100, 10, 30, 0, 50]
  ],
  [
    "LiteLLM, with Claude's counts",
    chat(100, 30, 130, { cache_read_input_tokens: 64, cache_creation_input_tokens: 20 }),
    [100, 64, 30, 0, 20]
  ],
  [
    "a gateway that counts the cache apart",
    chat(16, 30, 130, { cache_read_input_tokens: 64, cache_creation_input_tokens: 20 }),
    [100, 64, 30, 0, 20]
  ],
  [
    "a gateway that counts the cache apart, without a total",
    {
      prompt_tokens: 16,
      completion_tokens: 30,
      cache_read_input_tokens: 64,
      cache_creation_input_tokens: 20
    },
    [100, 64, 30, 0, 20]
  ],
  ["Ollama", chat(10, 30, 40), [10, 0, 30, 0]],
  ["a total below its parts", chat(10, 30, 0), [10, 0, 30, 0]],
  [
    "details above their counts, of which those of the cache are apart",
    chat(10, 30, 40, { cached_tokens: 50, completion_tokens_details: { reasoning_tokens: 90 } }),
    [60, 50, 30, 30]
  ],
  [
    "read and written tokens above the input, which are apart",
    chat(10, 30, 40, { prompt_tokens_details: { cached_tokens: 6, cache_write_tokens: 9 } }),
    [25, 6, 30, 0, 9]
  ],
  ["counts below 0", chat(10, 30, 40, { cached_tokens: -5, reasoning_tokens: -1 }), [10, 0, 30, 0]]
]

const usageOf = ([inputTokens, cachedInputTokens, outputTokens, reasoningTokens, written = 0]: Counts) => ({
  inputTokens,
  cachedInputTokens,
  cacheWriteInputTokens: written,
  outputTokens,
  reasoningTokens,
  source: "provider"
})

const text = { choices: [{ index: 0, delta: { content: "So" }, finish_reason: null }] }
const ending = (choice: Readonly<Record<string, unknown>>, more: Readonly<Record<string, unknown>> = {}) => ({
  choices: [{ index: 0, delta: {}, finish_reason: "stop", ...choice }],
  ...more
})

/** The places of the usage in providers' streams. */
const places: ReadonlyArray<readonly [string, ReadonlyArray<unknown>, Counts]> = [
  ["a chunk without choices", [text, ending({}), { choices: [], usage: chat(10, 30, 40) }], [10, 0, 30, 0]],
  ["the last chunk", [text, ending({}, { usage: chat(10, 30, 40) })], [10, 0, 30, 0]],
  [
    "a field of Groq's own",
    [text, ending({}, { x_groq: { id: "req_1", usage: chat(10, 30, 40) } })],
    [10, 0, 30, 0]
  ],
  ["the last choice", [text, ending({ usage: chat(10, 30, 40, { cached_tokens: 4 }) })], [10, 4, 30, 0]]
]

const finishOf = (events: ReadonlyArray<unknown>, protocol: ProtocolName = "openai-chat") => {
  const reader = new AnswerReader(protocols[protocol].makeDecode(), "a server")
  reader.write(Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")))
  reader.end()
  return reader.take().at(-1)
}

const count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 }))

describe("the usage of a provider", () => {
  it.each(usages)("the usage by %s is counted in full", (_provider, usage, counts) => {
    assert.deepStrictEqual<unknown>(decodeOpenAiUsage(usage, "prompt", "completion"), usageOf(counts))
  })

  it("the usage by OpenAI Responses is counted in full", () => {
    const usage = {
      input_tokens: 1000,
      input_tokens_details: { cached_tokens: 600, cache_write_tokens: 200 },
      output_tokens: 80,
      output_tokens_details: { reasoning_tokens: 50 },
      total_tokens: 1080
    }
    assert.deepStrictEqual<unknown>(
      decodeOpenAiUsage(usage, "input", "output"),
      usageOf([1000, 600, 80, 50, 200])
    )
  })

  it("the usage by Anthropic is counted in full", () => {
    const usage = { input_tokens: 100, cache_read_input_tokens: 600, cache_creation_input_tokens: 200 }
    const events = [
      { type: "message_start", message: { usage: { ...usage, output_tokens: 1 } } },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn" },
        usage: { output_tokens: 80, output_tokens_details: { thinking_tokens: 50 } }
      },
      { type: "message_stop" }
    ]
    const finish = finishOf(events, "anthropic")
    assert.deepStrictEqual<unknown>(
      finish?.type === "finish" ? finish.usage : null,
      usageOf([900, 600, 80, 50, 200])
    )
  })

  it.each(places)("the usage is taken from %s", (_place, events, counts) => {
    const finish = finishOf(events)
    assert.deepStrictEqual<unknown>(finish?.type === "finish" ? finish.usage : null, usageOf(counts))
  })

  it.prop(
    "the usage is never below its parts, and as much as its total, to which more tokens of a cache than input are added",
    { prompt: count, completion: count, more: count, cached: count, written: count, reasoning: count },
    ({ cached, completion, more, prompt, reasoning, written }) => {
      const total = prompt + completion + more
      const usage = decodeOpenAiUsage(
        chat(prompt, completion, total, {
          cached_tokens: cached,
          cache_write_tokens: written,
          completion_tokens_details: { reasoning_tokens: reasoning }
        }),
        "prompt",
        "completion"
      )
      assert.isNotNull(usage)
      assert.isAtLeast(usage.inputTokens, prompt)
      assert.isAtLeast(usage.outputTokens, completion)
      const sum = usage.inputTokens + usage.outputTokens
      if (cached + written <= prompt) assert.strictEqual(sum, total)
      else assert.include([total, total + cached + written], sum)
      assert.isAtMost(usage.cachedInputTokens + usage.cacheWriteInputTokens, usage.inputTokens)
      assert.isAtMost(usage.reasoningTokens, usage.outputTokens)
    }
  )
})
