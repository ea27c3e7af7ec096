import { Array as Arr, Effect, Option, Order, Schema } from "effect"
import { type ModelSpec, limitNames } from "../domain/Model.ts"
import { AnswerMalformed, type Fault } from "../providers/Fault.ts"

// The facts that a model's name suggests are defaults, which a catalog file overrides.

/** Models for embeddings, audio, images or moderation, or that Chat Completions doesn't serve. */
const otherKinds = new RegExp(
  [
    "embed|minilm|(^|[\\W_])(bge|gte|e5|clip|colbert)[\\W_]|rerank",
    "whisper|transcri|speech|audio|realtime|(^|[\\W_])(tts|asr|stt)($|[\\W_])",
    "dall-?e|image|diffusion|(^|[\\W_])(sora|flux|veo|imagen)($|[\\W_])",
    "moderation|guard|(^|[\\W_])ocr($|[\\W_])",
    "davinci|babbage|^gpt-3\\.5-turbo-instruct|computer-use|deep-research|search-(preview|api)",
    "^gpt-5.*-?codex|^codex-|^(o\\d+|gpt-[5-9][\\d.]*)-pro"
  ].join("|"),
  "i"
)

export const isChatModel = (id: string): boolean => !otherKinds.test(id.split("/").at(-1) ?? id)

/** OpenAI's list has no limits; each of these has at least as much. */
const openAiFamilies = /^(chatgpt-|gpt-4o|gpt-4\.1|gpt-[5-9]|o[1-9])/
const openAiLimits = { contextWindow: 128_000, maxOutputTokens: 16_384 }

const unknownLimits = { contextWindow: 32_768, maxOutputTokens: 4096 }

/** If only the window is known, an answer may have a quarter of it, up to this. */
const guessedOutputTokensMax = 16_384

/** The limits that a server gives, completed by defaults. */
export const limitsOf = (
  id: string,
  given: { readonly contextWindow: number | null; readonly maxOutputTokens: number | null }
): Pick<ModelSpec, "contextWindow" | "maxOutputTokens" | "assumed"> => {
  const guessed = openAiFamilies.test(id) ? openAiLimits : unknownLimits
  const contextWindow = given.contextWindow ?? guessed.contextWindow
  const quarter = Math.max(1, Math.min(guessedOutputTokensMax, Math.floor(contextWindow / 4)))
  const usual = given.contextWindow === null ? guessed.maxOutputTokens : quarter
  const assumed = limitNames.filter((name) => given[name] === null)
  return {
    contextWindow,
    maxOutputTokens: Math.min(given.maxOutputTokens ?? usual, contextWindow),
    ...(assumed.length === 0 ? {} : { assumed })
  }
}

/**
 * Families whose names say that they see images. Of Gemma 3 the two smallest and 3n are served for text
 * alone.
 */
const seeing = new RegExp(
  [
    "(^|/)(chatgpt-4o|gpt-4o|gpt-4\\.1|gpt-4-turbo(?!-preview)|gpt-[5-9]|o1$|o1-20|o3$|o3-20|o4-mini)",
    "claude-(3|opus|sonnet|haiku|fable)|gemini|llava|pixtral|moondream|minicpm-?(v|o)($|[\\W_\\d])|(intern|smol|cog)vlm?",
    "mistral-small-?3\\.[12]|mistral-small-250[36]|mistral-medium-(3|250[58])|glm-4[\\d.]*v($|[\\W_])|multimodal",
    "(^|[\\W_\\d])vl($|[\\W_\\d])|[\\W_]vision|llama-?4($|[\\W_])",
    "gemma-?3($|[\\W_](?!(.*[\\W_])?(1b|270m)($|[\\W_])))"
  ].join("|"),
  "i"
)

/** Families that OpenAI makes obey a JSON Schema. */
const enforcing = /^(gpt-4o|gpt-4\.1|gpt-[5-9]|o[134])/

/** The abilities of a model by its server's word, or else by its name. */
const abilitiesOf = (
  id: string,
  vision: boolean | null | undefined
): Pick<ModelSpec, "vision" | "structuredOutput"> => ({
  ...((vision ?? seeing.test(id)) ? { vision: true } : {}),
  ...(enforcing.test(id) ? { structuredOutput: true } : {})
})

type Standing = Pick<ModelSpec, "quality" | "cost">

/** Words for the smaller and the larger models of a family. */
const sizeWords: ReadonlyArray<readonly [RegExp, Standing]> = [
  [/(^|[\W_])(nano|tiny)($|[\W_])/i, { quality: 0.35, cost: 0.1 }],
  [/(^|[\W_])(mini|small|lite|flash|haiku|turbo)($|[\W_])/i, { quality: 0.6, cost: 0.25 }],
  [/(^|[\W_])(large|opus|ultra|max)($|[\W_])/i, { quality: 0.85, cost: 0.8 }]
]
const middling: Standing = { quality: 0.65, cost: 0.5 }

/** The assumed quality and cost of a model that is only known by name. */
export const standingOf = (id: string): Standing => {
  const billions = parametersOf(id)
  if (billions !== null) {
    const size = Math.log2(Math.max(1, billions))
    return { quality: Math.min(0.9, 0.25 + 0.1 * size), cost: Math.min(0.9, 0.1 * size) }
  }
  return sizeWords.find(([words]) => words.test(id))?.[1] ?? middling
}

/** `llama-3.1-8b` has 8, `mixtral-8x7b` 56. */
const parametersOf = (id: string): number | null => {
  const found = /(?:^|[^a-z0-9.])(?:(\d{1,3})x)?(\d{1,4}(?:\.\d+)?)b(?:$|[^a-z0-9])/i.exec(id)
  return found === null ? null : Number(found[1] ?? 1) * Number(found[2])
}

const isSnapshot = (id: string): boolean => /-\d{4}(-\d{2}-\d{2})?$|-\d{8}$/.test(id)

/** Most models of a list; the newest are taken. */
const modelsMax = 500

const Field = Schema.optionalKey(Schema.Unknown)

/**
 * One model of `GET /models`: OpenAI's fields, and those in which other servers give the limits and what it
 * can see.
 */
const ListedModel = Schema.Struct({
  id: Schema.NonEmptyString,
  created: Field,
  max_model_len: Field,
  context_length: Field,
  context_window: Field,
  max_context_length: Field,
  meta: Schema.optionalKey(Schema.NullOr(Schema.Struct({ n_ctx: Field, n_ctx_train: Field }))),
  max_completion_tokens: Field,
  max_output_tokens: Field,
  top_provider: Schema.optionalKey(Schema.NullOr(Schema.Struct({ max_completion_tokens: Field }))),
  /** `input_modalities` of OpenRouter, and `capabilities.vision` of Mistral. */
  architecture: Field,
  capabilities: Field
})
type ListedModel = typeof ListedModel.Type

/** Some servers answer with a bare list. */
const ModelListBody = Schema.fromJsonString(
  Schema.Union([Schema.Struct({ data: Schema.Array(Schema.Unknown) }), Schema.Array(Schema.Unknown)])
)

const decodeEntry = Schema.decodeUnknownOption(ListedModel)
const decodeModalities = Schema.decodeUnknownOption(
  Schema.Struct({ input_modalities: Schema.Array(Schema.String) })
)
const decodeCapabilities = Schema.decodeUnknownOption(Schema.Struct({ vision: Schema.Boolean }))

/** One of a server's chat models. */
export interface ListedSpec {
  readonly id: string
  readonly created: number
  readonly contextWindow: number | null
  readonly maxOutputTokens: number | null
  /** True if the window is that of the training: the server may have been started with a smaller one. */
  readonly isTrained: boolean
  /** True if the model sees images; null where the server doesn't say. */
  readonly vision: boolean | null
}

const entriesOf = (body: string): Effect.Effect<ReadonlyArray<ListedModel>, Fault> =>
  Schema.decodeUnknownEffect(ModelListBody)(body).pipe(
    Effect.mapError(() => new AnswerMalformed({ detail: "the answer is no list of models" })),
    Effect.map((list) =>
      ("data" in list ? list.data : list).flatMap((entry) => Option.toArray(decodeEntry(entry)))
    )
  )

/** The chat models of a `GET /models` answer, without entries that can't be decoded. */
export const decodeModelList = (body: string): Effect.Effect<ReadonlyArray<ListedSpec>, Fault> =>
  Effect.map(entriesOf(body), (entries) => {
    const models = entries.filter(({ id }) => isChatModel(id)).map(listed)
    const distinct = Arr.dedupeWith(models, (one, other) => one.id === other.id)
    return Arr.take(Arr.sort(distinct, newestFirst), modelsMax)
  })

/** The ids of all models of a `GET /models` answer, chat models or not. */
export const idsOfList = (body: string): Effect.Effect<ReadonlySet<string>, Fault> =>
  Effect.map(entriesOf(body), (entries) => new Set(entries.map(({ id }) => id)))

const newestFirst = Order.combine(
  Order.mapInput(Order.flip(Order.Number), (model: ListedSpec) => model.created),
  Order.mapInput(Order.String, (model: ListedSpec) => model.id)
)

const listed = (entry: ListedModel): ListedSpec => {
  // The window that the server was started with precedes that of the training.
  const served =
    count(entry.max_model_len) ??
    count(entry.meta?.n_ctx) ??
    count(entry.context_length) ??
    count(entry.context_window) ??
    count(entry.max_context_length)
  const trained = count(entry.meta?.n_ctx_train)
  return {
    id: entry.id,
    created: count(entry.created) ?? 0,
    contextWindow: served ?? trained,
    isTrained: served === null && trained !== null,
    maxOutputTokens:
      count(entry.max_completion_tokens) ??
      count(entry.max_output_tokens) ??
      count(entry.top_provider?.max_completion_tokens),
    vision: visionOf(entry)
  }
}

const visionOf = ({ architecture, capabilities }: ListedModel): boolean | null =>
  decodeModalities(architecture).pipe(
    Option.map(({ input_modalities }) => input_modalities.includes("image")),
    Option.orElse(() => Option.map(decodeCapabilities(capabilities), ({ vision }) => vision)),
    Option.getOrNull
  )

const count = (given: unknown): number | null =>
  typeof given === "number" && Number.isSafeInteger(given) && given > 0 ? given : null

/** Quality that the newest model of a list gains. */
const noveltyWorth = 0.1

/** Quality that a dated snapshot lacks beside its model. */
const snapshotDiscount = 0.02

const bounded = (share: number): number => Math.min(1, Math.max(0, share))

/** The models of a server's list, for the catalog. */
export const specsOfList = (provider: string, list: ReadonlyArray<ListedSpec>): ReadonlyArray<ModelSpec> => {
  const releases = Arr.dedupe(list.map((model) => model.created))
  return list.map((model) => {
    const standing = standingOf(model.id)
    const novelty = releases.length < 2 ? 0 : 1 - releases.indexOf(model.created) / (releases.length - 1)
    const discount = isSnapshot(model.id) ? snapshotDiscount : 0
    return {
      id: model.id,
      provider,
      ...limitsOf(model.id, model),
      tools: true,
      ...abilitiesOf(model.id, model.vision),
      quality: bounded(standing.quality + noveltyWorth * novelty - discount),
      cost: standing.cost
    }
  })
}

/** The named models, the first preferred, with what the server's list says of them. */
export const specsOfNames = (
  provider: string,
  names: ReadonlyArray<string>,
  list: ReadonlyArray<ListedSpec>
): ReadonlyArray<ModelSpec> =>
  names.map((id, position) => {
    const given = list.find((model) => model.id === id)
    return {
      id,
      provider,
      ...limitsOf(id, given ?? { contextWindow: null, maxOutputTokens: null }),
      tools: true,
      ...abilitiesOf(id, given?.vision),
      quality: 1 - position / names.length,
      cost: 0.5
    }
  })
