import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { ModelSpec } from "../../src/domain/ModelSpec.ts"
import { type CatalogEntry, ModelCatalog } from "../../src/models/ModelCatalog.ts"
import { type Need, rank, Router } from "../../src/models/Router.ts"

const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5000 }))

const Models = Schema.Array(
  Schema.Struct({ ...ModelSpec.fields, contextWindow: Tokens, maxOutputTokens: Tokens })
).check(Schema.isMaxLength(8))

const Needs = Schema.Struct({
  promptTokens: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6000 })),
  tools: Schema.Boolean,
  maxOutputTokens: Schema.NullOr(Tokens)
})

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
  ...more
})

const best = (asked: Need, ...models: ReadonlyArray<ModelSpec>): string | undefined =>
  rank(asked, models)[0]?.model.id

describe("rank", () => {
  it.prop(
    "every model in it can serve the need, and no model that can is missing",
    [Needs, Models],
    ([asked, models]) => {
      const ranked = rank(asked, models)
      for (const { maxOutputTokens, model } of ranked) {
        assert.isAtLeast(maxOutputTokens, 1)
        assert.isAtMost(maxOutputTokens, model.maxOutputTokens)
        assert.isAtMost(asked.promptTokens + maxOutputTokens, model.contextWindow)
        if (asked.maxOutputTokens !== null) assert.isAtMost(maxOutputTokens, asked.maxOutputTokens)
      }
      const able = models.filter((model) => model.contextWindow >= asked.promptTokens + 1)
      assert.strictEqual(ranked.length, able.length)
    }
  )

  it.prop("bounds the answer by nothing else", [Needs, Models], ([asked, models]) => {
    for (const { maxOutputTokens, model } of rank(asked, models)) {
      assert.include(
        [asked.maxOutputTokens, model.maxOutputTokens, model.contextWindow - asked.promptTokens],
        maxOutputTokens
      )
    }
  })

  it.prop("doesn't depend on the order of the catalog", [Needs, Models], ([asked, models]) => {
    assert.deepStrictEqual(rank(asked, models.toReversed()), rank(asked, models))
    assert.deepStrictEqual(rank(asked, models), rank(asked, models))
  })

  it("balances quality and cost", () => {
    assert.strictEqual(best(need(), spec("a", { quality: 0.4 }), spec("b", { quality: 0.9 })), "b")
    assert.strictEqual(best(need(), spec("a", { cost: 0.9 }), spec("b", { cost: 0.1 })), "b")
    const dear = spec("dear", { quality: 0.9, cost: 1 })
    assert.strictEqual(best(need(), dear, spec("cheap", { quality: 0.8, cost: 0.1 })), "cheap")
    assert.strictEqual(best(need(), dear, spec("poor", { quality: 0.2, cost: 0 })), "dear")
  })

  it("prefers a model with tools where they are needed, and does without where there is none", () => {
    const better = spec("better", { quality: 1, tools: false })
    assert.strictEqual(best(need({ tools: true }), better, spec("able")), "able")
    assert.strictEqual(best(need(), better, spec("able")), "better")
    assert.strictEqual(best(need({ tools: true }), better), "better")
  })

  it("prefers a model whose window leaves room for an answer", () => {
    const full = spec("full", { quality: 1, contextWindow: 1000 })
    const asked = need({ promptTokens: 900 })
    assert.strictEqual(best(asked, full, spec("roomy")), "roomy")
    assert.strictEqual(best(asked, full), "full")
    assert.strictEqual(best(need({ promptTokens: 900, maxOutputTokens: 50 }), full, spec("roomy")), "full")
  })

  it("isn't led astray by a bound that no model reaches", () => {
    const wordy = spec("wordy", { quality: 0.1, maxOutputTokens: 4000 })
    assert.strictEqual(best(need({ maxOutputTokens: 1_000_000 }), wordy, spec("good")), "good")
  })
})

const routerOf = (entries: ReadonlyArray<CatalogEntry>) =>
  Router.layerNoDeps.pipe(
    Layer.provide(
      Layer.succeed(ModelCatalog, {
        entries: Effect.succeed(entries),
        known: Effect.succeed(entries),
        health: Effect.succeed([]),
        describe: Effect.succeed("what there is")
      })
    )
  )

const says = (model: ModelSpec): CatalogEntry => ({
  model,
  call: () => Stream.succeed({ type: "text", text: model.id })
})

describe("Router", () => {
  it.effect("gives the candidates best first, each with its own call", () =>
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

  it.effect("tells a prompt that is too long from a catalog that is empty", () =>
    Effect.gen(function* () {
      const router = yield* Router
      const tooLong = yield* Effect.flip(router.route(need({ promptTokens: 8000 })))
      assert.deepInclude(tooLong, { _tag: "PromptTooLong", promptTokens: 8000, tokensMax: 7999 })
      assert.strictEqual((yield* router.route(need({ promptTokens: 7999 })))[0].maxOutputTokens, 1)
    }).pipe(Effect.provide(routerOf([says(spec("a")), says(spec("b", { contextWindow: 10 }))])))
  )

  it.effect("gives none that is not permitted, and tells that from a prompt that is too long", () =>
    Effect.gen(function* () {
      const router = yield* Router
      const idsOf = (candidates: ReadonlyArray<{ readonly model: ModelSpec }>) =>
        candidates.map(({ model }) => model.id)
      assert.deepStrictEqual(idsOf(yield* router.route(need(), ({ id }) => id !== "good")), ["fair"])
      const tagOf = (promptTokens: number, permitted: string) =>
        Effect.map(
          Effect.flip(router.route(need({ promptTokens }), ({ id }) => id === permitted)),
          ({ _tag }) => _tag
        )
      assert.strictEqual(yield* tagOf(100, "none"), "ModelForbidden")
      // The one that is permitted has no room, and another one would have.
      assert.strictEqual(yield* tagOf(5_000, "good"), "ModelForbidden")
      assert.strictEqual(yield* tagOf(8_000, "fair"), "PromptTooLong")
    }).pipe(
      Effect.provide(
        routerOf([says(spec("fair")), says(spec("good", { quality: 0.9, contextWindow: 4_000 }))])
      )
    )
  )

  it.effect("fails where there is no model at all", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip((yield* Router).route(need()))
      assert.deepInclude(failure, { _tag: "NoModelAvailable", detail: "what there is" })
    }).pipe(Effect.provide(routerOf([])))
  )
})
