import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { fuse } from "../../../src/retrieval/vectors/Semantic.ts"

const Positions = Schema.UniqueArray(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 })))
const Cosines = Schema.Array(
  Schema.Tuple([Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 60 })), Schema.Finite])
)

const positionsOf = (fused: ReturnType<typeof fuse>) => fused.map(({ position }) => position)

describe("The fusion of two orders", () => {
  it.prop("holds each chunk of both once, best first", [Positions, Cosines], ([lexical, pairs]) => {
    const cosines = new Map(pairs)
    const fused = fuse(lexical, cosines)
    assert.sameMembers(positionsOf(fused), [...new Set([...lexical, ...cosines.keys()])])
    assert.lengthOf(fused, new Set([...lexical, ...cosines.keys()]).size)
    for (const [at, { score }] of fused.entries()) {
      assert.isTrue(score > 0 && score <= 1)
      assert.isAtMost(score, fused[at - 1]?.score ?? 1)
    }
  })

  it.prop("puts first what is first in both", [Positions, Cosines], ([lexical, pairs]) => {
    const [first] = lexical
    if (first === undefined) return
    const cosines = new Map(pairs)
    cosines.set(first, Math.max(0, ...cosines.values()) + 1)
    assert.deepStrictEqual(fuse(lexical, cosines)[0], { position: first, score: 1 })
  })

  it.prop("keeps the order of two chunks that both agree on", [Positions, Cosines], ([lexical, pairs]) => {
    const cosines = new Map(pairs)
    const places = new Map(positionsOf(fuse(lexical, cosines)).map((position, at) => [position, at]))
    for (const [at, one] of lexical.entries()) {
      for (const other of lexical.slice(at + 1)) {
        const [own, others] = [cosines.get(one), cosines.get(other)]
        const agrees = own === undefined ? others === undefined : others !== undefined && own >= others
        if (agrees) assert.isBelow(places.get(one) ?? NaN, places.get(other) ?? NaN)
      }
    }
  })

  it.prop(
    "never puts a chunk lower because its meaning is nearer",
    [Positions, Cosines],
    ([lexical, pairs]) => {
      const cosines = new Map(pairs)
      const before = positionsOf(fuse(lexical, cosines))
      for (const [position, cosine] of cosines) {
        const nearer = new Map(cosines).set(position, cosine + Math.abs(cosine) + 1)
        assert.isAtMost(positionsOf(fuse(lexical, nearer)).indexOf(position), before.indexOf(position))
      }
    }
  )

  it.prop("is the order of words where nothing is embedded", [Positions], ([lexical]) => {
    assert.deepStrictEqual(positionsOf(fuse(lexical, new Map())), lexical)
  })

  it("lets meaning decide among what words put close together", () => {
    const cosines = new Map([
      [1, 0.1],
      [2, 0.2],
      [3, 0.9]
    ])
    assert.deepStrictEqual(positionsOf(fuse([1, 2, 3], cosines)), [1, 3, 2])
    assert.deepStrictEqual(
      positionsOf(
        fuse(
          [1],
          new Map([
            [1, 0.4],
            [9, 0.8]
          ])
        )
      ),
      [1, 9]
    )
  })
})
