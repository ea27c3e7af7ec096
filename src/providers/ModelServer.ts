import { Effect, Record, Redacted, Schema } from "effect"
import type { ModelSpec } from "../domain/Model.ts"
import { FileProblem } from "../settings/JsonFile.ts"
import { secretVariable } from "../settings/Setting.ts"
import { anthropicMessages } from "./AnthropicMessages.ts"
import { type ChatFamilyName, familyDialect } from "./ChatFamilies.ts"
import type { Dialect, TokenParameter } from "./Dialect.ts"
import { openAiChat } from "./OpenAiChat.ts"
import { isAzure, isOpenAi } from "./OpenAiHosts.ts"
import { isReasoningModel } from "./OpenAiModels.ts"
import { openAiResponses } from "./OpenAiResponses.ts"
import type { Protocol } from "./Protocol.ts"
import type { Endpoint } from "./Upstream.ts"

/** Their names in a catalog file. */
export const protocolNames = ["openai-chat", "openai-responses", "anthropic"] as const

export type ProtocolName = (typeof protocolNames)[number]

export const protocols: Readonly<Record<ProtocolName, Protocol>> = {
  "openai-chat": openAiChat,
  "openai-responses": openAiResponses,
  anthropic: anthropicMessages
}

export interface ModelServer {
  /** Its id in the catalog. */
  readonly provider: string
  readonly protocol: Protocol
  readonly baseUrl: URL
  readonly key: Redacted.Redacted | null
  /** Sent with every request, beside those of the protocol. */
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  /** null: the newer name for OpenAI itself, and the older one for other servers. */
  readonly tokenParameter: TokenParameter | null
  /** The family that the operator names; null: as the host tells. Only Chat Completions has them. */
  readonly family: ChatFamilyName | null
  /** Whether it is asked for encrypted reasoning and for summaries; null: as its host suggests. Only Responses has them. */
  readonly encryptedReasoning: boolean | null
  /** Requests at once; null: as the setting says. */
  readonly concurrentMax: number | null
}

export const endpointOf = (server: ModelServer, path: string): Endpoint => ({
  origin: server.baseUrl.origin,
  path: server.baseUrl.pathname.replace(/\/+$/, "") + path + server.baseUrl.search,
  headers: {
    ...Record.map(server.headers, (value) => Redacted.value(value)),
    "content-type": "application/json",
    ...server.protocol.headers(server.key === null ? null : Redacted.value(server.key), server.baseUrl)
  }
})

/** The endpoint with headers of one request. A header that it has already is a list, which goes on. */
export const withHeaders = (endpoint: Endpoint, headers: Readonly<Record<string, string>>): Endpoint => ({
  ...endpoint,
  headers: {
    ...endpoint.headers,
    ...Record.map(headers, (value, name) =>
      [endpoint.headers[name], value].filter((part) => part !== undefined && part !== "").join(",")
    )
  }
})

/** Of what a model says besides text: it goes back only there. */
export const originOf = ({ baseUrl, protocol }: ModelServer, modelId: string): string =>
  `${protocol.name} ${baseUrl.origin}${baseUrl.pathname} ${modelId}`

/** What no log and no message may have. */
export const secretsOf = ({ headers, key }: ModelServer): ReadonlyArray<Redacted.Redacted> => [
  ...(key === null ? [] : [key]),
  ...Object.values(headers)
]

/** Unknown servers of the protocol may refuse what only OpenAI's own have, and so do models that don't think. */
const asksReasoning = ({ baseUrl, encryptedReasoning, protocol }: ModelServer, { id }: ModelSpec): boolean =>
  protocol === openAiResponses &&
  (encryptedReasoning ?? (isOpenAi(baseUrl) || isAzure(baseUrl))) &&
  isReasoningModel(id) !== false

/** The dialect of the first request. */
export const firstDialect = (server: ModelServer, model: ModelSpec): Dialect => ({
  tokenParameter:
    server.tokenParameter ?? (isOpenAi(server.baseUrl) ? "max_completion_tokens" : "max_tokens"),
  streamOptions: true,
  ownTools: model.tools,
  // Only of some of Anthropic's models.
  format: server.protocol !== anthropicMessages || model.structuredOutput === true,
  verbosity: true,
  ...familyDialect(server.family, server.baseUrl.hostname),
  cacheControl: true,
  thinkingControls: true,
  thoughts: true,
  encryptedReasoning: asksReasoning(server, model),
  reasoningSummary: asksReasoning(server, model)
})

const headersMax = 32
const charactersMax = 4_096

/** An invalid name may be the key itself, and must not be shown. */
export const VariableName = Schema.String.check(
  Schema.makeFilter((text) =>
    /^[A-Z_][A-Z0-9_]*$/.test(text)
      ? undefined
      : "Expected the name of an environment variable, in capitals; the key itself doesn't belong here"
  )
)

const namePattern = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/

/** Headers that the service sends itself, and those of the connection or of a proxy on the way. */
const ownNames: ReadonlySet<string> = new Set([
  "accept-encoding",
  "authorization",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-api-key"
])

/** Why a header can't be sent, if it can't. */
const nameProblem = (name: string): string | undefined => {
  if (!namePattern.test(name)) return "Expected the name of a header in small letters"
  if (name.startsWith("proxy-") && ownNames.has(name))
    return "Expected another header: this one is for a proxy, and reaches no provider"
  return ownNames.has(name)
    ? "Expected another header: the service sends this one itself, a key from keyVariable"
    : undefined
}

/** Headers that the protocol itself sets, and whose values are not to be replaced. */
export const protocolHeaders = (protocol: Protocol, baseUrl: URL, hasKey: boolean): ReadonlyArray<string> =>
  Object.keys(protocol.headers(hasKey ? "" : null, baseUrl))

const isValue = (text: string): boolean => text.length <= charactersMax && /^[\x20-\x7e]*$/.test(text)

const valueMessage = `Expected up to ${charactersMax} printable ASCII characters, or { "variable": "NAME" }`

/** Headers for gateways that route by them: a text, or the variable that holds a secret. */
export const ExtraHeaders = Schema.Record(
  Schema.String,
  Schema.Union([
    Schema.String.check(Schema.makeFilter((text) => (isValue(text) ? undefined : valueMessage))),
    Schema.Struct({ variable: VariableName })
  ])
).check(
  Schema.makeFilter((headers) => {
    const names = Object.keys(headers)
    if (names.length > headersMax) return `Expected up to ${headersMax} headers`
    return names.flatMap((name) => {
      const issue = nameProblem(name)
      return issue === undefined ? [] : [{ path: [name], issue }]
    })
  })
)
export type ExtraHeaders = typeof ExtraHeaders.Type

/** The headers with the values of their variables, and the problems of those. */
export const readExtraHeaders = Effect.fnUntraced(function* (headers: ExtraHeaders, path: string) {
  const read: Array<readonly [string, Redacted.Redacted]> = []
  const problems: Array<typeof FileProblem.Type> = []
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === "string") {
      read.push([name, Redacted.make(value)])
      continue
    }
    const found = yield* secretVariable(value.variable)
    if (found.text !== undefined && isValue(found.text)) read.push([name, Redacted.make(found.text)])
    else
      problems.push({
        path: `${path}.${name}.variable`,
        message: `Expected the name of a variable that holds printable ASCII characters, but ${found.name} ${
          found.text !== undefined
            ? "holds others"
            : found.problem === null
              ? "is not set"
              : `has ${found.problem}`
        }`
      })
  }
  return { headers: Object.fromEntries(read), problems }
})
