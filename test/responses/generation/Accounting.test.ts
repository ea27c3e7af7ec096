import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { Caller } from "../../../src/domain/Account.ts"
import { DatabaseUnavailable } from "../../../src/domain/Errors.ts"
import { ApiKeyId, OrganizationId, ResponseId, UserId } from "../../../src/domain/Ids.ts"
import { noKeyLimits } from "../../../src/domain/KeyLimits.ts"
import { Accounting } from "../../../src/responses/generation/Accounting.ts"
import { type Spending, Usage } from "../../../src/usage/Usage.ts"
import { attempt } from "../attempts.ts"

const caller: Caller = {
  userId: UserId.make(randomUUID()),
  organizationId: OrganizationId.make(randomUUID()),
  keyId: ApiKeyId.make(randomUUID()),
  keyLimits: noKeyLimits,
  plan: "default"
}

const unused = Effect.die(new Error("Accounting doesn't ask for this"))

/** The account of one response on a database that is away until it is told otherwise. */
const setUp = Effect.gen(function* () {
  const records: Array<Spending> = []
  const state = { isAway: true, attempts: 0 }
  const usage = Usage.of({
    prepare: () => Effect.void,
    reserve: () => unused,
    admit: () => Effect.succeed({ tokens: Number.POSITIVE_INFINITY, left: Number.POSITIVE_INFINITY }),
    record: (spending) =>
      Effect.suspend(() => {
        state.attempts++
        if (state.isAway) return Effect.fail(new DatabaseUnavailable({ cause: "away" }))
        records.push(spending)
        return Effect.void
      }),
    allowanceOf: () => unused,
    keyAllowances: () => unused,
    setLimits: () => unused,
    report: () => unused,
    eraseSome: () => unused,
    recordsOf: () => unused,
    ofUser: () => unused
  })
  const accounting = Context.get(
    yield* Layer.build(Accounting.layer.pipe(Layer.provide(Layer.succeed(Usage, usage)))),
    Accounting
  )
  const id = ResponseId.make(randomUUID())
  const response = Effect.scoped(accounting.open(id, caller, [attempt("a", Stream.empty)]))
  return { id, records, response, state }
})

/** The longest that the end of a request may wait for the database. */
const settleSeconds = 7

describe("Accounting", () => {
  it.effect("usage is recorded later if the database is away for longer than a request waits", () =>
    Effect.gen(function* () {
      const { id, records, response, state } = yield* setUp
      const request = yield* Effect.forkChild(response)
      yield* TestClock.adjust(`${settleSeconds} seconds`)
      yield* Fiber.join(request)
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(records, [])
      state.isAway = false
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(
        records.map(({ responseId }) => responseId),
        [id]
      )
    })
  )

  it.effect("a usage record is given up after ten minutes", () =>
    Effect.gen(function* () {
      const { records, response, state } = yield* setUp
      const request = yield* Effect.forkChild(response)
      yield* TestClock.adjust("20 minutes")
      yield* Fiber.join(request)
      const { attempts } = state
      state.isAway = false
      yield* TestClock.adjust("20 minutes")
      assert.strictEqual(state.attempts, attempts)
      assert.deepStrictEqual(records, [])
    })
  )
})
