/** Expected outcomes by case and provider, if they differ from an answer to the first request. */

interface Expectation {
  /** So many requests are refused before the answer. */
  readonly again?: number
  /** The field that a 400 names: the provider doesn't take what the client asks for. */
  readonly param?: string
  /** The provider knows no such thing. */
  readonly isAbsent?: true
  /** The service's own tools are left out. */
  readonly isToolless?: true
}

const once: Expectation = { again: 1 }
const absent: Expectation = { isAbsent: true }
const refused = (param: string): Expectation => ({ param })

/**
 * These take no function beside their thinking: the service's own tools are left out, and a client's are
 * refused.
 */
const toolless = ["openaichat", "gpt6chat"]

const all = (names: ReadonlyArray<string>, expectation: Expectation) =>
  Object.fromEntries(names.map((name) => [name, expectation]))

const ownServers = ["ollama", "llamacpp", "vllm", "sglang", "lmstudio"]

const differing: Readonly<Record<string, Readonly<Record<string, Expectation>>>> = {
  "a client's function": all(toolless, refused("tools")),
  // These models always think, or have no efforts.
  "a client's function without thinking": all(["gpt6chat", "azurechat", "xai"], refused("reasoning.effort")),
  // The thinking of a client's history is unknown: a server that demands it is asked once more without any.
  "a replayed history": {
    ...all(toolless, refused("tools")),
    ...all(["claude", "openrouter", "litellm"], once)
  },
  // No package says which models continue their own text.
  "a text of the model at the end": all(["claudepackage"], once),
  "a forced function": {
    ...all(toolless, refused("tools")),
    ...all(["claude", "deepseek", "kimi", "qwen", "litellm"], refused("tool_choice"))
  },
  // It knows no schemas, and is asked in words.
  "a strict schema": { deepseek: once },
  "an effort": { xai: refused("reasoning.effort") },
  "an image": all(["deepseek", "groq"], refused("model")),
  // It cuts the prompt, and says nothing.
  "a history that is too long": { ollama: absent },
  "a prompt that is too long": { ollama: absent },
  "a rate that is exceeded once": all(ownServers, absent),
  "a rate that stays exceeded": all(ownServers, absent),
  "a filtered prompt": all([...ownServers, "groq"], absent),
  "no credit": all(ownServers, absent)
}

export const expectationOf = (name: string, provider: string): Expectation => ({
  ...(toolless.includes(provider) ? { isToolless: true } : {}),
  ...differing[name]?.[provider]
})

/** Servers whose refusals are texts of their own kind; others end the answer as filtered. */
export const refusesInWords: ReadonlyArray<string> = ["openaichat", "gpt6chat", "openai", "azure"]

/** Servers that mark their words as those of a refusal. */
export const explainsRefusals: ReadonlyArray<string> = [...refusesInWords, "claude", "claudelenient"]

/** The package leaves out how Claude explains a refusal. */
export const refusesSilently: ReadonlyArray<string> = ["claudepackage"]

/** Servers that don't say what a model thinks, which tokens came from a cache, or which were thoughts. */
export const isSilent = {
  thoughts: ["openaichat", "gpt6chat", "azurechat", "gemini"],
  cached: ["plain", "gemini", "ollama", "vllm", "sglang", "lmstudio"],
  reasoning: ["plain", "kimi", "mistral", "ollama", "llamacpp", "vllm"]
} as const satisfies Readonly<Record<string, ReadonlyArray<string>>>

/** Servers that say how many tokens they wrote to a cache. */
export const tellsWrites: ReadonlyArray<string> = [
  ...refusesInWords,
  "azurechat",
  "claude",
  "claudelenient",
  "claudepackage",
  "litellm"
]
