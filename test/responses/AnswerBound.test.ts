import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import type { ModelPart, ModelUsage } from "../../src/domain/ModelCall.ts"
import { estimateTokens } from "../../src/domain/Tokens.ts"
import type { GenerationPart } from "../../src/responses/Events.ts"
import { makeAnswerBound } from "../../src/responses/AnswerBound.ts"
import { attempt, drain, noTools } from "./attempts.ts"
import { generate } from "../../src/responses/Generation.ts"

const counted = (outputTokens: number): ModelUsage => ({
  inputTokens: 1,
  cachedInputTokens: 0,
  outputTokens,
  reasoningTokens: 0,
  source: "provider"
})
const text = (value: string): ModelPart => ({ type: "text", text: value })
const finish = (outputTokens: number): ModelPart => ({
  type: "finish",
  reason: "stop",
  usage: counted(outputTokens)
})

const textOf = (parts: ReadonlyArray<GenerationPart | ModelPart>): string =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("")
const finishOf = (parts: ReadonlyArray<GenerationPart | ModelPart>) =>
  parts.find((part) => part.type === "finish")

/** What comes out when the parts come in one after the other, until the answer is cut. */
const admitted = (tokensMax: number, parts: ReadonlyArray<ModelPart>): ReadonlyArray<ModelPart> => {
  const bound = makeAnswerBound(tokensMax)
  return parts.flatMap((part) => (bound.isCut() ? [] : bound.admit([part])))
}

const Piece = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(12))
const Pieces = Schema.Array(Piece).check(Schema.isMaxLength(40))
const TokensMax = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60 }))

describe("AnswerBound", () => {
  it.prop("an answer within its bound comes out whole, whatever the estimate says", [Pieces], ([texts]) => {
    const tokensMax = Math.max(1, Math.ceil(estimateTokens(texts.join("")) / 2))
    const parts = admitted(tokensMax, [...texts.map(text), finish(tokensMax)])
    assert.strictEqual(textOf(parts), texts.join(""))
    assert.deepStrictEqual(finishOf(parts), finish(tokensMax))
  })

  it.prop(
    "an answer beyond its bound is cut where the bound is",
    [Pieces, TokensMax],
    ([pieces, tokensMax]) => {
      // The adapters never cut a pair of surrogates in two.
      const texts = pieces.map((piece) => piece.toWellFormed())
      const whole = texts.join("")
      const parts = admitted(tokensMax, [...texts.map(text), finish(tokensMax + 1)])
      const shown = textOf(parts)
      assert.isTrue(whole.startsWith(shown))
      assert.isTrue(shown.isWellFormed())
      assert.isAtMost(estimateTokens(shown), tokensMax)
      const isOver = estimateTokens(whole) > tokensMax
      assert.deepInclude(finishOf(parts), { type: "finish", reason: isOver ? "length" : "stop" })
    }
  )

  it("ends an answer that never ends, and keeps little of it", () => {
    const bound = makeAnswerBound(10)
    let rounds = 0
    const parts: Array<ModelPart> = []
    while (!bound.isCut()) {
      parts.push(...bound.admit([text("word ")]))
      rounds++
      assert.isBelow(rounds, 100)
    }
    assert.strictEqual(textOf(parts), "word ".repeat(7))
    assert.deepStrictEqual(finishOf(parts), {
      type: "finish",
      reason: "length",
      usage: { ...counted(10), inputTokens: 0, source: "tokenizer" }
    })
    assert.deepStrictEqual(bound.admit([text("more"), finish(1)]), [])
  })

  it.effect("stops listening to a server that ignores the bound", () =>
    Effect.gen(function* () {
      let closed = false
      const endless = Stream.forever(Stream.make(text("word "))).pipe(
        Stream.onExit(() => Effect.sync(() => void (closed = true)))
      )
      const generation = yield* generate([attempt("a", endless)], 15, noTools)
      const parts = yield* drain(generation)
      assert.deepInclude(finishOf(parts), { reason: "length" })
      assert.isAtMost(estimateTokens(textOf(parts)), 100)
      assert.isTrue(closed)
    })
  )
})
