import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  bytesOf,
  cosineOf,
  normalized,
  signsOf,
  vectorsOf
} from "../../../src/retrieval/vectors/VectorTable.ts"

describe("A vector", () => {
  it.prop("a vector has length one, or none", [Schema.Array(Schema.Finite)], ([values]) => {
    const vector = normalized(values)
    const isZero = values.every((value) => value === 0)
    assert.closeTo(cosineOf(vector, vector), isZero ? 0 : 1, 1e-4)
    assert.lengthOf(signsOf(vector), values.length)
  })

  it.prop(
    "a vector is read from its bytes as it was",
    [Schema.Array(Schema.Tuple([Schema.Finite, Schema.Finite, Schema.Finite]))],
    ([rows]) => {
      const vectors = rows.map(normalized)
      assert.deepStrictEqual(vectorsOf(bytesOf(vectors), 3), vectors)
    }
  )
})
