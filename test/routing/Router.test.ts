import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { unknownHealth, type ModelSpec } from "../../src/domain/Model.ts"
import type { Need } from "../../src/routing/Candidates.ts"
import type { CatalogEntry } from "../../src/routing/Connections.ts"
import { ModelCatalog } from "../../src/routing/ModelCatalog.ts"
import { Router } from "../../src/routing/Router.ts"
import { monotonicSeconds } from "../../src/runtime/Monotonic.ts"
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
  it.effect("Router returns the candidates best first, each with its own stream", () =>
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

  it.effect("Router distinguishes a prompt that is too long from an empty catalog", () =>
    Effect.gen(function* () {
      const router = yield* Router
      const tooLong = yield* Effect.flip(router.route(need({ promptTokens: 8000 })))
      assert.deepInclude(tooLong, { _tag: "PromptTooLong", promptTokens: 8000, tokensMax: 7999 })
      assert.strictEqual((yield* router.route(need({ promptTokens: 7999 })))[0].maxOutputTokens, 1)
    }).pipe(Effect.provide(routerOf([says(spec("a")), says(spec("b", { contextWindow: 10 }))])))
  )

  it.effect("Router ranks by the balance of the settings", () =>
    Effect.gen(function* () {
      const router = yield* Router
      assert.strictEqual((yield* router.route(need()))[0].model.id, "cheap")
      assert.strictEqual((yield* router.route(need({ difficulty: 0.6 })))[0].model.id, "good")
    }).pipe(
      Effect.provide(routerOf([says(spec("cheap", { cost: 0 })), says(spec("good", { quality: 0.9 }))], 0))
    )
  )

  it.effect("Router returns no forbidden model, and fails where only forbidden models fit", () =>
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

  it.effect("Router ranks by the current health of the models", () => {
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

  it.effect("Router returns a bounded number of candidates with the largest window among them", () =>
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

  describe("where a request names a model or has images", () => {
    const blind = says(spec("blind", { quality: 0.9 }))
    const seeing = says(spec("seeing", { vision: true }))
    const narrow = says(spec("narrow", { vision: true, contextWindow: 50 }))
    const all = Effect.provide(routerOf([blind, seeing, narrow]))
    const ids = (more: Partial<Need>, permits?: (model: ModelSpec) => boolean) =>
      Effect.map(
        Effect.flatMap(Router, ({ route }) => route(need(more), permits)),
        (candidates) => candidates.map(({ model }) => model.id)
      )
    const why = (more: Partial<Need>) =>
      Effect.map(
        Effect.flatMap(Router, ({ explain }) => explain(need(more))),
        ({ excluded }) => excluded.map((one) => `${one.model.id}: ${one.why}`)
      )
    const but = (id: string) => (model: ModelSpec) => model.id !== id

    it.effect("the decision says which models don't see, and which weren't named", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* why({ vision: true }), ["blind: vision", "narrow: window"])
        assert.deepStrictEqual(yield* why({ model: "blind" }), ["narrow: model", "seeing: model"])
        assert.deepStrictEqual(yield* why({ model: "blind", vision: true }), [
          "blind: vision",
          "narrow: model",
          "seeing: model"
        ])
        assert.deepStrictEqual(yield* why({}), ["narrow: window"])
      }).pipe(all)
    )

    it.effect("only models that see images get images, also when a better one doesn't", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* ids({}), ["blind", "seeing"])
        assert.deepStrictEqual(yield* ids({ vision: true }), ["seeing"])
      }).pipe(all)
    )

    it.effect(
      "a named model has no fallback, also when it fails often, is slow or can't take the prompt",
      () => {
        const ill = { ...unknownHealth, coolingDown: true, failureShare: 0.9, firstOutputSeconds: 60 }
        const healthOf = Effect.succeed(({ id }: ModelSpec) => (id === "seeing" ? ill : unknownHealth))
        return Effect.gen(function* () {
          assert.deepStrictEqual(yield* ids({ model: "seeing" }), ["seeing"])
          assert.deepStrictEqual(yield* ids({ model: "seeing", difficulty: 1 }), ["seeing"])
          const tooLong = yield* Effect.flip(ids({ model: "narrow" }))
          assert.deepInclude(tooLong, { _tag: "PromptTooLong", tokensMax: 49 })
        }).pipe(Effect.provide(routerOf([blind, seeing, narrow], 50, healthOf)))
      }
    )

    it.effect("a named model that the caller may not use is as unknown as one that doesn't exist", () =>
      Effect.gen(function* () {
        const forbidden = yield* Effect.flip(ids({ model: "blind" }, but("blind")))
        const missing = yield* Effect.flip(ids({ model: "none" }))
        assert.deepInclude(forbidden, { _tag: "ModelNotFound", param: "model" })
        assert.deepStrictEqual({ ...forbidden }, { ...missing })
        const withImage = yield* Effect.flip(ids({ model: "blind", vision: true }, but("blind")))
        assert.strictEqual(withImage._tag, "ModelNotFound")
        assert.deepStrictEqual(yield* ids({ model: "blind" }, but("seeing")), ["blind"])
      }).pipe(all)
    )

    const limit = (more: Partial<Need>, permits?: (model: ModelSpec) => boolean) =>
      Effect.map(Effect.flip(ids({ vision: true, ...more }, permits)), (failure) =>
        failure._tag === "NoVisionModel" ? failure.limit : failure._tag
      )

    it.effect(
      "images are refused by the limit: the named model, what the caller may use, or the window",
      () =>
        Effect.gen(function* () {
          assert.strictEqual(yield* limit({ model: "blind" }), "model")
          assert.strictEqual(yield* limit({}, ({ id }) => id === "blind"), "permits")
          assert.strictEqual(yield* limit({}, but("seeing")), "ModelForbidden")
          assert.strictEqual(yield* limit({}, () => false), "ModelForbidden")
          assert.strictEqual(yield* limit({ promptTokens: 9000 }), "PromptTooLong")
        }).pipe(all)
    )

    it.effect("images are refused on behalf of the service where none of its models sees them", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* limit({}), "service")
        assert.strictEqual(yield* limit({}, () => false), "service")
        assert.strictEqual(yield* limit({ model: "blind" }), "model")
      }).pipe(Effect.provide(routerOf([blind])))
    )
  })

  it.effect("Router fails while no model is known", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip((yield* Router).route(need()))
      assert.deepInclude(failure, { _tag: "NoModelAvailable", detail: "what there is" })
    }).pipe(Effect.provide(routerOf([])))
  )
})
