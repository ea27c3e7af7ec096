import { limitNames, type ModelSpec } from "../domain/ModelSpec.ts"

/**
 * What can be guessed of a model from its name, where its server tells nothing but names. All of it is a default: a
 * catalog file says it better.
 */

/** Names of models that make vectors, sounds, pictures or verdicts, or that aren't served by Chat Completions. */
const otherKinds = new RegExp(
  [
    "embed|minilm|(^|[\\W_])(bge|gte|e5|clip|colbert)[\\W_]|rerank",
    "whisper|transcri|speech|audio|realtime|(^|[\\W_])(tts|asr|stt)($|[\\W_])",
    "dall-?e|image|diffusion|(^|[\\W_])(sora|flux|veo|imagen)($|[\\W_])",
    "moderation|guard|(^|[\\W_])ocr($|[\\W_])",
    "davinci|babbage|^gpt-3\\.5-turbo-instruct|computer-use|deep-research|search-(preview|api)",
    "^gpt-5.*-?codex|^codex-|^(o\\d+|gpt-5[\\d.]*)-pro"
  ].join("|"),
  "i"
)

export const isChatModel = (id: string): boolean => !otherKinds.test(id.split("/").at(-1) ?? id)

/** OpenAI's list tells no limits; each of these takes and writes at least as much. */
const openAiFamilies = /^(chatgpt-|gpt-4o|gpt-4\.1|gpt-5|o[1-9])/
const openAiLimits = { contextWindow: 128_000, maxOutputTokens: 16_384 }

/** For a model of which nothing is known. */
const unknownLimits = { contextWindow: 32_768, maxOutputTokens: 4096 }

/** Where only the window is known, an answer may take a quarter of it, up to this. */
const guessedOutputTokensMax = 16_384

/** The limits that the server tells, completed by defaults. */
export const limitsOf = (
  id: string,
  told: { readonly contextWindow: number | null; readonly maxOutputTokens: number | null }
): Pick<ModelSpec, "contextWindow" | "maxOutputTokens" | "assumed"> => {
  const guessed = openAiFamilies.test(id) ? openAiLimits : unknownLimits
  const contextWindow = told.contextWindow ?? guessed.contextWindow
  const quarter = Math.max(1, Math.min(guessedOutputTokensMax, Math.floor(contextWindow / 4)))
  const usual = told.contextWindow === null ? guessed.maxOutputTokens : quarter
  const assumed = limitNames.filter((name) => told[name] === null)
  return {
    contextWindow,
    maxOutputTokens: Math.min(told.maxOutputTokens ?? usual, contextWindow),
    ...(assumed.length === 0 ? {} : { assumed })
  }
}

type Standing = Pick<ModelSpec, "quality" | "cost">

/** By words that makers use for the smaller and the larger of a family. */
const sizeWords: ReadonlyArray<readonly [RegExp, Standing]> = [
  [/(^|[\W_])(nano|tiny)($|[\W_])/i, { quality: 0.35, cost: 0.1 }],
  [/(^|[\W_])(mini|small|lite|flash|haiku|turbo)($|[\W_])/i, { quality: 0.6, cost: 0.25 }],
  [/(^|[\W_])(large|opus|ultra|max)($|[\W_])/i, { quality: 0.85, cost: 0.8 }]
]
const middling: Standing = { quality: 0.65, cost: 0.5 }

/** How good and how dear a model may be, beside others that are only known by name. */
export const standingOf = (id: string): Standing => {
  const billions = parametersOf(id)
  if (billions !== null) {
    const size = Math.log2(Math.max(1, billions))
    return { quality: Math.min(0.9, 0.25 + 0.1 * size), cost: Math.min(0.9, 0.1 * size) }
  }
  return sizeWords.find(([words]) => words.test(id))?.[1] ?? middling
}

/** `llama-3.1-8b` has 8, `mixtral-8x7b` 56; null where the name doesn't say. */
const parametersOf = (id: string): number | null => {
  const found = /(?:^|[^a-z0-9.])(?:(\d{1,3})x)?(\d{1,4}(?:\.\d+)?)b(?:$|[^a-z0-9])/i.exec(id)
  return found === null ? null : Number(found[1] ?? 1) * Number(found[2])
}

/** A name with a date is a frozen state of the one without. */
export const isSnapshot = (id: string): boolean => /-\d{4}(-\d{2}-\d{2})?$|-\d{8}$/.test(id)
