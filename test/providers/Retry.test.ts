import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  AnswerMalformed,
  classify,
  ConnectionFailed,
  ConnectionLost,
  type Fault,
  FirstTokenTimeout
} from "../../src/providers/Fault.ts"
import { errorEventFault, statusFault } from "../../src/providers/FaultCause.ts"
import { retryBudget, retryWait } from "../../src/providers/ServerCall.ts"

const status = (code: number, label = ""): Fault => statusFault(code, { type: "error", label, message: "" })
const errorEvent = (label: string): Fault => errorEventFault({ type: "error", label, message: "" })

describe("classify", () => {
  it.each<readonly [Fault, boolean]>([
    [status(429), true],
    [status(500), true],
    [status(503), true],
    [status(529, "overloaded_error"), true],
    [status(408), true],
    [status(424), true],
    [status(501), false],
    [status(400), false],
    [status(401), false],
    [status(429, "insufficient_quota"), false],
    [new ConnectionFailed({ detail: "ECONNREFUSED" }), true],
    [new ConnectionLost({ detail: "other side closed" }), true],
    [errorEvent("overloaded_error"), true],
    [errorEvent("rate_limit_exceeded"), true],
    [errorEvent("invalid_request_error"), false],
    [new AnswerMalformed({ detail: "an event that is not JSON" }), false],
    [new FirstTokenTimeout({ detail: "nothing came for 120 seconds" }), false]
  ])("classify knows whether to retry %j: %s", (fault, expected) => {
    assert.strictEqual(classify(fault).isRetryable, expected)
  })
})

const number = (minimum: number, maximum: number) =>
  Schema.Finite.check(Schema.isBetween({ minimum, maximum }))

describe("retryWait", () => {
  it.prop(
    "retryWait keeps to the budget, to the server's request, and to the number of retries",
    {
      retries: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6 })),
      seconds: number(0, 20),
      asked: Schema.UndefinedOr(number(0, 20)),
      budget: number(0, 20),
      chance: number(0, 1),
      hasFallback: Schema.Boolean
    },
    ({ asked, budget, chance, hasFallback, retries, seconds }) => {
      const wait = retryWait(
        status(503),
        { retries, seconds, askedSeconds: asked },
        retryBudget(budget, hasFallback),
        chance
      )
      if (wait === null) return
      assert.isBelow(retries, hasFallback ? 1 : 4)
      assert.isAtMost(seconds + wait, hasFallback ? Math.min(budget, 0.5) : budget)
      assert.isAtLeast(wait, asked ?? 0)
      assert.isAbove(wait, 0)
    }
  )

  it("retryWait grows each time, within half of it left to chance", () => {
    const past = { seconds: 0, askedSeconds: undefined }
    const waits = [0, 1, 2, 3].map((retries) =>
      retryWait(status(503), { ...past, retries }, retryBudget(60, false), 0)
    )
    assert.deepStrictEqual(waits, [0.25, 0.5, 1, 2])
    assert.strictEqual(retryWait(status(503), { ...past, retries: 1 }, retryBudget(60, false), 1), 0.25)
    assert.isNull(retryWait(status(503), { ...past, retries: 4 }, retryBudget(60, false), 0))
    assert.isNull(retryWait(status(503), { ...past, retries: 0 }, retryBudget(0, false), 0))
    assert.isNull(retryWait(status(400), { ...past, retries: 0 }, retryBudget(60, false), 0))
  })
})
