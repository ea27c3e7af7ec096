import type { ModelSpec } from "../domain/ModelSpec.ts"
import type { ModelServer } from "./ModelServer.ts"

/** The two names under which servers know the bound on the answer. */
export type TokenParameter = "max_tokens" | "max_completion_tokens"

/** What a server is asked in; each of these some server refuses. */
export interface Dialect {
  /** Only Chat Completions has two names for it. */
  readonly tokenParameter: TokenParameter
  /** Whether to ask for the usage of a stream. Only Chat Completions has to. */
  readonly streamOptions: boolean
  readonly tools: boolean
}

/**
 * What to ask differently after a server refused a request as badly formed, by what it complains of; null where nothing
 * helps. The refusals are free text, so that the name of the parameter is all there is to go by.
 */
export type Adapt = (dialect: Dialect, complaint: string) => Dialect | null

/** Goes without tools where the model has none. */
export const adaptTools: Adapt = (dialect, complaint) =>
  dialect.tools && refusesTools.test(complaint) ? { ...dialect, tools: false } : null

/** Tells "this model has no tools" from a complaint about one of them, which must be heard. */
const refusesTools =
  /tool.*(not support|n't support|unsupported|requires)|(not support|n't support|unsupported).*tool/s

/** How a server is asked first. */
export const firstGuess = (server: ModelServer, model: ModelSpec): Dialect => ({
  tokenParameter:
    server.tokenParameter ??
    (server.baseUrl.hostname === "api.openai.com" ? "max_completion_tokens" : "max_tokens"),
  streamOptions: true,
  tools: model.tools
})
