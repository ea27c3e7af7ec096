import { Schema } from "effect"

const PositiveInt = Schema.Int.check(Schema.isGreaterThan(0))
const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

const Amount = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

/** The price of a million tokens, in the same currency for all models. */
const ModelPrice = Schema.Struct({
  input: Amount,
  output: Amount,
  /** Input that the provider reads from its prompt cache; absent: as other input. */
  cachedInput: Schema.optionalKey(Amount),
  /** Input that the provider writes to its prompt cache; absent: as other input. */
  cacheWrite: Schema.optionalKey(Amount),
  /** Output that is reasoning; absent: as other output. */
  reasoning: Schema.optionalKey(Amount)
})
export type ModelPrice = typeof ModelPrice.Type

/** The price with every part of it. */
export const wholePrice = ({
  input,
  output,
  cachedInput = input,
  cacheWrite = input,
  reasoning = output
}: ModelPrice): Required<ModelPrice> => ({ input, output, cachedInput, cacheWrite, reasoning })

/** Required in a catalog file; a server may report them. */
export const limitNames = ["contextWindow", "maxOutputTokens"] as const

/** A model in a catalog file. */
export const DeclaredModel = Schema.Struct({
  /** The id that the provider knows and that a response reports in `model`. */
  id: Schema.NonEmptyString,
  provider: Schema.NonEmptyString,
  /** Tokens that prompt and answer may have together. */
  contextWindow: PositiveInt,
  /** Tokens that one answer may have. */
  maxOutputTokens: PositiveInt,
  /** True if the model can call tools. */
  tools: Schema.Boolean,
  /** True if the model sees images. */
  vision: Schema.optionalKey(Schema.Boolean),
  /** True if its server makes an answer obey a JSON Schema; other answers are checked by the service. */
  structuredOutput: Schema.optionalKey(Schema.Boolean),
  /**
   * Quality relative to the other models, 0 to 1: the model is eligible for requests up to this difficulty.
   */
  quality: Share,
  /** Cost relative to the other models, 0 to 1. */
  cost: Share,
  /** Replaces `cost` if every model that fits a request has a price. */
  price: Schema.optionalKey(ModelPrice)
})

/** One model of the catalog. */
export const ModelSpec = Schema.Struct({
  ...DeclaredModel.fields,
  /** Limits that neither the catalog nor the server states. */
  assumed: Schema.optionalKey(Schema.Array(Schema.Literals(limitNames)))
})
export type ModelSpec = typeof ModelSpec.Type

export const providerStates = ["ok", "unknown", "failing", "open"] as const

/** The health of a model server by its recent requests; no request is sent to find out. */
export const ProviderHealth = Schema.Struct({
  provider: Schema.String,
  /**
   * `unknown`: no recent request. `failing`: the last request failed, or the list of models can't be read.
   * `open`: the circuit is open, so other models are asked first.
   */
  state: Schema.Literals(providerStates),
  /** Requests that run now, and those that wait for a permit. */
  running: Schema.Int,
  waiting: Schema.Int,
  concurrentMax: Schema.Int,
  /** The reason of the last failure; null while requests succeed. */
  failure: Schema.NullOr(Schema.String),
  /** Seconds until the circuit is half-open; null while it is closed. */
  openSeconds: Schema.NullOr(Schema.Finite)
})
export type ProviderHealth = typeof ProviderHealth.Type

export const learnableParts = [
  "tools",
  "token_parameter",
  "stream_options",
  "prompt_cache_key",
  "cache_control",
  "thinking_controls",
  "encrypted_reasoning",
  "reasoning_summary"
] as const

/**
 * A part of the service's own that the server of a model refused, and that requests leave out until it is
 * tried again.
 */
const LearnedPart = Schema.Struct({
  /**
   * `tools`: the service's own tools aren't offered. `token_parameter`: the bound on the answer has its other
   * name. `stream_options`: the usage of a stream isn't requested. `prompt_cache_key`: the key for requests
   * that begin alike isn't sent. `cache_control`: the marks of parts that may be cached aren't sent.
   * `thinking_controls`: a summary of the thinking and the removal of invalid thinking blocks aren't
   * requested. `encrypted_reasoning`: reasoning in encrypted form isn't requested. `reasoning_summary`: a
   * summary of the reasoning isn't requested.
   */
  part: Schema.Literals(learnableParts),
  /** The server's message, bounded, without keys. */
  sentence: Schema.String,
  /** Seconds until the server is asked in full again. */
  seconds: Schema.Int
})
export type LearnedPart = typeof LearnedPart.Type

const learnedTexts: Readonly<Record<LearnedPart["part"], string>> = {
  tools: "It is not offered the service's own tools",
  token_parameter: "The bound on its answers is sent by the other name",
  stream_options: "It is not asked to count the tokens of streams",
  prompt_cache_key: "It is not told which requests begin alike",
  cache_control: "It is not told what it may cache",
  thinking_controls: "It is not asked to show what the model thinks",
  encrypted_reasoning: "It is not asked for its reasoning in the form that later requests give back to it",
  reasoning_summary: "It is not asked for summaries of its reasoning"
}

/** A sentence for operators. */
export const learnedText = ({ part, seconds, sentence }: LearnedPart): string =>
  `${learnedTexts[part]} for ${seconds} seconds more, because its server said: ${sentence}`

/** The health of a model by its recent requests; no request is sent to find out. */
export const ModelHealth = Schema.Struct({
  /**
   * The circuit of its server is open, its server asked for a pause, or it failed often and another request
   * is the probe.
   */
  coolingDown: Schema.Boolean,
  /** The recent average time to the first output; null without recent requests. */
  firstOutputSeconds: Schema.NullOr(Schema.Finite),
  /** The share of recent requests that failed, 0 to 1, as if one more had succeeded; it decays with time. */
  failureShare: Schema.Finite,
  /** Recent requests, and those of them that failed; both decay with time, so they are no whole numbers. */
  requests: Schema.Finite,
  failures: Schema.Finite,
  /** The service's own parts of requests that its server refused. */
  learned: Schema.Array(LearnedPart)
})
export type ModelHealth = typeof ModelHealth.Type

/** The health of a model without requests. */
export const unknownHealth: ModelHealth = {
  coolingDown: false,
  firstOutputSeconds: null,
  failureShare: 0,
  requests: 0,
  failures: 0,
  learned: []
}
