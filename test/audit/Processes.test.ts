import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../src/auth/Accounts.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { added, changes, entries, recordingLayer, recordingOver, someTenant } from "./fixtures.ts"

/** Attempts of each change, since two processes don't always meet. */
const rounds = 3

/** The services of another process on the same database. */
const anotherProcess = Layer.fresh(
  recordingOver.pipe(Layer.provideMerge(TestDatabase.client({ connectionsMax: 3 })))
)

layer(recordingLayer)("Two processes that do the same at once", (it) => {
  for (const { actions, first, repeats, run, title } of changes) {
    if (repeats === true) continue
    it.effect(`two processes record ${title} once`, () =>
      Effect.gen(function* () {
        const another = yield* Layer.build(anotherProcess)
        for (let round = 0; round < rounds; round++) {
          const tenant = yield* someTenant
          if (first !== undefined) yield* first(tenant)
          const { entries, value } = yield* added(
            Effect.all([Effect.exit(run(tenant)), Effect.exit(Effect.provide(run(tenant), another))], {
              concurrency: "unbounded"
            })
          )
          assert.isTrue(value.some(({ _tag }) => _tag === "Success"))
          assert.deepStrictEqual(
            entries.map(({ action }) => action),
            actions
          )
        }
      }).pipe(Effect.scoped)
    )
  }

  it.effect("two processes record changes of one value as a chain without a gap, in their order", () =>
    Effect.gen(function* () {
      const { organization, user } = yield* someTenant
      const another = yield* Layer.build(anotherProcess)
      const numbers = Array.from({ length: 12 }, (_, index) => index + 1)
      const change = Effect.fnUntraced(function* (number: number) {
        yield* (yield* Accounts).setPlan(organization.name, `plan ${number}`)
        yield* (yield* Usage).setLimits(user.id, { daily: number })
      })
      yield* Effect.forEach(
        numbers,
        (number) => (number % 2 === 0 ? change(number) : Effect.provide(change(number), another)),
        { concurrency: "unbounded" }
      )
      const sql = yield* SqlClient.SqlClient
      const [last] = yield* sql<{ readonly plan: string; readonly daily: number }>`
        SELECT plan, (SELECT tokens::float8 FROM token_limits WHERE user_id = ${user.id}) AS daily
        FROM organizations WHERE id = ${organization.id}`
      for (const [action, field, begin] of [
        ["organization.plan", "plan", "gold"],
        ["user.limits", "daily", "default"]
      ] as const) {
        const values = (yield* entries({ organizationId: organization.id, action })).map(
          ({ details }) => details[field] as { readonly old: unknown; readonly new: unknown }
        )
        assert.strictEqual(values.length, numbers.length)
        assert.deepStrictEqual(
          values.map((value) => value.old),
          [begin, ...values.slice(0, -1).map((value) => value.new)]
        )
        assert.strictEqual(values.at(-1)?.new, last?.[field])
      }
    }).pipe(Effect.scoped)
  )
})
