import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { fuse } from "../../../src/retrieval/vectors/Semantic.ts"

const Position = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 }))
const Score = Schema.Finite.check(Schema.isBetween({ minimum: 1e-6, maximum: 1e6 }))
const Scores = Schema.Array(Schema.Tuple([Position, Score]))
const Cosines = Schema.Array(
  Schema.Tuple([Position, Schema.Finite.check(Schema.isBetween({ minimum: -1, maximum: 1 }))])
)
const Weight = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 10 }))

/** The results of a search by words: each chunk once, best first. */
const rankedOf = (scores: typeof Scores.Type) =>
  [...new Map(scores)]
    .map(([position, score]) => ({ position, score }))
    .toSorted((one, other) => other.score - one.score)

const positionsOf = (ranked: ReadonlyArray<{ readonly position: number }>) =>
  ranked.map(({ position }) => position)
const tolerance = 1e-9

describe("The fusion of two searches", () => {
  it.prop(
    "the fusion holds each chunk of both searches once, best first, from 0 to 1",
    [Scores, Cosines, Weight],
    ([scores, pairs, weight]) => {
      const [lexical, cosines] = [rankedOf(scores), new Map(pairs)]
      const { fused } = fuse(lexical, cosines, weight)
      const all = new Set([...positionsOf(lexical), ...cosines.keys()])
      assert.sameMembers(positionsOf(fused), [...all])
      assert.lengthOf(fused, all.size)
      for (const [at, { score }] of fused.entries()) {
        assert.isTrue(score >= 0 && score <= 1 + tolerance)
        assert.isAtMost(score, fused[at - 1]?.score ?? 1 + tolerance)
      }
    }
  )

  it.prop(
    "the fusion puts first what is first in both, with the score 1",
    [Scores, Cosines, Weight],
    ([scores, pairs, weight]) => {
      const lexical = rankedOf(scores)
      const [first] = lexical
      if (first === undefined) return
      const cosines = new Map(pairs)
      cosines.set(first.position, Math.max(0, ...cosines.values()) + 1)
      const [best] = fuse(lexical, cosines, weight).fused
      assert.strictEqual(best?.position, first.position)
      assert.closeTo(best?.score ?? 0, 1, tolerance)
    }
  )

  it.prop(
    "the fusion never puts a chunk lower because its meaning is nearest",
    [Scores, Cosines, Weight],
    ([scores, pairs, weight]) => {
      const [lexical, cosines] = [rankedOf(scores), new Map(pairs)]
      const before = positionsOf(fuse(lexical, cosines, weight).fused)
      for (const position of cosines.keys()) {
        const nearer = new Map(cosines).set(position, Math.max(0, ...cosines.values()) + 1)
        const after = positionsOf(fuse(lexical, nearer, weight).fused)
        assert.isAtMost(after.indexOf(position), before.indexOf(position))
      }
    }
  )

  it.prop(
    "the fusion keeps the order of two chunks whose scores by words differ by more than the weight",
    [Scores, Cosines, Weight],
    ([scores, pairs, weight]) => {
      const lexical = rankedOf(scores)
      const best = lexical[0]?.score ?? 1
      const places = new Map(
        positionsOf(fuse(lexical, new Map(pairs), weight).fused).map((position, at) => [position, at])
      )
      for (const [at, one] of lexical.entries()) {
        for (const other of lexical.slice(at + 1)) {
          if ((one.score - other.score) / best <= weight + tolerance) continue
          assert.isBelow(places.get(one.position) ?? NaN, places.get(other.position) ?? NaN)
        }
      }
    }
  )

  it.prop(
    "the fusion is the order of words where nothing is embedded, or meaning has no weight",
    [Scores, Cosines],
    ([scores, pairs]) => {
      const lexical = rankedOf(scores)
      assert.deepStrictEqual(positionsOf(fuse(lexical, new Map(), 0.5).fused), positionsOf(lexical))
      const weightless = positionsOf(fuse(lexical, new Map(pairs), 0).fused)
      assert.deepStrictEqual(weightless.slice(0, lexical.length), positionsOf(lexical))
    }
  )

  it("the fusion lets meaning decide among what words put close together", () => {
    const lexical = [
      { position: 1, score: 10 },
      { position: 2, score: 9 },
      { position: 3, score: 2 }
    ]
    const cosines = new Map([
      [1, 0.1],
      [2, 0.8],
      [3, 0.9],
      [9, 0.9]
    ])
    assert.deepStrictEqual(positionsOf(fuse(lexical, cosines, 0.5).fused), [2, 1, 3, 9])
  })
})
