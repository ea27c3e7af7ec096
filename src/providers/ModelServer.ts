import { Record, Redacted } from "effect"
import type { ModelSpec } from "../domain/Model.ts"
import type { SdkPackage } from "./AiSdkPackage.ts"
import { anthropicMessages } from "./AnthropicMessages.ts"
import { type ChatFamilyName, familyDialect, familyOfHost, lastMessageAt } from "./ChatFamilies.ts"
import type { Dialect, TokenParameter } from "./Dialect.ts"
import { type ModelExtras, opensThinking } from "./ModelExtras.ts"
import { openAiChat } from "./OpenAiChat.ts"
import { isAzure, isOpenAi } from "./OpenAiHosts.ts"
import { isReasoningModel } from "./OpenAiModels.ts"
import { openAiResponses } from "./OpenAiResponses.ts"
import type { Protocol } from "./Protocol.ts"
import type { Endpoint } from "./Upstream.ts"

/** Names of protocols in a catalog file. */
export const protocolNames = ["openai-chat", "openai-responses", "anthropic"] as const

export type ProtocolName = (typeof protocolNames)[number]

export const protocols: Readonly<Record<ProtocolName, Protocol>> = {
  "openai-chat": openAiChat,
  "openai-responses": openAiResponses,
  anthropic: anthropicMessages
}

export interface ModelServer {
  /** The provider's id in the catalog. */
  readonly provider: string
  readonly protocol: Protocol
  readonly baseUrl: URL
  readonly key: Redacted.Redacted | null
  /** Headers that are sent with every request, beside those of the protocol. */
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  /** The name of the bound on the answer; null: as its family has it. */
  readonly tokenParameter: TokenParameter | null
  /** The family that the operator names; null: as the host implies. */
  readonly family: ChatFamilyName | null
  /**
   * Asks the server for encrypted reasoning and for summaries; null: as its host suggests. Only Responses has
   * them.
   */
  readonly encryptedReasoning: boolean | null
  /** The most concurrent requests; null: as the setting says. */
  readonly concurrentMax: number | null
  /** Settings of single models in the catalog, by their ids. */
  readonly models: ReadonlyMap<string, ModelExtras>
  /** The package that asks the models in place of the service; null except for the protocol `ai-sdk`. */
  readonly sdk: SdkPackage | null
}

const extrasOf = ({ models }: ModelServer, modelId?: string): ModelExtras | undefined =>
  modelId === undefined ? undefined : models.get(modelId)

/** The address for a request about a model, or about no model. */
export const endpointOf = (server: ModelServer, path: string, modelId?: string): Endpoint => ({
  origin: server.baseUrl.origin,
  path: server.baseUrl.pathname.replace(/\/+$/, "") + path + server.baseUrl.search,
  headers: {
    ...Record.map(server.headers, (value) => Redacted.value(value)),
    ...Record.map(extrasOf(server, modelId)?.headers ?? {}, (value) => Redacted.value(value)),
    "content-type": "application/json",
    ...server.protocol.headers(server.key === null ? null : Redacted.value(server.key), server.baseUrl)
  }
})

/**
 * The endpoint with the headers of one request. The value of a header that the endpoint already has is
 * appended to its list.
 */
export const withHeaders = (endpoint: Endpoint, headers: Readonly<Record<string, string>>): Endpoint => ({
  ...endpoint,
  headers: {
    ...endpoint.headers,
    ...Record.map(headers, (value, name) =>
      [endpoint.headers[name], value].filter((part) => part !== undefined && part !== "").join(",")
    )
  }
})

/** The origin of reasoning and opaque values, which go back only to the same origin. */
export const originOf = ({ baseUrl, protocol, sdk }: ModelServer, modelId: string): string =>
  `${protocol.name} ${sdk?.server ?? baseUrl.origin + baseUrl.pathname} ${modelId}`

/** True if the server demands the reasoning as text, so that even a client's version is better than none. */
export const demandsReasoning = ({ protocol }: ModelServer, { reasoning }: Dialect): boolean =>
  protocol === openAiChat && (reasoning === "always" || reasoning === "demanded")

/** Values that must not appear in logs and messages. */
export const secretsOf = ({ headers, key, models, sdk }: ModelServer): ReadonlyArray<Redacted.Redacted> => [
  ...(key === null ? [] : [key]),
  ...Object.values(headers),
  ...Array.from(models.values(), (extras) => Object.values(extras.headers)).flat(),
  ...(sdk?.secrets ?? [])
]

/** Further fields of a model's requests, as the JSON of an object; null if there are none. */
export const bodyOf = (server: ModelServer, { id }: ModelSpec): string | null =>
  extrasOf(server, id)?.body ?? null

const familyOf = (server: ModelServer, { id }: ModelSpec): ChatFamilyName =>
  extrasOf(server, id)?.family ?? server.family ?? familyOfHost(server.baseUrl.hostname)

/**
 * True if a model's answers begin within its reasoning. Servers of the known families remove the tags
 * themselves.
 */
export const beginsThinking = (server: ModelServer, model: ModelSpec): boolean =>
  extrasOf(server, model.id)?.opensThinking ??
  (["generic", "vllm"].includes(familyOf(server, model)) && opensThinking(model.id))

/**
 * Unknown servers of the protocol may refuse fields that only OpenAI's own know. Models that don't think
 * refuse them too.
 */
const asksReasoning = ({ baseUrl, encryptedReasoning, protocol }: ModelServer, { id }: ModelSpec): boolean =>
  protocol === openAiResponses &&
  (encryptedReasoning ?? (isOpenAi(baseUrl) || isAzure(baseUrl))) &&
  isReasoningModel(id) !== false

/** The dialect of the first request. */
export const firstDialect = (server: ModelServer, model: ModelSpec): Dialect => ({
  ...familyDialect(familyOf(server, model)),
  lastMessage: lastMessageAt(familyOf(server, model), server.baseUrl),
  ...(server.tokenParameter === null ? {} : { tokenParameter: server.tokenParameter }),
  ownTools: model.tools,
  // Only some of Anthropic's models have the field.
  format: server.protocol !== anthropicMessages || model.structuredOutput === true,
  verbosity: true,
  hintedEffort: true,
  logprobs: server.protocol === openAiChat || server.protocol === openAiResponses,
  cacheControl: true,
  thinkingControls: true,
  thoughts: true,
  encryptedReasoning: asksReasoning(server, model),
  reasoningSummary: asksReasoning(server, model)
})

/** Headers that the protocol itself sets, and whose values must not be replaced. */
export const protocolHeaders = (protocol: Protocol, baseUrl: URL, hasKey: boolean): ReadonlyArray<string> =>
  Object.keys(protocol.headers(hasKey ? "" : null, baseUrl))
