import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { unknownHealth, ModelSpec } from "../../src/domain/Model.ts"
import { type Need, rank } from "../../src/routing/Candidates.ts"

const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5000 }))
const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
const Seconds = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 100 }))

/** Few different values, so that models often are alike in some respect. */
const Steps = Schema.Literals([0, 0.25, 0.5, 0.75, 1])

const Health = Schema.Struct({
  coolingDown: Schema.Boolean,
  firstOutputSeconds: Schema.NullOr(Seconds),
  failureShare: Schema.Union([Steps, Share]),
  requests: Schema.Literal(0),
  failures: Schema.Literal(0),
  learned: Schema.Tuple([])
})

const Model = Schema.Struct({
  ...ModelSpec.fields,
  contextWindow: Schema.Union([Schema.Literals([2000, 8000]), Tokens]),
  maxOutputTokens: Schema.Union([Schema.Literals([100, 2000]), Tokens]),
  quality: Schema.Union([Steps, Share]),
  cost: Schema.Union([Steps, Share]),
  health: Health,
  permitted: Schema.Boolean
})
type Model = typeof Model.Type

/** No two of them have one name. */
const Models = Schema.Array(Model).check(Schema.isMaxLength(8))

const named = (models: ReadonlyArray<Model>): ReadonlyArray<Model> =>
  models.map((model, index) => ({ ...model, id: `${model.id}-${index}` }))

const Needs = Schema.Struct({
  promptTokens: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6000 })),
  tools: Schema.Boolean,
  maxOutputTokens: Schema.NullOr(Tokens),
  difficulty: Schema.Union([Steps, Share])
})

const Balance = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))

const everything = () => true

const decide = (
  need: Need,
  models: ReadonlyArray<Model>,
  balance: number,
  permits: (model: Model) => boolean = everything
) =>
  rank({
    need,
    models: models.map((model) => ({ model })),
    health: (model: Model) => model.health,
    permits,
    balance
  })

const idsOf = (ranked: ReadonlyArray<{ readonly model: ModelSpec }>) => ranked.map(({ model }) => model.id)

const respects = [
  "quality",
  "cost",
  "price",
  "window",
  "output",
  "tools",
  "latency",
  "failures",
  "coolingDown"
] as const

/** Alike in everything but quality, price and health, and all of them well. */
const alike = (models: ReadonlyArray<Model>): ReadonlyArray<Model> =>
  named(models).map((model) => ({
    ...model,
    contextWindow: 20_000,
    maxOutputTokens: 2_000,
    tools: true,
    health: { ...model.health, coolingDown: false, failureShare: model.health.failureShare / 2 }
  }))

const priceOf = (model: Model, models: ReadonlyArray<Model>, need: Need): number => {
  if (model.price === undefined || models.some(({ price }) => price === undefined)) return model.cost
  const outputTokens = Math.min(need.maxOutputTokens ?? 600, 600)
  return (need.promptTokens * model.price.input + outputTokens * model.price.output) / 1_000_000
}

/** Ways to be worse, or no better where it can't be worse any more. */
const worsen: Readonly<Record<(typeof respects)[number], (model: Model) => Model>> = {
  quality: (model) => ({ ...model, quality: model.quality / 2 }),
  cost: (model) => ({ ...model, cost: (1 + model.cost) / 2 }),
  price: ({ price, ...model }) =>
    price === undefined ? model : { ...model, price: { input: price.input + 1, output: price.output * 2 } },
  window: (model) => ({ ...model, contextWindow: Math.ceil(model.contextWindow / 2) }),
  output: (model) => ({ ...model, maxOutputTokens: Math.ceil(model.maxOutputTokens / 2) }),
  tools: (model) => ({ ...model, tools: false }),
  latency: (model) => ({
    ...model,
    health: { ...model.health, firstOutputSeconds: (model.health.firstOutputSeconds ?? 1) + 1 }
  }),
  failures: (model) => ({
    ...model,
    health: { ...model.health, failureShare: (1 + model.health.failureShare) / 2 }
  }),
  coolingDown: (model) => ({ ...model, health: { ...model.health, coolingDown: true } })
}

describe("the candidates", () => {
  it.prop(
    "candidates can serve the need and are permitted, excluded models can't or are not",
    [Needs, Models, Balance],
    ([need, some, balance]) => {
      const models = named(some)
      const { candidates, excluded } = decide(need, models, balance, ({ permitted }) => permitted)
      for (const { maxOutputTokens, model } of candidates) {
        assert.isTrue(model.permitted)
        assert.isAtLeast(maxOutputTokens, 1)
        assert.strictEqual(
          maxOutputTokens,
          Math.min(
            need.maxOutputTokens ?? Infinity,
            model.maxOutputTokens,
            model.contextWindow - need.promptTokens
          )
        )
      }
      for (const { model, why } of excluded) {
        const fits = model.contextWindow > need.promptTokens
        assert.strictEqual(why, fits ? "permits" : "window")
        if (fits) assert.isFalse(model.permitted)
      }
      assert.sameMembers(
        [...idsOf(candidates), ...idsOf(excluded)],
        models.map(({ id }) => id)
      )
    }
  )

  it.prop("candidates don't depend on the order", [Needs, Models, Balance], ([need, some, balance]) => {
    const models = named(some)
    const ranking = decide(need, models, balance)
    assert.deepStrictEqual(decide(need, models, balance), ranking)
    assert.deepStrictEqual(decide(need, models.toReversed(), balance), ranking)
    assert.deepStrictEqual(decide(need, [...models.slice(3), ...models.slice(0, 3)], balance), ranking)
  })

  it.prop(
    "candidates that are at least as good in every respect are never behind",
    [Needs, Models, Balance, Model, Schema.Array(Schema.Literals(respects)).check(Schema.isMaxLength(3))],
    ([need, others, balance, model, worseIn]) => {
      const better: Model = { ...model, id: "b" }
      const lesser = worseIn.reduce((one, respect) => worsen[respect](one), { ...model, id: "a" })
      const isSame = JSON.stringify({ ...lesser, id: "b" }) === JSON.stringify(better)
      const ids = idsOf(decide(need, [...named(others), lesser, better], balance).candidates)
      if (isSame || !ids.includes("a")) return
      assert.isBelow(ids.indexOf("b"), ids.indexOf("a"))
    }
  )

  it.prop(
    "the candidates begin with the cheapest eligible model if only the price counts",
    [Needs, Models],
    ([asked, some]) => {
      const models = alike(some)
      const need = { ...asked, promptTokens: 100 }
      const [first] = decide(need, models, 0).candidates
      const able = models.filter(({ quality }) => quality >= need.difficulty)
      if (first === undefined || able.length === 0) return
      assert.isAtLeast(first.model.quality, need.difficulty)
      const prices = able.map((model) => priceOf(model, models, need))
      assert.strictEqual(priceOf(first.model, models, need), Math.min(...prices))
    }
  )

  it.prop("the candidates begin with the best if only quality counts", [Needs, Models], ([asked, some]) => {
    const models = alike(some)
    const [first] = decide({ ...asked, promptTokens: 100 }, models, 100).candidates
    if (first === undefined) return
    assert.strictEqual(first.model.quality, Math.max(...models.map(({ quality }) => quality)))
  })

  it.prop(
    "the candidates begin with a model of at least the same quality for a harder request",
    [Needs, Models, Balance, Share],
    ([need, some, balance, more]) => {
      const difficulty = need.difficulty + (1 - need.difficulty) * more
      for (const models of [named(some), alike(some)]) {
        const [first] = decide(need, models, balance).candidates
        const [harder] = decide({ ...need, difficulty }, models, balance).candidates
        assert.isAtLeast(harder?.model.quality ?? 0, first?.model.quality ?? 0)
      }
    }
  )

  it.prop(
    "candidates never come earlier because they fail more, are slower or are cooling down",
    [Needs, Models, Balance, Share, Schema.Boolean],
    ([need, some, balance, more, coolingDown]) => {
      const models = named(some)
      const [model, ...others] = models
      if (model === undefined) return
      const { health } = model
      const failing: Model["health"] = {
        ...health,
        coolingDown: health.coolingDown || coolingDown,
        firstOutputSeconds: health.firstOutputSeconds === null ? null : health.firstOutputSeconds + more,
        failureShare: health.failureShare + (1 - health.failureShare) * more
      }
      const before = idsOf(decide(need, models, balance).candidates)
      const after = idsOf(decide(need, [{ ...model, health: failing }, ...others], balance).candidates)
      assert.isAtLeast(after.indexOf(model.id), before.indexOf(model.id))
    }
  )
})

const spec = (id: string, more: Partial<Model> = {}): Model => ({
  id,
  provider: "p",
  contextWindow: 8000,
  maxOutputTokens: 2000,
  tools: true,
  quality: 0.5,
  cost: 0.5,
  health: untried,
  permitted: true,
  ...more
})

const needing = (more: Partial<Need> = {}): Need => ({
  promptTokens: 100,
  tools: false,
  maxOutputTokens: null,
  difficulty: 0.1,
  ...more
})

const order = (need: Need, balance: number, ...models: ReadonlyArray<Model>) =>
  idsOf(decide(need, models, balance).candidates)

const best = (need: Need, ...models: ReadonlyArray<Model>) => order(need, 50, ...models)[0]

const untried: Model["health"] = { ...unknownHealth, requests: 0, failures: 0, learned: [] }

const sick = (more: Partial<Model["health"]>): Partial<Model> => ({ health: { ...untried, ...more } })

describe("rank", () => {
  const poor = spec("poor", { quality: 0.3, cost: 0 })
  const fair = spec("fair", { quality: 0.6, cost: 0.3 })
  const dear = spec("dear", { quality: 0.9, cost: 1 })

  it("rank orders by the balance and by eligibility", () => {
    const all = [poor, fair, dear]
    assert.deepStrictEqual(order(needing(), 0, ...all), ["poor", "fair", "dear"])
    assert.deepStrictEqual(order(needing(), 100, ...all), ["dear", "fair", "poor"])
    assert.deepStrictEqual(order(needing({ difficulty: 0.5 }), 0, ...all), ["fair", "dear", "poor"])
    assert.deepStrictEqual(order(needing({ difficulty: 0.95 }), 0, ...all), ["dear", "fair", "poor"])
    assert.strictEqual(best(needing(), fair, dear), "fair")
    // In the middle, small talk goes to the cheap one, and a proof to the one that can.
    const small = spec("small", { quality: 0.4, cost: 0.1 })
    const large = spec("large", { quality: 0.9, cost: 0.8 })
    assert.strictEqual(best(needing(), small, large), "small")
    assert.strictEqual(best(needing({ difficulty: 0.6 }), small, large), "large")
  })

  it("rank compares prices where every model that fits has one, and costs otherwise", () => {
    const chatty = spec("chatty", { cost: 0.9, price: { input: 1, output: 10 } })
    const attentive = spec("attentive", { cost: 0.1, price: { input: 10, output: 1 } })
    const long = needing({ promptTokens: 6000 })
    assert.strictEqual(best(long, chatty, attentive), "chatty")
    assert.strictEqual(best(needing(), chatty, attentive), "attentive")
    const unpriced = spec("unpriced", { quality: 0.01 })
    assert.strictEqual(best(long, chatty, attentive, unpriced), "attentive")
    assert.strictEqual(best(long, chatty, attentive, { ...unpriced, contextWindow: 10 }), "chatty")
    const [first] = decide(long, [chatty], 50).candidates
    assert.closeTo(first?.reasons.expectedPrice ?? 0, 0.012, 1e-9)
  })

  it("rank prefers models with tools where they are offered, and accepts others without them", () => {
    const better = spec("better", { quality: 1, tools: false })
    assert.strictEqual(best(needing({ tools: true }), better, spec("able")), "able")
    assert.strictEqual(best(needing(), better, spec("able")), "better")
    assert.strictEqual(best(needing({ tools: true }), better), "better")
  })

  it("rank prefers a model whose window leaves room for an answer", () => {
    const full = spec("full", { quality: 1, contextWindow: 1000 })
    const asked = needing({ promptTokens: 900 })
    assert.strictEqual(best(asked, full, spec("roomy")), "roomy")
    assert.strictEqual(best(asked, full), "full")
    assert.strictEqual(best(needing({ promptTokens: 900, maxOutputTokens: 50 }), full, spec("roomy")), "full")
  })

  it("rank counts the room in the window, whatever a model could write into it", () => {
    const terse = spec("terse", { contextWindow: 1000, maxOutputTokens: 300 })
    assert.strictEqual(
      best(needing({ promptTokens: 500 }), terse, { ...terse, id: "wordy", maxOutputTokens: 900 }),
      "wordy"
    )
  })

  it("rank prefers the more capable model where all else is equal", () => {
    assert.strictEqual(best(needing(), spec("a", { tools: false }), spec("b")), "b")
    assert.strictEqual(best(needing(), spec("a"), spec("b", { contextWindow: 9000 })), "b")
    assert.strictEqual(best(needing(), spec("a"), spec("b", { maxOutputTokens: 3000 })), "b")
    assert.deepStrictEqual(order(needing({ promptTokens: 8000 }), 50, spec("a")), [])
  })

  it("rank ignores a maximum of output tokens that no model reaches", () => {
    const wordy = spec("wordy", { quality: 0.1, maxOutputTokens: 4000 })
    assert.strictEqual(best(needing({ maxOutputTokens: 1_000_000 }), wordy, spec("good")), "good")
  })

  it("rank prefers a model that is nearly as good to one that fails or is slow", () => {
    const good = { quality: 0.8 }
    assert.strictEqual(best(needing(), spec("a", { ...good, ...sick({ coolingDown: true }) }), poor), "poor")
    assert.strictEqual(best(needing(), spec("a", { ...good, ...sick({ failureShare: 0.6 }) }), poor), "poor")
    assert.strictEqual(best(needing(), spec("a", sick({ failureShare: 0.1 })), spec("b")), "b")
    assert.strictEqual(best(needing(), spec("a", sick({ firstOutputSeconds: 9 })), spec("b")), "b")
    const quick = spec("b", sick({ firstOutputSeconds: 0.1 }))
    assert.strictEqual(best(needing(), spec("a"), quick), "b")
    // Being well is worth something, but not everything.
    assert.strictEqual(
      best(needing(), spec("a", { ...good, ...sick({ firstOutputSeconds: 4 }) }), spec("b")),
      "a"
    )
  })

  it("rank sorts equal models by their ids", () => {
    assert.deepStrictEqual(order(needing(), 50, spec("b"), spec("c"), spec("a")), ["a", "b", "c"])
    const elsewhere = [spec("a", { provider: "z" }), spec("a", { provider: "b" })]
    assert.deepStrictEqual(
      decide(needing(), elsewhere, 50).candidates.map(({ model }) => model.provider),
      ["b", "z"]
    )
  })
})
