import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { FileId } from "../../../src/domain/Ids.ts"
import { beginningWithin, estimateTokens } from "../../../src/domain/Tokens.ts"
import { fairShares, renderFile, sharesInOrder } from "../../../src/responses/prompt/AttachedFiles.ts"
import { promptFile } from "../promptFile.ts"

const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5_000 }))

describe("fairShares", () => {
  it.effect.prop(
    "fair shares use the room, exceed no need and favor none",
    [Schema.Array(Tokens), Tokens],
    ([needs, room]) =>
      Effect.sync(() => {
        const shares = fairShares(needs, room)
        const sum = (all: ReadonlyArray<number>) => all.reduce((total, one) => total + one, 0)
        assert.isAtMost(sum(shares), room)
        assert.isAtLeast(sum(shares), Math.min(room, sum(needs)) - needs.length)
        const largest = Math.max(0, ...shares)
        for (const [index, share] of shares.entries()) {
          assert.isAtMost(share, needs[index] ?? 0)
          // Who got less than another one needed no more, but for the rounding.
          if (share < largest - 1) assert.strictEqual(share, needs[index])
        }
      })
  )
})

describe("sharesInOrder", () => {
  it.effect.prop(
    "a group gets what the groups before it leave, and never more than the room",
    [Schema.Array(Schema.Array(Tokens)), Tokens],
    ([groups, room]) =>
      Effect.sync(() => {
        let left = room
        for (const [index, shares] of sharesInOrder(groups, room).entries()) {
          assert.deepStrictEqual(shares, fairShares(groups[index] ?? [], left))
          left = shares.reduce((rest, share) => rest - share, left)
        }
        assert.isAtLeast(left, 0)
      })
  )
})

describe("beginningWithin", () => {
  const Units = Schema.Array(Schema.Union([Schema.Literals([0x61, 0xe9, 0x4e2d]), Schema.Literal(0x1f600)]))
  it.effect.prop(
    "beginningWithin is the longest beginning that fits, and well-formed",
    [Units, Tokens],
    ([points, tokensMax]) =>
      Effect.sync(() => {
        const text = String.fromCodePoint(...points)
        const kept = beginningWithin(text, tokensMax % 50)
        assert.isTrue(text.startsWith(kept))
        assert.isTrue(kept.isWellFormed())
        assert.isAtMost(estimateTokens(kept), tokensMax % 50)
        const next = text.slice(0, kept.length + 2)
        if (next.length > kept.length + 1) assert.isAbove(estimateTokens(next), tokensMax % 50)
      })
  )

  it("a prompt says that a text is only the beginning of its file", () => {
    const id = FileId.make("019845e1-682f-4b02-a706-3b2422d13aec")
    assert.include(renderFile(id, promptFile("a.txt", "abc", true), 1_000), "only its first 3 characters")
    assert.notInclude(renderFile(id, promptFile("a.txt", "abc"), 1_000), "goes on")
  })
})
