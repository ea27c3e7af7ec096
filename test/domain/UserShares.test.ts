import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { makePace } from "../../src/http/UserBounds.ts"
import { type Claim, UserShares } from "../../src/domain/UserShares.ts"

const Steps = Schema.Array(
  Schema.Struct({
    user: Schema.Literals(["alice", "bob", "carol"]),
    amount: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 })),
    /** Which of the open claims ends or is reduced before. */
    end: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })),
    reduce: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))
  })
)

const sumOf = (claims: ReadonlyArray<Claim>) =>
  claims.filter(({ state }) => state === "held").reduce((sum, { amount }) => sum + amount, 0)

describe("UserShares", () => {
  it.prop("keep within both limits, and leave nobody waiting who could have a share", [Steps], ([steps]) => {
    const shares = new UserShares({ totalMax: 12, perUserMax: 7 })
    let open: ReadonlyArray<Claim> = []
    for (const { amount, end, reduce, user } of steps) {
      const ended = open[end]
      if (ended !== undefined) shares.end(ended)
      if (ended !== undefined) shares.end(ended)
      const reduced = open[reduce]
      if (reduced !== undefined) shares.reduce(reduced, Math.floor(reduced.amount / 2))
      open = [...open.filter((claim) => claim !== ended), shares.claim(user, amount)]
      const total = sumOf(open)
      assert.isAtMost(total, 12)
      for (const name of ["alice", "bob", "carol"]) {
        const own = open.filter((claim) => claim.user === name)
        assert.isAtMost(sumOf(own), 7)
        const first = own.find(({ state }) => state === "waiting")
        assert.strictEqual(shares.waitingOf(name), own.filter(({ state }) => state === "waiting").length)
        if (first !== undefined) assert.isTrue(total + first.amount > 12 || sumOf(own) + first.amount > 7)
      }
    }
    for (const claim of open) shares.end(claim)
    assert.strictEqual(shares.claim("alice", 7).state, "held")
  })

  it("are given to the users in turns", () => {
    const shares = new UserShares({ totalMax: 1, perUserMax: 1 })
    const met: Array<string> = []
    const claim = (user: string, name: string) => {
      const made = shares.claim(user, 1)
      made.onHeld = () => met.push(name)
      return made
    }
    const first = shares.claim("alice", 1)
    const others = [
      claim("alice", "alice 2"),
      claim("alice", "alice 3"),
      claim("bob", "bob 1"),
      claim("bob", "bob 2")
    ]
    shares.end(first)
    for (let step = 0; step < others.length; step++) {
      for (const one of others.filter(({ state }) => state === "held")) shares.end(one)
    }
    assert.deepStrictEqual(met, ["alice 2", "bob 1", "alice 3", "bob 2"])
  })
})

describe("A pace", () => {
  it("lets the requests of five seconds through at once, spaces the others, and refuses what would wait too long", () => {
    const wait = makePace(60, 2)
    const waits = Array.from({ length: 9 }, () => wait("alice", 1_000))
    assert.deepStrictEqual(waits, [-4, -3, -2, -1, 0, 1, 2, 3, 3])
    assert.isAtMost(wait("bob", 1_000), 0)
    assert.strictEqual(wait("alice", 1_005), -2)
    assert.strictEqual(wait("alice", 2_000), -4)
  })
})
