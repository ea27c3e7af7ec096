import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  frequencyMax,
  lengthMax,
  pack,
  unpack,
  postingRowsMax,
  rowsOf,
  textOf
} from "../../../src/retrieval/index/Postings.ts"

const below = (maximum: number, minimum = 0) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

describe("Posting", () => {
  it.prop(
    "a posting is unpacked as it was",
    [below(2 ** 31 - 1), below(frequencyMax, 1), below(lengthMax, 1)],
    ([position, frequency, length]) => {
      const packed = pack({ position, frequency, length })
      assert.isAtLeast(packed, 0)
      assert.isBelow(packed, 2 ** 31)
      assert.deepStrictEqual(unpack(position, packed), { position, frequency, length })
    }
  )

  it("a posting keeps the largest that fits", () => {
    const packed = pack({ position: 7, frequency: 1_000, length: 5_000 })
    assert.deepStrictEqual(unpack(0, packed), { position: 7, frequency: frequencyMax, length: lengthMax })
  })

  it.prop(
    "the rows of a file have each chunk's terms once",
    [below(2 ** 20), below(700), below(40, 1)],
    ([base, count, terms]) => {
      const chunks = Array.from({ length: count }, (_, at) => ({
        frequencies: new Map([
          ["everywhere", 1],
          [`term ${at % terms}`, 2]
        ]),
        length: 3
      }))
      const found: Array<string> = []
      for (const rows of rowsOf(base, chunks)) {
        const { firsts, lasts, postings } = textOf(rows)
        const all = postings.slice(1, -1).split(",").map(Number)
        for (const [at, row] of rows.entries()) {
          const own = all.slice(firsts[at]! - 1, lasts[at])
          assert.isAtMost(own.length, postingRowsMax)
          assert.strictEqual(unpack(row.base, own[0]!).position, row.base)
          for (const packed of own) found.push(`${row.term} ${unpack(row.base, packed).position - base}`)
        }
      }
      const said = chunks.flatMap(({ frequencies }, at) =>
        [...frequencies.keys()].map((term) => `${term} ${at}`)
      )
      assert.deepStrictEqual(found.toSorted(), said.toSorted())
    }
  )
})
