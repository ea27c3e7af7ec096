import type { Dialect } from "./Dialect.ts"

/**
 * What is known of the servers that speak the protocols of OpenAI. An operator names a family in the catalog (`dialect`) where the address
 * doesn't tell it.
 */

/** What a family decides of the dialect. */
type FamilyDialect = Pick<
  Dialect,
  "imagesBehindResults" | "promptCacheKey" | "reasoning" | "signsCalls" | "streamOptions" | "tokenParameter"
>

interface ChatFamily extends FamilyDialect {
  /** The hosts that belong to it. */
  readonly hosts: RegExp | null
}

/** Of a server that isn't known: what a model thinks goes back in the field in which it came, and other fields are left out. */
const usual: FamilyDialect = {
  imagesBehindResults: true,
  promptCacheKey: false,
  reasoning: "returned",
  signsCalls: false,
  streamOptions: true,
  tokenParameter: "max_tokens"
}

/** Their names in a catalog file. */
export const chatFamilyNames = [
  "openai",
  "deepseek",
  "moonshot",
  "gemini",
  "groq",
  "mistral",
  "openrouter",
  "xai",
  "generic"
] as const
export type ChatFamilyName = (typeof chatFamilyNames)[number]

const families: Readonly<Record<ChatFamilyName, ChatFamily>> = {
  // Models that think refuse the older name.
  openai: {
    ...usual,
    promptCacheKey: true,
    tokenParameter: "max_completion_tokens",
    hosts: /(^|\.)openai\.(com|azure\.com)$/
  },
  // Every message of the model has the field, where it isn't empty, and where it is.
  deepseek: { ...usual, reasoning: "always", hosts: /(^|\.)deepseek\.com$/ },
  // A round of calls without its reasoning is refused.
  moonshot: { ...usual, reasoning: "demanded", hosts: /(^|\.)moonshot\.(ai|cn)$/ },
  // A call without a signature is refused.
  gemini: { ...usual, signsCalls: true, hosts: /(^|[.-])(generativelanguage|aiplatform)\.googleapis\.com$/ },
  // A message with reasoning is refused.
  groq: { ...usual, reasoning: "never", hosts: /(^|\.)groq\.com$/ },
  // It counts without being asked. Source: the types of `@mistralai/mistralai` 2.7.0. A message of the user behind results is refused.
  mistral: { ...usual, streamOptions: false, imagesBehindResults: false, hosts: /(^|\.)mistral\.ai$/ },
  openrouter: { ...usual, hosts: /(^|\.)openrouter\.ai$/ },
  xai: { ...usual, hosts: /(^|\.)x\.ai$/ },
  generic: { ...usual, hosts: null }
}

export const familyOfHost = (host: string): ChatFamilyName =>
  chatFamilyNames.find((name) => families[name].hosts?.test(host) === true) ?? "generic"

export const familyDialect = (name: ChatFamilyName): FamilyDialect => {
  const { hosts: _, ...dialect } = families[name]
  return dialect
}
