import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import type { ModelFinish, ModelPart, ModelUsage } from "../../../src/domain/ModelCall.ts"
import { countTokens } from "../../../src/providers/Tokenizer.ts"
import { type AnswerBound, makeAnswerBound } from "../../../src/responses/generation/AnswerBound.ts"
import type { GenerationPart } from "../../../src/responses/generation/Round.ts"
import { textSamples } from "../../support/TextSamples.ts"
import { attempt, drain, start } from "../attempts.ts"

const counted = (outputTokens: number): ModelUsage => ({
  inputTokens: 1,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens,
  reasoningTokens: 0,
  source: "provider"
})
const text = (value: string): ModelPart => ({ type: "text", text: value })
const finish = (outputTokens: number): ModelFinish => ({
  type: "finish",
  reason: "stop",
  usage: counted(outputTokens)
})

const piece = (value: string): ModelPart => ({
  type: "call_text",
  position: 0,
  name: "weather",
  text: value,
  reasoning: []
})
const argumentsOf = (parts: ReadonlyArray<ModelPart>): string =>
  parts.map((part) => (part.type === "call_text" ? part.text : "")).join("")

const textOf = (parts: ReadonlyArray<GenerationPart | ModelPart>): string =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("")
const finishOf = (parts: ReadonlyArray<GenerationPart | ModelPart>) =>
  parts.find((part) => part.type === "finish")

/** The parts that are passed on, given parts one after the other, until the answer is cut. */
const admitted = Effect.fnUntraced(function* (tokensMax: number, parts: ReadonlyArray<ModelPart>) {
  const bound = makeAnswerBound(tokensMax)
  const out: Array<ReadonlyArray<ModelPart>> = []
  for (const part of parts) {
    if (bound.isCut()) break
    out.push(bound.passes([part]) ? [part] : yield* bound.admit([part]))
  }
  assert.strictEqual(textOf(out.flat()), bound.text())
  return out
})

/** Parts that don't pass together are admitted like parts that come one by one. */
const admitsAlike = Effect.fnUntraced(function* (
  together: AnswerBound,
  single: AnswerBound,
  parts: ReadonlyArray<ModelPart>
) {
  const all = yield* together.admit(parts)
  const each: Array<ModelPart> = []
  for (const part of parts) {
    if (single.isCut()) break
    each.push(...(single.passes([part]) ? [part] : yield* single.admit([part])))
  }
  assert.deepStrictEqual(all, each)
  assert.strictEqual(together.text(), single.text())
  assert.strictEqual(together.isCut(), single.isCut())
})

const Piece = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(12))
const Pieces = Schema.Array(Piece).check(Schema.isMaxLength(40))
const TokensMax = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60 }))

/** A text as models stream it: a word or a few characters at a time. */
const piecesOf = (sample: string): ReadonlyArray<string> => sample.match(/\s?\S{1,6}|\s+/gu) ?? []

describe("AnswerBound", () => {
  it.effect.each(Object.entries(textSamples))(
    "an answer in %s with as many tokens as allowed is shown whole and at once",
    ([, sample]) =>
      Effect.gen(function* () {
        const texts = piecesOf(sample)
        // In the middle of a word a text may have a token more than with the rest of the word.
        const tokensMax = 2 + (yield* countTokens(sample))
        const out = yield* admitted(tokensMax, [...texts.map(text), finish(tokensMax)])
        assert.deepStrictEqual(
          out,
          [...texts.map(text), finish(tokensMax)].map((part) => [part])
        )
      })
  )

  it.effect.each(Object.entries(textSamples))(
    "an answer in %s that is too long is shown up to its bound",
    ([, sample]) =>
      Effect.gen(function* () {
        const count = yield* countTokens(sample)
        const tokensMax = Math.ceil(count * 0.6)
        const out = yield* admitted(tokensMax, [...piecesOf(sample).map(text), finish(count)])
        const shown = yield* countTokens(textOf(out.flat()))
        assert.isAtMost(shown, tokensMax + 3)
        assert.isAtLeast(shown, tokensMax - 8)
        assert.deepInclude(finishOf(out.flat()), { type: "finish", reason: "length" })
        const whole = (yield* admitted(tokensMax, [text(sample), finish(count)])).flat()
        assert.isAtMost(yield* countTokens(textOf(whole)), tokensMax + 3)
        assert.isAtLeast(yield* countTokens(textOf(whole)), tokensMax - 8)
      })
  )

  it.effect("a part that the bound cuts or holds back has no logprobs, and others keep theirs", () =>
    Effect.gen(function* () {
      const rated = (value: string) => {
        const bytes = [...Buffer.from(value)]
        return {
          type: "text" as const,
          text: value,
          logprobs: [{ token: value, logprob: -1, bytes, top_logprobs: [] }]
        }
      }
      const whole = rated("zebra ")
      const long = rated("word ".repeat(25))
      const [first, beginning, end] = yield* admitted(10, [whole, long, finish(30)])
      assert.deepStrictEqual(first, [whole])
      const shown = textOf(beginning ?? [])
      assert.deepStrictEqual(beginning, [text(shown)])
      assert.isTrue(long.text.startsWith(shown) && shown.length < long.text.length)
      assert.deepStrictEqual(end, [{ ...finish(30), reason: "length" }])
      // The server counted less, so the rest is shown after all.
      const [, , rest] = yield* admitted(10, [whole, long, finish(10)])
      assert.deepStrictEqual(rest, [text(long.text.slice(shown.length)), finish(10)])
    })
  )

  it.effect.prop(
    "an answer within its bound is shown whole, whatever the local tokenizer counts",
    [Pieces],
    ([texts]) =>
      Effect.gen(function* () {
        const tokensMax = Math.max(1, Math.ceil((yield* countTokens(texts.join(""))) / 2))
        const parts = (yield* admitted(tokensMax, [...texts.map(text), finish(tokensMax)])).flat()
        assert.strictEqual(textOf(parts), texts.join(""))
        assert.deepStrictEqual(finishOf(parts), finish(tokensMax))
      })
  )

  it.effect.prop(
    "an answer beyond its bound is cut at the bound",
    [Pieces, TokensMax],
    ([pieces, tokensMax]) =>
      Effect.gen(function* () {
        // The adapters never cut a pair of surrogates in two.
        const texts = pieces.map((piece) => piece.toWellFormed())
        const whole = texts.join("")
        const parts = (yield* admitted(tokensMax, [...texts.map(text), finish(tokensMax + 1)])).flat()
        const shown = textOf(parts)
        assert.isTrue(whole.startsWith(shown))
        assert.isTrue(shown.isWellFormed())
        assert.deepInclude(finishOf(parts), {
          type: "finish",
          reason: shown === whole ? "stop" : "length"
        })
      })
  )

  it.effect.prop(
    "parts that pass together are shown and counted like parts that come one by one",
    [Schema.Array(Pieces.check(Schema.isMinLength(1))).check(Schema.isMaxLength(12)), TokensMax],
    ([batches, tokensMax]) =>
      Effect.gen(function* () {
        const together = makeAnswerBound(tokensMax)
        const single = makeAnswerBound(tokensMax)
        for (const batch of batches) {
          const parts = batch.map((piece) => text(piece.toWellFormed()))
          if (!together.passes(parts)) return yield* admitsAlike(together, single, parts)
          for (const part of parts) {
            const shown = single.passes([part]) ? [part] : yield* single.admit([part])
            assert.deepStrictEqual(shown, [part])
          }
          assert.strictEqual(together.text(), single.text())
        }
        assert.isFalse(together.isCut())
        assert.isFalse(single.isCut())
      })
  )

  it.effect("an endless answer is cut, and little of it is kept", () =>
    Effect.gen(function* () {
      const parts = (yield* admitted(10, Array(100).fill(text("word ")))).flat()
      assert.strictEqual(textOf(parts), "word ".repeat(9))
      assert.deepStrictEqual(finishOf(parts), {
        type: "finish",
        reason: "length",
        usage: { ...counted(10), inputTokens: 0, source: "tokenizer" }
      })
    })
  )

  it.effect("arguments that a model streams without an end are cut like a text", () =>
    Effect.gen(function* () {
      const parts = (yield* admitted(10, Array(100).fill(piece("word ")))).flat()
      const written = argumentsOf(parts)
      assert.isAtLeast(yield* countTokens(written), 10)
      assert.isAtMost(yield* countTokens(written), 2 * 10 + 32 + 2)
      assert.deepStrictEqual(finishOf(parts), {
        type: "finish",
        reason: "length",
        usage: { ...counted(10), inputTokens: 0, source: "tokenizer" }
      })
    })
  )

  it.effect("pieces of a call and the whole call count once", () =>
    Effect.gen(function* () {
      const words = Array.from({ length: 40 }, () => "word ")
      const whole: ModelPart = {
        type: "tool_call",
        call: { id: "a", name: "weather", arguments: words.join("") }
      }
      const parts = [...words.map(piece), whole, ...words.map(piece), whole]
      const tokensMax = yield* countTokens(`${words.join("")}${words.join("")}weather weather`)
      const bound = makeAnswerBound(tokensMax)
      // All of both calls are about as many tokens as the bound; twice as many and a little more are cut.
      for (const part of parts) assert.deepStrictEqual(yield* bound.admit([part]), [part])
      const more = yield* bound.admit(words.map(text))
      assert.isFalse(bound.isCut())
      assert.strictEqual(textOf(more), "")
    })
  )

  it.effect("streamed arguments reserve more tokens, and end when no more can be reserved", () =>
    Effect.gen(function* () {
      let tokens = 20
      const bound = makeAnswerBound(1_000, {
        tokens: () => tokens,
        more: Effect.sync(() => void (tokens = 40))
      })
      const out: Array<ModelPart> = []
      while (!bound.isCut()) {
        out.push(...(yield* bound.admit([piece(" word")])))
        assert.isBelow(out.length, 100)
      }
      assert.strictEqual(tokens, 40)
      assert.isTrue(bound.isOutOfTokens())
      assert.strictEqual(yield* countTokens(argumentsOf(out)), 41)
      assert.deepInclude(finishOf(out)?.usage, { outputTokens: 40 })
    })
  )

  it.effect("a growing answer reserves more tokens, and ends when no more can be reserved", () =>
    Effect.gen(function* () {
      let tokens = 20
      let asked = 0
      const bound = makeAnswerBound(1_000, {
        tokens: () => tokens,
        more: Effect.sync(() => {
          asked++
          if (asked <= 2) tokens += 20
        })
      })
      const out: Array<ModelPart> = []
      while (!bound.isCut()) {
        const part = text(" word")
        out.push(...(bound.passes([part]) ? [part] : yield* bound.admit([part])))
        assert.isBelow(out.length, 100)
      }
      assert.strictEqual(yield* countTokens(textOf(out)), 60)
      assert.strictEqual(asked, 3)
      assert.isTrue(bound.isOutOfTokens())
      assert.deepInclude(finishOf(out)?.usage, { outputTokens: 60 })
    })
  )

  it.effect("the tokenizer counts nothing of an answer that is far below its bound", () =>
    Effect.sync(() => {
      const bound = makeAnswerBound(2_000)
      for (const piece of piecesOf(textSamples["Russian"] ?? "")) assert.isTrue(bound.passes([text(piece)]))
    })
  )

  it.effect("the call of a server that ignores the bound is closed", () =>
    Effect.gen(function* () {
      let closed = false
      const endless = Stream.forever(Stream.make(text("word "))).pipe(
        Stream.onExit(() => Effect.sync(() => void (closed = true)))
      )
      const generation = yield* start([attempt("a", endless)])
      const parts = yield* drain(generation)
      assert.deepInclude(finishOf(parts), { reason: "length" })
      assert.isAtMost(yield* countTokens(textOf(parts)), 100)
      assert.isTrue(closed)
    })
  )
})
