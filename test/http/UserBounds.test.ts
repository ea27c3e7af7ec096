import { assert, describe, it } from "@effect/vitest"
import { makePace } from "../../src/http/UserBounds.ts"

describe("makePace", () => {
  it("makePace admits the requests of five seconds at once, spaces others, and refuses long waits", () => {
    const wait = makePace(60, 2)
    const waits = Array.from({ length: 9 }, () => wait("alice", 1_000))
    assert.deepStrictEqual(waits, [-4, -3, -2, -1, 0, 1, 2, 3, 3])
    assert.isAtMost(wait("bob", 1_000), 0)
    assert.strictEqual(wait("alice", 1_005), -2)
    assert.strictEqual(wait("alice", 2_000), -4)
  })
})
