import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { newestWithin } from "../../src/console/AppFiles.ts"

const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))
const Files = Schema.Array(Schema.Struct({ bytes: small, modifiedMillis: small }))

describe("The files kept in memory", () => {
  it.prop(
    "the files kept in memory are within the limits, none older than one left out, and as many as fit",
    [Files, small, small],
    ([files, filesMax, bytesMax]) => {
      const kept = newestWithin(files, { filesMax, bytesMax })
      const bytes = kept.reduce((sum, file) => sum + file.bytes, 0)
      assert.isAtMost(kept.length, filesMax)
      assert.isAtMost(bytes, bytesMax)
      const leftOut = files.filter((file) => !kept.includes(file))
      assert.strictEqual(kept.length + leftOut.length, files.length)
      const newest = Math.max(...leftOut.map(({ modifiedMillis }) => modifiedMillis))
      for (const { modifiedMillis } of kept) assert.isAtLeast(modifiedMillis, newest)
      const next = leftOut.find(({ modifiedMillis }) => modifiedMillis === newest)
      if (next !== undefined && kept.length < filesMax) assert.isAbove(bytes + next.bytes, bytesMax)
    }
  )
})
