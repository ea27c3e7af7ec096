import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { makeNextUuid, makeOrderedUuids } from "../../src/domain/OrderedUuids.ts"

const version7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

const millisOf = (uuid: string) => Number.parseInt(uuid.replace("-", "").slice(0, 12), 16)

const Millis = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 48 - 1 })))

describe("OrderedUuids", () => {
  it.effect.prop(
    "each is of version 7 and comes after the one before it, however the clock goes",
    [Millis],
    ([times]) =>
      Effect.sync(() => {
        const next = makeOrderedUuids(() => crypto.randomUUID())
        let last = ""
        let latest = 0
        for (const millis of times) {
          latest = Math.max(latest, millis)
          for (let count = 0; count < 3; count++) {
            const uuid = next(millis)
            assert.match(uuid, version7)
            assert.isAbove(Buffer.compare(Buffer.from(uuid), Buffer.from(last)), 0)
            assert.strictEqual(millisOf(uuid), latest)
            last = uuid
          }
        }
      })
  )

  it("goes on in the digits above when the lower part of the counter is used up", () => {
    // Each time begins with all bits of the lower part, and with these of the upper one.
    const startingAt = (high: string) => makeOrderedUuids(() => `3fffffff-0000-4${high}-8fff-0000ffffffff`)
    const half = startingAt("fff")
    assert.strictEqual(half(1), "00000000-0001-77ff-bfff-ffffffffffff")
    assert.strictEqual(half(1), "00000000-0001-7800-8000-0000ffffffff")
    assert.strictEqual(half(1), "00000000-0001-7800-8000-0001ffffffff")
  })

  it("has 74 bits that are random at the first of a millisecond, and 32 in every other one", () => {
    const next = makeOrderedUuids(() => crypto.randomUUID())
    const firsts = Array.from({ length: 2_000 }, (_, millis) => next(millis).slice(15))
    assert.strictEqual(new Set(firsts.map((digits) => digits.slice(0, 8))).size > 1_900, true)
    const ends = Array.from({ length: 2_000 }, () => next(2_000).slice(-8))
    assert.isAbove(new Set(ends).size, 1_990)
  })

  it.effect("takes the time of the clock", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(2 ** 47)
      const next = yield* makeNextUuid
      assert.strictEqual(millisOf(next()), 2 ** 47)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(millisOf(next()), 2 ** 47 + 1_000)
    })
  )
})
