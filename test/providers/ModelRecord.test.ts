import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { ModelRecord } from "../../src/providers/ModelRecord.ts"

const Event = Schema.Struct({
  type: Schema.Literals(["began", "answered", "failed"]),
  after: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 200 })),
  seconds: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 100 }))
})
const Events = Schema.Array(Event).check(Schema.isMaxLength(50))

const recorded = (events: typeof Events.Type) => {
  const record = new ModelRecord()
  let now = 1_000
  for (const { after, seconds, type } of events) {
    now += after
    if (type === "began") record.began(seconds, now)
    else if (type === "answered") record.answered(now)
    else record.failed(now)
  }
  return { record, now }
}

describe("ModelRecord", () => {
  it.prop("ModelRecord stays within bounds, and outcomes fade with time", [Events], ([events]) => {
    const { now, record } = recorded(events)
    const { failureShare, firstOutputSeconds } = record.seen(now)
    assert.isAtLeast(failureShare, 0)
    assert.isBelow(failureShare, 1)
    if (firstOutputSeconds !== null) {
      const waits = events.filter(({ type }) => type === "began").map(({ seconds }) => seconds)
      assert.isAtLeast(firstOutputSeconds, Math.min(...waits) - 1e-9)
      assert.isAtMost(firstOutputSeconds, Math.max(...waits) + 1e-9)
    }
    assert.isAtMost(record.seen(now + 30).failureShare, failureShare)
    assert.isNull(record.seen(now + 3_600).firstOutputSeconds)
    assert.isBelow(record.seen(now + 600).failureShare, 0.05)
  })

  it.prop(
    "a failure never lowers the share of failures, and an answer never raises it",
    [Events],
    ([events]) => {
      const failing = recorded(events)
      const before = failing.record.seen(failing.now).failureShare
      failing.record.failed(failing.now)
      assert.isAtLeast(failing.record.seen(failing.now).failureShare, before - 1e-9)
      const answering = recorded(events)
      answering.record.answered(answering.now)
      assert.isAtMost(answering.record.seen(answering.now).failureShare, before + 1e-9)
    }
  )

  it("a failure counts for half after a minute, and a single one weighs little", () => {
    const record = new ModelRecord()
    const nothing = { firstOutputSeconds: null, failureShare: 0, requests: 0, failures: 0, learned: [] }
    assert.deepStrictEqual(record.seen(0), nothing)
    record.failed(0)
    assert.deepInclude(record.seen(0), { requests: 1, failures: 1 })
    assert.strictEqual(record.seen(0).failureShare, 1 / 2)
    assert.strictEqual(record.seen(60).failureShare, 1 / 3)
    for (let index = 0; index < 9; index++) record.failed(60)
    assert.closeTo(record.seen(60).failureShare, 9.5 / 10.5, 1e-9)
  })

  it("a thousand failures fade nearly as fast as a few", () => {
    const record = new ModelRecord()
    for (let index = 0; index < 1_000; index++) record.failed(0)
    assert.isAbove(record.seen(0).failureShare, 0.9)
    assert.isBelow(record.seen(300).failureShare, 0.5)
  })

  it("the latency follows a model that has become slow", () => {
    const record = new ModelRecord()
    for (let index = 0; index < 1_000; index++) record.began(1, 0)
    for (let index = 0; index < 20; index++) record.began(9, 1)
    assert.isAbove(record.seen(1).firstOutputSeconds ?? 0, 5)
  })
})
