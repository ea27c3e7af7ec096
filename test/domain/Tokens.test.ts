import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { beginningWithin, estimateTokens, noText, tally, tokensOf } from "../../src/domain/Tokens.ts"
import { countTokens } from "../../src/providers/Tokenizer.ts"
import { textSamples } from "../support/TextSamples.ts"

/** An estimate is never below the count of the o200k vocabulary, and never above so many times that. */
const factorMax = 2

/** A few words say little of their kind. */
const pieceCharactersMin = 150

const samples = Object.entries(textSamples)

const assertBound = Effect.fnUntraced(function* (text: string) {
  const count = yield* countTokens(text)
  const estimate = estimateTokens(text)
  assert.isAtLeast(estimate, count, text)
  assert.isAtMost(estimate, factorMax * count, text)
})

/** A piece of a sample, by where it begins and how long it is, both as a share. */
const Piece = Schema.Struct({
  kind: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: samples.length - 1 })),
  from: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
  length: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
})

const pieceOf = ({ from, kind, length }: typeof Piece.Type): string => {
  const sample = samples[kind]?.[1] ?? ""
  const begin = Math.floor(from * Math.max(0, sample.length - pieceCharactersMin))
  const rest = sample.length - begin - pieceCharactersMin
  return sample
    .slice(begin, begin + pieceCharactersMin + Math.floor(length * Math.max(0, rest)))
    .toWellFormed()
}

describe("estimateTokens", () => {
  it.effect.each(samples)("estimateTokens returns one to two times the tokens of %s", ([, text]) =>
    assertBound(text)
  )

  it.effect.prop(
    "estimateTokens stays within its bounds where texts of several kinds are put together",
    [Schema.Array(Piece).check(Schema.isMinLength(3), Schema.isMaxLength(8))],
    ([pieces]) => assertBound(pieces.map(pieceOf).join("\n"))
  )

  it.prop("estimateTokens is the same for a text in pieces", [Schema.Array(Schema.String)], ([pieces]) => {
    const whole = pieces.reduce((before, piece) => tally(piece, before), noText)
    assert.strictEqual(tokensOf(whole), estimateTokens(pieces.join("")))
  })
})

describe("beginningWithin", () => {
  it.prop(
    "beginningWithin returns the longest well-formed beginning within the bound",
    [Piece, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 400 }))],
    ([piece, tokensMax]) => {
      const text = pieceOf(piece)
      const beginning = beginningWithin(text, tokensMax)
      assert.isTrue(text.startsWith(beginning))
      assert.isTrue(beginning.isWellFormed())
      assert.isAtMost(estimateTokens(beginning), tokensMax)
      if (beginning !== text) {
        assert.isAbove(estimateTokens(text.slice(0, beginning.length + 2)), tokensMax)
      }
    }
  )
})
