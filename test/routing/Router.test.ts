import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { unknownHealth, type ModelSpec } from "../../src/domain/Model.ts"
import { monotonicSeconds } from "../../src/domain/Monotonic.ts"
import type { Need } from "../../src/routing/Candidates.ts"
import type { CatalogEntry } from "../../src/routing/Connections.ts"
import { ModelCatalog } from "../../src/routing/ModelCatalog.ts"
import { Router } from "../../src/routing/Router.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { testConfig } from "../support/TestConfig.ts"

const spec = (id: string, more: Partial<ModelSpec> = {}): ModelSpec => ({
  id,
  provider: "p",
  contextWindow: 8000,
  maxOutputTokens: 2000,
  tools: true,
  quality: 0.5,
  cost: 0.5,
  ...more
})

const need = (more: Partial<Need> = {}): Need => ({
  promptTokens: 100,
  tools: false,
  maxOutputTokens: null,
  difficulty: 0,
  ...more
})

const wellAll: ModelCatalog["Service"]["healthOf"] = Effect.succeed(() => unknownHealth)

const routerOf = (entries: ReadonlyArray<CatalogEntry>, balance = 50, healthOf = wellAll) =>
  Router.layerNoDeps.pipe(
    Layer.provide(Layer.succeed(AppConfig, testConfig({ models: { balance } }))),
    Layer.provide(
      Layer.succeed(ModelCatalog, {
        entries: Effect.succeed(entries),
        known: Effect.succeed(entries),
        healthOf,
        health: Effect.succeed([]),
        probe: Effect.succeed([]),
        isRefused: Effect.succeed(false),
        describe: Effect.succeed("what there is"),
        prepare: Effect.succeed(null)
      })
    )
  )

const says = (model: ModelSpec): CatalogEntry => ({
  model,
  stream: () => Stream.succeed({ type: "text", text: model.id })
})

describe("Router", () => {
  it.effect("returns the candidates best first, each with its own stream", () =>
    Effect.gen(function* () {
      const router = yield* Router
      const candidates = yield* router.route(need())
      assert.deepStrictEqual(
        candidates.map(({ maxOutputTokens, model }) => [model.id, maxOutputTokens]),
        [
          ["good", 2000],
          ["fair", 2000]
        ]
      )
      for (const { model, stream } of candidates) {
        const parts = yield* Stream.runCollect(stream({ messages: [], maxOutputTokens: 1, tools: [] }))
        assert.deepStrictEqual(parts, [{ type: "text", text: model.id }])
      }
      assert.deepStrictEqual(
        (yield* router.models).map((model) => model.id),
        ["fair", "good"]
      )
      assert.strictEqual(yield* router.describe, "what there is")
    }).pipe(Effect.provide(routerOf([says(spec("fair")), says(spec("good", { quality: 0.9 }))])))
  )

  it.effect("distinguishes a prompt that is too long from an empty catalog", () =>
    Effect.gen(function* () {
      const router = yield* Router
      const tooLong = yield* Effect.flip(router.route(need({ promptTokens: 8000 })))
      assert.deepInclude(tooLong, { _tag: "PromptTooLong", promptTokens: 8000, tokensMax: 7999 })
      assert.strictEqual((yield* router.route(need({ promptTokens: 7999 })))[0].maxOutputTokens, 1)
    }).pipe(Effect.provide(routerOf([says(spec("a")), says(spec("b", { contextWindow: 10 }))])))
  )

  it.effect("ranks by the balance of the settings", () =>
    Effect.gen(function* () {
      const router = yield* Router
      assert.strictEqual((yield* router.route(need()))[0].model.id, "cheap")
      assert.strictEqual((yield* router.route(need({ difficulty: 0.6 })))[0].model.id, "good")
    }).pipe(
      Effect.provide(routerOf([says(spec("cheap", { cost: 0 })), says(spec("good", { quality: 0.9 }))], 0))
    )
  )

  it.effect("returns no forbidden model, and fails where only forbidden models fit", () =>
    Effect.gen(function* () {
      const router = yield* Router
      const permits = ({ id }: ModelSpec) => id !== "good"
      const ids = (yield* router.route(need(), permits)).map(({ model }) => model.id)
      assert.deepStrictEqual(ids, ["fair"])
      const forbidden = yield* Effect.flip(router.route(need(), () => false))
      assert.deepInclude(forbidden, { _tag: "ModelForbidden", models: ["fair", "good"] })
      const narrow = yield* Effect.flip(router.route(need({ promptTokens: 5000 }), permits))
      assert.deepInclude(narrow, { _tag: "ModelForbidden", models: ["good"] })
      const tooLong = yield* Effect.flip(router.route(need({ promptTokens: 9000 }), () => false))
      assert.strictEqual(tooLong._tag, "PromptTooLong")
      const { candidates, excluded } = yield* router.explain(need({ promptTokens: 5000 }), permits)
      assert.deepStrictEqual(candidates, [])
      assert.deepStrictEqual(
        excluded.map(({ model, why }) => [model.id, why]),
        [
          ["fair", "window"],
          ["good", "permits"]
        ]
      )
    }).pipe(
      Effect.provide(
        routerOf([says(spec("good", { quality: 0.9 })), says(spec("fair", { contextWindow: 4000 }))])
      )
    )
  )

  it.effect("ranks by the current health of the models", () => {
    const ill = says(spec("ill", { quality: 0.9 }))
    const healthOf = Effect.map(monotonicSeconds, (now) => (model: ModelSpec) => ({
      ...unknownHealth,
      coolingDown: model.id === "ill" && now < 5
    }))
    return Effect.gen(function* () {
      const router = yield* Router
      const first = Effect.map(router.route(need()), ([{ model }]) => model.id)
      assert.strictEqual(yield* first, "well")
      assert.deepStrictEqual(
        (yield* router.modelHealth).map(({ coolingDown }) => coolingDown),
        [true, false]
      )
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* first, "ill")
    }).pipe(Effect.provide(routerOf([ill, says(spec("well"))], 50, healthOf)))
  })

  it.effect("returns a bounded number of candidates with the largest window among them", () =>
    Effect.gen(function* () {
      const candidates = yield* (yield* Router).route(need())
      const ids = candidates.map(({ model }) => model.id)
      assert.deepStrictEqual(ids, ["m10", "m11", "m12", "m13", "m14", "m15", "m16", "m17", "m19"])
    }).pipe(
      Effect.provide(
        routerOf(
          Array.from({ length: 10 }, (_, n) =>
            says(spec(`m${n + 10}`, { quality: 1 - n / 20, contextWindow: n === 9 ? 100_000 : 8_000 }))
          )
        )
      )
    )
  )

  it.effect("fails while no model is known", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip((yield* Router).route(need()))
      assert.deepInclude(failure, { _tag: "NoModelAvailable", detail: "what there is" })
    }).pipe(Effect.provide(routerOf([])))
  )
})
