import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { countTokens as countWhole } from "gpt-tokenizer/encoding/o200k_base"
import { countTokens } from "../../src/providers/Tokenizer.ts"
import { textSamples } from "../support/TextSamples.ts"

describe("countTokens", () => {
  it.effect("countTokens counts as the tokenizer does", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* countTokens(""), 0)
      assert.strictEqual(yield* countTokens("Hello, world."), 4)
    })
  )

  it.live("countTokens counts a long text in pieces, between which other fibers run", () =>
    Effect.gen(function* () {
      const words = "The quick brown fox jumps over the lazy dog. "
      const pages = words.repeat(1_000)
      yield* countTokens(words)
      let turns = 0
      const other = yield* Effect.forkChild(
        Effect.forever(
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => turns++)
          ),
          { disableYield: true }
        )
      )
      const tokens = yield* countTokens(pages)
      yield* Fiber.interrupt(other)
      assert.strictEqual(tokens, 1_000 * (yield* countTokens(words.trimEnd())) + 1)
      assert.isAtLeast(turns, 5)
    })
  )

  it.live("countTokens counts a text of any kind as if it were counted in one piece", () =>
    Effect.gen(function* () {
      const words = Object.values(textSamples).join("\n\n")
      const tokens = yield* countTokens(words)
      // Runs of characters that nothing divides are counted in pieces.
      assert.approximately(tokens, countWhole(words), 4)
    })
  )

  it.live("countTokens counts a very long text by its beginning", () =>
    Effect.gen(function* () {
      const sample = textSamples["Russian"] ?? ""
      const tokens = yield* countTokens(sample.repeat(1_000))
      assert.approximately(tokens / 1_000, yield* countTokens(sample), 1)
    })
  )

  it.effect("countTokens takes the names of special tokens for text", () =>
    Effect.gen(function* () {
      assert.isAbove(yield* countTokens("a<|endoftext|>b"), 3)
    })
  )

  it.live.each([
    ["letters", "a"],
    ["characters", "日本語"],
    ["blanks", " "],
    ["signs", "-"],
    ["surrogates", "😀"]
  ])("countTokens isn't delayed by a long run of %s", ([, unit]) =>
    Effect.gen(function* () {
      // Without bounds each of these takes up to a quarter of a minute, and the test's own time-out ends it.
      assert.isAbove(yield* countTokens((unit ?? "").repeat(60_000)), 0)
    })
  )
})
