import type { ModelHealth, ModelSpec } from "../domain/Model.ts"

/** What a request asks of a model. */
export interface Need {
  /** Estimated tokens of the least prompt: instructions and the current message, without any history. */
  readonly promptTokens: number
  /** Whether the request offers tools. Models that can call them are preferred, but not demanded. */
  readonly tools: boolean
  /** The most tokens that the answer may have; null leaves it to the model's own maximum. */
  readonly maxOutputTokens: number | null
  /** How hard the request seems, 0 to 1: the quality that a model should have. */
  readonly difficulty: number
}

/** Why a model stands where it stands, in numbers. */
export interface Reasons {
  /** Its server is left alone for now. */
  readonly coolingDown: boolean
  /** Tools are offered, and it can't call them. */
  readonly lacksTools: boolean
  /** Its window leaves little room for an answer. */
  readonly isTight: boolean
  /** More than half of its recent requests failed. */
  readonly isFailing: boolean
  /** Its quality is what the difficulty asks for, or more. */
  readonly isEligible: boolean
  /** What the request may cost, in the currency of the catalog; null where not every model that fits has a price. */
  readonly expectedPrice: number | null
  readonly health: ModelHealth
  /** What speaks for the model, and below 0 what speaks against it; the utility is their sum. */
  readonly terms: {
    readonly quality: number
    readonly price: number
    readonly latency: number
    readonly failures: number
  }
  readonly utility: number
}

/** A model that can serve the request, and the most tokens that its answer may have. */
export interface Ranked<Model extends ModelSpec = ModelSpec> {
  readonly model: Model
  /** The least of what was asked, what the model can write, and what its window leaves; at least 1. */
  readonly maxOutputTokens: number
  readonly reasons: Reasons
}

/** A model that can't: the prompt doesn't fit its window, or it is not for this caller. */
export interface Excluded<Model extends ModelSpec = ModelSpec> {
  readonly model: Model
  readonly why: "window" | "permits"
}

export interface Ranking<Model extends ModelSpec = ModelSpec> {
  /** Best first. */
  readonly candidates: ReadonlyArray<Ranked<Model>>
  readonly excluded: ReadonlyArray<Excluded<Model>>
}

/** Everything that the decision rests on. */
export interface Circumstances<Model extends ModelSpec> {
  readonly need: Need
  readonly models: ReadonlyArray<Model>
  readonly health: (model: Model) => ModelHealth
  readonly permits: (model: Model) => boolean
  /** 0: the cheapest that will do. 100: the best there is. */
  readonly balance: number
}

/** An answer with this much room is seldom cut; a model that leaves less because its window is nearly full comes later. */
const comfortableOutputTokens = 1024

/** A request is expected to be answered with so many tokens, where it allows as many. */
const expectedOutputTokens = 600

const tokensPerPrice = 1_000_000

/** Above this share of failures another model is better asked first. */
const failureShareMax = 0.5

/** So long takes the first output of a model of which nothing is known. */
const usualFirstOutputSeconds = 1

/** After so long a first output is half as bad as one that never comes. */
const slowFirstOutputSeconds = 5

/**
 * How much quality counts at the upper end of the balance. It falls off faster than the price grows, so that both count the
 * same in the middle: what is easy goes to a cheap model then, and what is hard to one that will do.
 */
const qualityWeight = 2

/** How much being slow, and failing, count beside the price; at either end of the balance neither counts. */
const latencyWeight = 0.5
const failureWeight = 2

/**
 * The routing decision. Every model in it can serve the need, best first; it depends on nothing outside its arguments, and
 * not on the order of the models.
 *
 * What makes the order: first the models whose server isn't left alone, then those that can call the tools that are offered,
 * then those with room for an answer, then those that don't fail more often than not, then those that will do, which is to
 * say whose quality is at least the difficulty. Among models that will do, the greatest utility comes first; with b as the
 * balance from 0 to 1, and price, slowness and failures from 0 to 1 each:
 *
 *     utility = 2·b²·quality − (1 − b)·price − min(b, 1 − b)·(slowness / 2 + 2·failures)
 *
 * Among models that won't do, the best comes first. Models of one utility are told apart by quality, price, cost, failures,
 * latency, tools, window and output, one after the other, and at last by their ids.
 */
export const rank = <Model extends ModelSpec>({
  balance,
  health,
  models,
  need,
  permits
}: Circumstances<Model>): Ranking<Model> => {
  const fitting: Array<Model> = []
  const excluded: Array<Excluded<Model>> = []
  for (const model of models) {
    if (model.contextWindow <= need.promptTokens) excluded.push({ model, why: "window" })
    else if (permits(model)) fitting.push(model)
    else excluded.push({ model, why: "permits" })
  }
  const prices = pricesOf(fitting, need)
  const weights = weightsOf(balance)
  const candidates = fitting.map((model, index): Ranked<Model> => ({
    model,
    maxOutputTokens: Math.min(
      need.maxOutputTokens ?? model.maxOutputTokens,
      model.maxOutputTokens,
      model.contextWindow - need.promptTokens
    ),
    reasons: reasonsOf(need, model, health(model), weights, {
      share: prices.shares[index] ?? model.cost,
      expected: prices.expected?.[index] ?? null
    })
  }))
  return {
    candidates: candidates.sort(bestFirst),
    excluded: excluded.sort((one, other) => byId(one.model, other.model))
  }
}

interface Weights {
  readonly quality: number
  readonly price: number
  readonly latency: number
  readonly failures: number
}

const weightsOf = (balance: number): Weights => {
  const b = Math.min(1, Math.max(0, balance / 100))
  const between = Math.min(b, 1 - b)
  return {
    quality: qualityWeight * b * b,
    price: 1 - b,
    latency: latencyWeight * between,
    failures: failureWeight * between
  }
}

/** What the request may cost with each model, as shares of the dearest; by the catalog's `cost` unless all have a price. */
const pricesOf = (
  models: ReadonlyArray<ModelSpec>,
  need: Need
): { readonly shares: ReadonlyArray<number>; readonly expected: ReadonlyArray<number> | null } => {
  const expected: Array<number> = []
  const outputTokens = Math.min(need.maxOutputTokens ?? expectedOutputTokens, expectedOutputTokens)
  let dearest = 0
  for (const { price } of models) {
    if (price === undefined) return { shares: models.map(({ cost }) => cost), expected: null }
    const amount = (need.promptTokens * price.input + outputTokens * price.output) / tokensPerPrice
    dearest = Math.max(dearest, amount)
    expected.push(amount)
  }
  return { shares: expected.map((amount) => (dearest === 0 ? 0 : amount / dearest)), expected }
}

const reasonsOf = (
  need: Need,
  model: ModelSpec,
  health: ModelHealth,
  weights: Weights,
  price: { readonly share: number; readonly expected: number | null }
): Reasons => {
  const seconds = firstOutputSeconds(health)
  const terms = {
    quality: weights.quality * model.quality,
    price: -weights.price * price.share,
    latency: -weights.latency * (seconds / (seconds + slowFirstOutputSeconds)),
    failures: -weights.failures * health.failureShare
  }
  return {
    coolingDown: health.coolingDown,
    lacksTools: need.tools && !model.tools,
    isTight:
      model.contextWindow - need.promptTokens <
      Math.min(need.maxOutputTokens ?? comfortableOutputTokens, comfortableOutputTokens),
    isFailing: health.failureShare > failureShareMax,
    isEligible: model.quality >= need.difficulty,
    expectedPrice: price.expected,
    health,
    terms,
    utility: terms.quality + terms.price + terms.latency + terms.failures
  }
}

const firstOutputSeconds = (health: ModelHealth): number =>
  health.firstOutputSeconds ?? usualFirstOutputSeconds

const falseFirst = (one: boolean, other: boolean): number => Number(one) - Number(other)

const textOrder = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** What a catalog says of the price, whatever a request would make of it. */
const listPrice = ({ price }: ModelSpec): number => (price === undefined ? 0 : price.input + price.output)

const byId = (one: ModelSpec, other: ModelSpec): number =>
  textOrder(one.id, other.id) || textOrder(one.provider, other.provider)

/** Every step prefers whoever is better in one respect, so that whoever is better in all of them is never behind. */
const bestFirst = (one: Ranked, other: Ranked): number => {
  const [a, b] = [one.reasons, other.reasons]
  const standing =
    falseFirst(a.coolingDown, b.coolingDown) ||
    falseFirst(a.lacksTools, b.lacksTools) ||
    falseFirst(a.isTight, b.isTight) ||
    falseFirst(a.isFailing, b.isFailing) ||
    falseFirst(b.isEligible, a.isEligible)
  if (standing !== 0) return standing
  const quality = other.model.quality - one.model.quality
  return (
    (a.isEligible ? 0 : quality) ||
    b.utility - a.utility ||
    quality ||
    (a.expectedPrice ?? 0) - (b.expectedPrice ?? 0) ||
    one.model.cost - other.model.cost ||
    listPrice(one.model) - listPrice(other.model) ||
    a.health.failureShare - b.health.failureShare ||
    firstOutputSeconds(a.health) - firstOutputSeconds(b.health) ||
    falseFirst(other.model.tools, one.model.tools) ||
    other.model.contextWindow - one.model.contextWindow ||
    other.model.maxOutputTokens - one.model.maxOutputTokens ||
    byId(one.model, other.model)
  )
}
