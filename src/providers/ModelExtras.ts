import { Effect, type Redacted, Schema } from "effect"
import { type ChatFamilyName, chatFamilyNames } from "./ChatFamilies.ts"
import { ExtraHeaders, readExtraHeaders } from "./ExtraHeaders.ts"

/** Settings of single models in a catalog file, besides the known properties of their servers. */

export interface ModelExtras {
  /** The family whose rules the model follows; null: as its server's. Only Chat Completions has them. */
  readonly family: ChatFamilyName | null
  /**
   * True if the model's answers begin within their reasoning, without the opening tag; null: as its name
   * suggests.
   */
  readonly opensThinking: boolean | null
  /** Headers that are sent beside those of the server, or in place of them. */
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  /** Further fields of each request, as the JSON of an object; null for none. */
  readonly body: string | null
}

const bodyCharactersMax = 16_384

/** The names of all fields that requests of any protocol may have from the service. */
const ownFields: ReadonlySet<string> = new Set([
  "frequency_penalty",
  "include",
  "input",
  "instructions",
  "logprobs",
  "max_completion_tokens",
  "max_output_tokens",
  "max_tokens",
  "messages",
  "model",
  "n",
  "output_config",
  "parallel_tool_calls",
  "presence_penalty",
  "prompt_cache_key",
  "reasoning_effort",
  "response_format",
  "seed",
  "stop",
  "stop_sequences",
  "store",
  "stream",
  "stream_options",
  "system",
  "temperature",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "top_p",
  "verbosity"
])

/** The fields of a model in a catalog file. */
export const modelExtrasFields = {
  dialect: Schema.optionalKey(Schema.Literals(chatFamilyNames)),
  opensThinking: Schema.optionalKey(Schema.Boolean),
  headers: Schema.optionalKey(ExtraHeaders),
  body: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Json).check(
      Schema.makeFilter((body) => {
        if (JSON.stringify(body).length > bodyCharactersMax)
          return `Expected up to ${bodyCharactersMax} characters of JSON`
        return Object.keys(body)
          .filter((name) => ownFields.has(name))
          .map((name) => ({
            path: [name],
            issue: "Expected another field: the service sets this one itself"
          }))
      })
    )
  )
} as const

const ModelExtrasEntry = Schema.Struct(modelExtrasFields)

export type ModelExtrasEntry = typeof ModelExtrasEntry.Type

/** The settings in the fields, with the values of variables, and the problems of both. */
export const readModelExtras = Effect.fnUntraced(function* (given: ModelExtrasEntry, path: string) {
  const { headers, problems } = yield* readExtraHeaders(given.headers ?? {}, `${path}.headers`)
  const { body = {} } = given
  const extras: ModelExtras = {
    family: given.dialect ?? null,
    opensThinking: given.opensThinking ?? null,
    headers,
    body: Object.keys(body).length === 0 ? null : JSON.stringify(body)
  }
  return { extras, problems }
})

/** The JSON of a request with further fields. */
export const withBody = (json: string, body: string | null): string =>
  body === null ? json : `${json.slice(0, -1)},${body.slice(1)}`

/**
 * Models whose templates open the reasoning in the prompt, so that only the closing tag comes unless their
 * server removes it.
 */
const opening = /(^|[\W_])(qwq|deepseek-r1)($|[\W_])|[\W_]thinking($|[\W_])/i
const denying = /\b(no|non|not|without)[\W_]?thinking|thinking[\W_](off|disabled|none)/i

export const opensThinking = (model: string): boolean => opening.test(model) && !denying.test(model)
