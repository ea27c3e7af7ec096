import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Policy } from "../../src/plans/Policy.ts"
import { termsLayer } from "../auth/AccountsFixture.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { licensed, plansFile } from "./terms.ts"

const end = Date.UTC(2026, 1, 1)

const policyWith = Layer.unwrap(
  Effect.gen(function* () {
    const plansFileName = yield* plansFile({ talk: { operations: ["responses"] } })
    const license = yield* licensed({ operations: ["responses", "projects"] }, { endsAtSeconds: end / 1000 })
    const settings = testConfig({ policy: { plansFile: plansFileName, ...license } })
    return Policy.layer.pipe(Layer.provide(termsLayer(settings)))
  })
)

layer(policyWith.pipe(Layer.provideMerge(TestDatabase.layer)))("Policy", (it) => {
  it.effect("Policy checks the license by the clock at each request, forwards and backwards", () =>
    Effect.gen(function* () {
      const policy = yield* Policy
      const why = (plan: string) =>
        Effect.map(
          policy.permissions(plan),
          ({ operation }) => operation("projects", "")?.message ?? "permitted"
        )
      const ended = /^The licence of this installation ended on 2026-01-31\./
      for (const [millis, plans] of [
        [end - 1, "in force"],
        [end, "over"],
        [end + 1, "over"],
        [end - 1, "in force"]
      ] as const) {
        yield* TestClock.setTime(millis)
        const [open, talk, gone] = [yield* why("default"), yield* why("talk"), yield* why("gone")]
        if (plans === "over") for (const text of [open, talk, gone]) assert.match(text, ended)
        else {
          assert.strictEqual(open, "permitted")
          assert.match(talk, /^The plan `talk` of your organization has no `projects`/)
          assert.match(gone, /^The plan `gone` of your organization is not defined/)
          assert.match(yield* why("lost"), /^The plan `lost`/)
        }
      }
    })
  )
})
