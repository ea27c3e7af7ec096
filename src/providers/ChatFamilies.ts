import type { Dialect, LastMessage } from "./Dialect.ts"

/**
 * Known properties of the servers that speak the protocols of OpenAI. An operator names a family in the
 * catalog (`dialect`) where the address doesn't reveal it.
 */

/** The fields of a dialect that a family decides. */
type FamilyDialect = Pick<
  Dialect,
  | "customTools"
  | "imagesBehindResults"
  | "lastMessage"
  | "promptCacheKey"
  | "reasoning"
  | "signsCalls"
  | "streamOptions"
  | "tokenParameter"
>

interface ChatFamily extends FamilyDialect {
  /** The hosts that belong to the family; null if none does. */
  readonly hosts: RegExp | null
  /** The paths of addresses to which `lastMessage` applies; absent: all. At other addresses it is `sent`. */
  readonly prefixPaths?: RegExp
}

/**
 * The dialect of an unknown server. Reasoning goes back in the field in which it came, and other optional
 * fields are left out.
 */
const usual: FamilyDialect = {
  customTools: false,
  imagesBehindResults: true,
  lastMessage: "sent",
  promptCacheKey: false,
  reasoning: "returned",
  signsCalls: false,
  streamOptions: true,
  tokenParameter: "max_tokens"
}

/** Names of families in a catalog file. */
export const chatFamilyNames = [
  "openai",
  "deepseek",
  "moonshot",
  "gemini",
  "groq",
  "mistral",
  "openrouter",
  "xai",
  "vllm",
  "generic"
] as const
export type ChatFamilyName = (typeof chatFamilyNames)[number]

const families: Readonly<Record<ChatFamilyName, ChatFamily>> = {
  // Models with reasoning refuse the older name.
  openai: {
    ...usual,
    customTools: true,
    promptCacheKey: true,
    tokenParameter: "max_completion_tokens",
    hosts: /(^|\.)openai\.(com|azure\.com)$/
  },
  // Every message of the model must have the field, even an empty one.
  deepseek: {
    ...usual,
    reasoning: "always",
    lastMessage: "prefix",
    hosts: /(^|\.)deepseek\.com$/,
    prefixPaths: /^\/beta\b/
  },
  // A round of calls without its reasoning is refused.
  moonshot: { ...usual, reasoning: "demanded", hosts: /(^|\.)moonshot\.(ai|cn)$/ },
  // A call without a signature is refused, and so are messages that don't end with the user.
  gemini: {
    ...usual,
    signsCalls: true,
    lastMessage: "followed",
    hosts: /(^|[.-])(generativelanguage|aiplatform)\.googleapis\.com$/
  },
  // A message with reasoning is refused.
  groq: { ...usual, reasoning: "never", hosts: /(^|\.)groq\.com$/ },
  // Reports usage without being asked. Source: the types of `@mistralai/mistralai` 2.7.0. Refuses a user
  // message behind results.
  mistral: {
    ...usual,
    streamOptions: false,
    imagesBehindResults: false,
    lastMessage: "prefix",
    hosts: /(^|\.)mistral\.ai$/
  },
  openrouter: { ...usual, hosts: /(^|\.)openrouter\.ai$/ },
  xai: { ...usual, hosts: /(^|\.)x\.ai$/ },
  vllm: { ...usual, lastMessage: "continue_final_message", hosts: null },
  generic: { ...usual, hosts: null }
}

export const familyOfHost = (host: string): ChatFamilyName =>
  chatFamilyNames.find((name) => families[name].hosts?.test(host) === true) ?? "generic"

export const familyDialect = (name: ChatFamilyName): FamilyDialect => {
  const { hosts: _, prefixPaths: _paths, ...dialect } = families[name]
  return dialect
}

/** The way in which an address of a family takes a request that doesn't end with the user. */
export const lastMessageAt = (name: ChatFamilyName, { pathname }: URL): LastMessage => {
  const { lastMessage, prefixPaths } = families[name]
  return prefixPaths?.test(pathname) === false ? "sent" : lastMessage
}
