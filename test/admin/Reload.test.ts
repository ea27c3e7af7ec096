import { writeFileSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { Reload } from "../../src/admin/Reload.ts"
import { Plans } from "../../src/domain/Plan.ts"
import { plansLayer } from "../../src/plans/PlanCatalog.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { plansFile } from "../plans/terms.ts"
import { until } from "../support/until.ts"
import { AdminServer, run } from "./AdminServer.ts"

const withPlans = Layer.unwrap(
  Effect.map(plansFile({ free: { tools: [] } }), (file) =>
    AdminServer.layerWith({ policy: { plansFile: file } })
  )
)

const file = AppConfig.useSync(({ policy }) => policy.plansFile ?? "")

const write = Effect.fnUntraced(function* (content: unknown) {
  writeFileSync(yield* file, JSON.stringify(content))
})

const names = Effect.map(run("plan", "list", "--json"), ({ stdout }) =>
  JSON.parse(stdout).data.map(({ name }: { readonly name: string }) => name)
)

layer(withPlans, { excludeTestServices: true })("parley config reload", (it) => {
  it.effect("a reload puts changed plans in force without a restart, and records who asked for it", () =>
    Effect.gen(function* () {
      yield* write({ plans: { free: { tools: [] }, gold: { tools: ["calculator"] } } })
      assert.deepStrictEqual((yield* run("org", "create", "Early", "--plan", "gold")).code, 1)
      const { code, stderr, stdout } = yield* run("config", "reload")
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.include(stdout, `Read again: 3 plans of ${yield* file}.`)
      assert.deepStrictEqual((yield* run("org", "create", "Late", "--plan", "gold")).code, 0)
      const log = JSON.parse((yield* run("audit", "list", "--actor", "operator", "--json")).stdout)
      const actions = log.data.map(
        (entry: Record<string, unknown>) => `${entry["action"]} ${entry["target_name"]}`
      )
      assert.includeMembers(actions, ["setting.reload plans and models"])
    })
  )

  it.effect("a reload keeps the plans where the file has a fault, and says so until it has none", () =>
    Effect.gen(function* () {
      const before = yield* names
      yield* write({ plans: { "No Plan": {}, free: { tools: ["magic"] } } })
      const { code, stderr } = yield* run("config", "reload")
      assert.strictEqual(code, 1)
      assert.include(stderr, "Everything stays as it was. PARLEY_PLANS_FILE")
      assert.match(stderr, /plans\.free\.tools/)
      assert.match(stderr, /No Plan/)
      assert.deepStrictEqual(yield* names, before)
      assert.match(
        (yield* run("doctor")).stdout,
        /reload +failed +The service goes on with what it read before/
      )
      const { checks } = JSON.parse((yield* run("doctor", "--json")).stdout)
      const { detail } = checks.find((check: Record<string, unknown>) => check["name"] === "reload")
      assert.match(
        detail,
        /run `parley config reload`\. PARLEY_PLANS_FILE .* can't be used: .*plans\.free\.tools.*; .*No Plan/
      )
      assert.notInclude(detail, "\n")
      yield* write({ plans: { free: {} } })
      assert.strictEqual((yield* run("config", "reload")).code, 0)
      assert.notMatch((yield* run("doctor")).stdout, /reload +failed/)
    })
  )

  it.effect("a reload reaches the other processes of the database", () =>
    Effect.gen(function* () {
      const other = yield* Layer.build(
        Layer.fresh(Reload.layer.pipe(Layer.provideMerge(Layer.fresh(plansLayer))))
      )
      const plans = Context.get(other, Plans)
      const hasSilver = Effect.map(plans.current, ({ catalog }) => catalog?.has("silver") === true)
      yield* write({ plans: { silver: {} } })
      assert.isFalse(yield* hasSilver)
      assert.strictEqual((yield* run("config", "reload")).code, 0)
      yield* until(hasSilver)
    })
  )
})
