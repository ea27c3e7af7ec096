import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { decodeOpenAiUsage } from "../../src/providers/TokenCounts.ts"
import { setUpModel } from "./SdkSetup.ts"
import { request } from "./ServerSetup.ts"

interface Counted {
  readonly input: number
  readonly cached?: number
  readonly written?: number
  readonly output: number
  readonly reasoning?: number
}

const usageOf = ({ cached = 0, input, output, reasoning = 0, written = 0 }: Counted) => ({
  inputTokens: input,
  cachedInputTokens: cached,
  cacheWriteInputTokens: written,
  outputTokens: output,
  reasoningTokens: reasoning,
  source: "provider" as const
})

describe("the usage of an answer of a package of the AI SDK", () => {
  it.effect.each<readonly [string, object, object | undefined, Counted]>([
    [
      "thoughts that only the total has",
      { inputTokens: 20, outputTokens: 400, totalTokens: 1000 },
      undefined,
      { input: 20, output: 980, reasoning: 580 }
    ],
    [
      "more thoughts than output",
      { inputTokens: { total: 5 }, outputTokens: { total: 3, reasoning: 9 } },
      undefined,
      { input: 5, output: 12, reasoning: 9 }
    ],
    [
      "the sum of its parts where it has no total",
      { inputTokens: { noCache: 8, cacheRead: 3, cacheWrite: 2 }, outputTokens: { text: 5, reasoning: 2 } },
      undefined,
      { input: 13, cached: 3, written: 2, output: 7, reasoning: 2 }
    ],
    [
      "what Anthropic's package of v2 says was written to the cache",
      { inputTokens: 5, outputTokens: 20, totalTokens: 25, cachedInputTokens: 10_000 },
      { anthropic: { cacheCreationInputTokens: 2_000 } },
      { input: 12_005, cached: 10_000, written: 2_000, output: 20 }
    ],
    [
      "what Bedrock's package of v2 says was written to the cache",
      { inputTokens: 12, outputTokens: 20, totalTokens: 32 },
      { bedrock: { usage: { cacheWriteInputTokens: 7 } } },
      { input: 12, written: 7, output: 20 }
    ]
  ])("the usage of an SDK package has %s", ([, usage, providerMetadata, counted]) =>
    Effect.gen(function* () {
      const { call } = yield* setUpModel(() => [
        { type: "text-delta", id: "0", delta: "Hi" },
        { type: "finish", finishReason: "stop", usage, providerMetadata }
      ])
      const last = (yield* Stream.runCollect(call(request("hi")))).at(-1)
      assert.deepStrictEqual(last, { type: "finish", reason: "stop", usage: usageOf(counted) })
    })
  )
})

describe("a usage with more tokens of a cache than input", () => {
  const cache = { cache_read_input_tokens: 10_000, cache_creation_input_tokens: 2_000 }
  const counted = { input: 12_005, cached: 10_000, written: 2_000 }

  it.each<readonly [string, object, Counted]>([
    ["no total", {}, { ...counted, output: 20 }],
    ["a total that leaves them out", { total_tokens: 25 }, { ...counted, output: 20 }],
    ["a total that has them", { total_tokens: 12_025 }, { ...counted, output: 20 }],
    [
      "a total that leaves them out and has the thoughts",
      { total_tokens: 35, completion_tokens_details: { reasoning_tokens: 10 } },
      { ...counted, output: 30, reasoning: 10 }
    ]
  ])("usage with more cached tokens than input counts them apart, with %s", (_, more, expected) => {
    const usage = { prompt_tokens: 5, completion_tokens: 20, ...cache, ...more }
    assert.deepStrictEqual(decodeOpenAiUsage(usage, "prompt", "completion"), usageOf(expected))
  })
})
