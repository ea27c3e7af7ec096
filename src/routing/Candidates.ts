import type { ModelHealth, ModelSpec } from "../domain/Model.ts"

/** The needs of a request that a model must meet. */
export interface Need {
  /**
   * Estimated tokens of the shortest prompt: instructions and the latest user message, without any history.
   */
  readonly promptTokens: number
  /** True if tools are offered. Models that can call them are preferred, not required. */
  readonly tools: boolean
  /** True if the model must see images. */
  readonly vision?: boolean
  /** The one model that may answer; any may where it is absent. */
  readonly model?: string
  /** The most tokens of the answer; null for the model's own maximum. */
  readonly maxOutputTokens: number | null
  /** 0 to 1: the quality that a model should have. */
  readonly difficulty: number
}

/** Why a candidate has its position. */
interface Reasons {
  /** Its circuit is open, it asked for a pause, or another request is trying whether it still fails. */
  readonly coolingDown: boolean
  /** Tools are offered, and it can't call them. */
  readonly lacksTools: boolean
  /** Its window leaves little room for an answer. */
  readonly isTight: boolean
  /** More than half of its recent requests failed. */
  readonly isFailing: boolean
  /** Its quality is at least the difficulty. */
  readonly isEligible: boolean
  /** Price in the currency of the catalog; null unless all models that fit have a price. */
  readonly expectedPrice: number | null
  readonly health: ModelHealth
  /** The parts of the utility, below 0 for what lowers it. */
  readonly terms: Weights
  readonly utility: number
}

interface Weights {
  readonly quality: number
  readonly price: number
  readonly latency: number
  readonly failures: number
}

/** A model, and whatever belongs to it. */
interface Entry {
  readonly model: ModelSpec
}

/** A model that can serve the request. */
export type Ranked<E extends Entry = Entry> = E & {
  /** The least of what was asked, what the model can write, and what its window leaves; at least 1. */
  readonly maxOutputTokens: number
  readonly reasons: Reasons
}

/**
 * A model whose window is too small for the prompt, that the caller may not use or didn't name, or that
 * doesn't see images.
 */
export interface Excluded<E extends Entry = Entry> {
  readonly model: E["model"]
  readonly why: "window" | "permits" | "model" | "vision"
}

export interface Ranking<E extends Entry = Entry> {
  /** Best first. */
  readonly candidates: ReadonlyArray<Ranked<E>>
  readonly excluded: ReadonlyArray<Excluded<E>>
}

/** An answer with this much room is seldom cut off. */
const comfortableOutputTokens = 1024

/** The length of an answer when prices are compared, unless the request allows less. */
const expectedOutputTokens = 600

const tokensPerPrice = 1_000_000

const failureShareMax = 0.5

/** Assumed for a model of which nothing is known. */
const usualFirstOutputSeconds = 1

/** A first output after so long is half as bad as one that never comes. */
const slowFirstOutputSeconds = 5

/**
 * Quality weighs this much at the upper end of the balance, and falls with its square while the price falls
 * linearly. In the middle they weigh the same: easy requests go to a cheap model, and hard ones to an
 * eligible one.
 */
const qualityWeight = 2

/** Weights beside the price; both weigh nothing at either end of the balance. */
const latencyWeight = 0.5
const failureWeight = 2

/**
 * Ranks the models that can serve a need. Models that are not cooling down come first; among them those that
 * can call the tools, then those with room for an answer, then those that don't fail more often than not,
 * then the eligible ones. Eligible models are in order of utility, with b as the balance from 0 to 1 and
 * price, slowness and failures from 0 to 1:
 *
 *     utility = 2·b²·quality − (1 − b)·price − min(b, 1 − b)·(slowness / 2 + 2·failures)
 *
 * Models below the required quality are in order of quality. The order of `models` doesn't matter.
 */
export const rank = <E extends Entry>(options: {
  readonly need: Need
  readonly models: ReadonlyArray<E>
  readonly health: (model: E["model"]) => ModelHealth
  readonly permits: (model: E["model"]) => boolean
  /** 0: the cheapest eligible model. 100: the best there is. */
  readonly balance: number
}): Ranking<E> => {
  const { need } = options
  const fitting: Array<E> = []
  const excluded: Array<Excluded<E>> = []
  for (const entry of options.models) {
    const model: E["model"] = entry.model
    if (need.model !== undefined && model.id !== need.model) excluded.push({ model, why: "model" })
    else if (need.vision === true && model.vision !== true) excluded.push({ model, why: "vision" })
    else if (model.contextWindow <= need.promptTokens) excluded.push({ model, why: "window" })
    else if (options.permits(model)) fitting.push(entry)
    else excluded.push({ model, why: "permits" })
  }
  const price = pricesOf(fitting, need)
  const weights = weightsOf(options.balance)
  const candidates = fitting.map((entry): Ranked<E> => {
    const { model } = entry
    return {
      ...entry,
      maxOutputTokens: Math.min(
        need.maxOutputTokens ?? model.maxOutputTokens,
        model.maxOutputTokens,
        model.contextWindow - need.promptTokens
      ),
      reasons: reasonsOf(need, model, options.health(model), weights, price(model))
    }
  })
  return {
    candidates: candidates.sort(bestFirst),
    excluded: excluded.sort((one, other) => byId(one.model, other.model))
  }
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

/**
 * The expected cost of the request with each model, as a share of the highest; `cost` unless all have a
 * price.
 */
const pricesOf = (entries: ReadonlyArray<Entry>, need: Need) => {
  const outputTokens = Math.min(need.maxOutputTokens ?? expectedOutputTokens, expectedOutputTokens)
  const expectedOf = ({ price }: ModelSpec): number | null =>
    price === undefined
      ? null
      : (need.promptTokens * price.input + outputTokens * price.output) / tokensPerPrice
  const isPriced = entries.every(({ model }) => model.price !== undefined)
  const most = Math.max(0, ...entries.map(({ model }) => expectedOf(model) ?? 0))
  return (model: ModelSpec): { readonly share: number; readonly expected: number | null } => {
    const expected = isPriced ? expectedOf(model) : null
    if (expected === null) return { share: model.cost, expected }
    return { share: most === 0 ? 0 : expected / most, expected }
  }
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

const listPrice = ({ price }: ModelSpec): number => (price === undefined ? 0 : price.input + price.output)

const byId = (one: ModelSpec, other: ModelSpec): number =>
  textOrder(one.id, other.id) || textOrder(one.provider, other.provider)

/**
 * Each step prefers the better one in one respect, so that a model that is better in all of them is never
 * behind.
 */
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
