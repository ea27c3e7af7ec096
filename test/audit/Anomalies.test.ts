import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlFaults } from "../support/TestDatabase.ts"
import { added, changes, everything, recordingLayer, someTenant } from "./fixtures.ts"

/** No change sends more statements than this. */
const statementsMax = 40

layer(recordingLayer)("A change and its record", (it) => {
  for (const { actions, first, repeats, run, title } of changes) {
    it.effect(
      `a change and its record are both kept or neither when the n-th statement of ${title} fails`,
      () =>
        Effect.gen(function* () {
          const faults = yield* SqlFaults
          for (const when of ["before", "after"] as const) {
            for (let n = 1; n <= statementsMax; n++) {
              const tenant = yield* someTenant
              if (first !== undefined) yield* first(tenant)
              const before = yield* everything
              const { entries, value } = yield* added(
                Effect.gen(function* () {
                  yield* faults.failStatement(n, when)
                  const exit = yield* Effect.exit(run(tenant))
                  const { failed } = yield* faults.seen
                  yield* faults.off
                  return { exit, failed }
                })
              )
              const changed = (yield* everything) !== before
              const name = `statement ${n}, ${when}`
              const recorded = entries.map(({ action }) => action)
              assert.deepStrictEqual(recorded, changed ? actions : [], name)
              if (value.exit._tag === "Success") assert.isTrue(changed, name)
              if (!value.failed) break
              assert.isBelow(n, statementsMax)
            }
          }
        }),
      120_000
    )

    if (repeats === true) continue
    it.effect(`a change and its record don't happen a second time when ${title} is repeated`, () =>
      Effect.gen(function* () {
        const tenant = yield* someTenant
        if (first !== undefined) yield* first(tenant)
        const once = yield* added(Effect.exit(run(tenant)))
        assert.deepStrictEqual(
          once.entries.map(({ action }) => action),
          actions
        )
        const before = yield* everything
        const twice = yield* added(Effect.exit(run(tenant)))
        assert.deepStrictEqual(twice.entries, [])
        assert.strictEqual(yield* everything, before)
      })
    )
  }
})
