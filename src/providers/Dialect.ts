import { Struct } from "effect"
import type { ModelRequest, ToolSpec } from "../domain/ModelCall.ts"
import { endsWithUser } from "./LastMessage.ts"

/** The two names of the bound on the answer. */
export type TokenParameter = "max_tokens" | "max_completion_tokens"

/** The optional parts of a request, each of which some server rejects. */
export interface Dialect {
  /** Only Chat Completions has two names for it. */
  readonly tokenParameter: TokenParameter
  /** Whether to ask for the usage of a stream. Only Chat Completions has to. */
  readonly streamOptions: boolean
  /** Whether to offer the service's own tools. A client's functions are always offered. */
  readonly ownTools: boolean
  /** Whether the form of an answer has a field of its own; it is asked for in words otherwise. */
  readonly format: boolean
  /** Whether to send the verbosity, which is no more than a nudge. */
  readonly verbosity: boolean
  /** Whether to send an effort that is a hint. */
  readonly hintedEffort: boolean
  /** Whether to ask for logprobs. The protocols of OpenAI have them. */
  readonly logprobs: boolean
  /**
   * How the reasoning of earlier messages goes back in Chat Completions: as it came; also where it is empty; without it a round of
   * calls goes as text; or not at all.
   */
  readonly reasoning: "returned" | "always" | "demanded" | "never"
  /** Whether images of results may stand in a message behind these; the round goes as text otherwise. Only Chat Completions has to know. */
  readonly imagesBehindResults: boolean
  /** Whether there are tools whose input is a text; they are functions otherwise. Only Responses has them. */
  readonly customTools: boolean
  /** Whether calls have a signature, without which they are refused. Only Chat Completions has to be told. */
  readonly signsCalls: boolean
  /** Whether to name the requests that begin alike, so that the server finds the cache of the one before. */
  readonly promptCacheKey: boolean
  /** Whether to mark what the server may cache. Only Anthropic has to be told. */
  readonly cacheControl: boolean
  /** Whether to say how Claude's thinking is shown, and what happens to thinking blocks that are no longer valid. */
  readonly thinkingControls: boolean
  /** Whether to send back what the model thought. */
  readonly thoughts: boolean
  /** Whether to ask for what the model thinks in the encrypted form that goes back. Only Responses has it. */
  readonly encryptedReasoning: boolean
  /** Whether to ask for a summary of what the model thinks. Only Responses has it. */
  readonly reasoningSummary: boolean
  /** How a request is sent that doesn't end with the user. */
  readonly lastMessage: LastMessage
}

/**
 * `sent`: as it is, which some servers continue and others answer. `prefix`, `continue_final_message`: with a field that has the model
 * continue its own text, where a request ends with one. `followed`: with a message of the user behind it.
 */
export type LastMessage = "sent" | "prefix" | "continue_final_message" | "followed"

/**
 * The dialect to try after a server rejected a request; null where no other helps. The complaint is free text, so the name of
 * the parameter is all there is to go by. A dialect changes what the service added; what a client sent stays, but for the
 * verbosity, for logprobs, for an effort that is a hint, and for the form of an answer, which is asked for in words then and checked.
 */
export type Adapt = (dialect: Dialect, complaint: string, request: ModelRequest) => Dialect | null

/** The request as a dialect asks it: without the hints that the server doesn't take. */
export const askedIn = (
  request: ModelRequest,
  { hintedEffort, logprobs }: Pick<Dialect, "hintedEffort" | "logprobs">
): ModelRequest => {
  const { options } = request
  const bare = logprobs || options?.logprobs === undefined ? options : Struct.omit(options, ["logprobs"])
  const asked =
    hintedEffort || bare?.effortIsHint !== true
      ? bare
      : Struct.omit(bare, ["reasoningEffort", "effortIsHint"])
  return asked === undefined || asked === options ? request : { ...request, options: asked }
}

const isClients = ({ param }: ToolSpec): boolean => param !== undefined

/** The tools that a request offers in a dialect. */
export const offeredTools = (
  { tools }: Pick<ModelRequest, "tools">,
  { ownTools }: Pick<Dialect, "ownTools">
): ReadonlyArray<ToolSpec> => (ownTools ? tools : tools.filter(isClients))

/**
 * Whether nothing of a request but its texts comes from a client. Only the refusal of such a request says something about the
 * next request of another user.
 */
export const isServicesOwn = ({ messages, options = {}, tools }: ModelRequest): boolean =>
  Object.values(options).every((option) => option === undefined) &&
  !tools.some(isClients) &&
  messages.every(
    (message) =>
      message.role === "system" ||
      (message.role === "user" && (message.images ?? []).length === 0) ||
      (message.role === "assistant" && message.toolCalls.length === 0 && message.reasoning === undefined)
  )

/** How servers name a field that they don't know, unlike one whose value they refuse. */
const unknownField =
  /unsupported|(not|n't) support|unknown|unrecognized|unexpected|not (recognized|permitted|allowed)|extra|forbidden|cannot find|deprecated/i

const valueRefused = /(unsupported|invalid) value|supported values|must be one of|input should be/i

export const refusesField = (complaint: string, field: string): boolean =>
  complaint.includes(field) && unknownField.test(complaint)

const aboutFormat =
  /response_format|json_schema|json_object|text\.format|output_config(?!\.effort)|output_format/

/** A schema that a server can't use, unlike a server that knows no schemas. */
const aboutSchema =
  /invalid[_ ](json[_ ])?schema|in context=|additionalProperties|format\.schema|grammar|\bschema\b.{0,40}(invalid|must|expected)/i

const aboutEffort = /\breasoning\b|reasoning[_.]?effort|\beffort\b|\bthinking\.type\b/i

/** Leaves out logprobs: a server may have none, fewer of the likeliest tokens, or none beside what else was asked for. */
export const withoutLogprobs: Adapt = (dialect, complaint, request) =>
  dialect.logprobs && request.options?.logprobs !== undefined && /logprobs/i.test(complaint)
    ? { ...dialect, logprobs: false }
    : null

/**
 * Leaves out logprobs or the key of the prompt cache, or asks for the form of an answer in words, without the verbosity, without a hint
 * of the effort, or without own tools.
 */
export const adaptAnswer: Adapt = (dialect, complaint, request) => {
  const bare = withoutLogprobs(dialect, complaint, request)
  if (bare !== null) return bare
  if (dialect.promptCacheKey && refusesField(complaint, "prompt_cache_key")) {
    return { ...dialect, promptCacheKey: false }
  }
  const { effortIsHint, format, verbosity } = request.options ?? {}
  if (dialect.hintedEffort && effortIsHint === true && aboutEffort.test(complaint)) {
    return { ...dialect, hintedEffort: false }
  }
  if (dialect.format && format !== undefined && aboutFormat.test(complaint) && !aboutSchema.test(complaint)) {
    return { ...dialect, format: false }
  }
  if (
    dialect.verbosity &&
    verbosity !== undefined &&
    refusesField(complaint, "verbosity") &&
    !valueRefused.test(complaint)
  ) {
    return { ...dialect, verbosity: false }
  }
  return adaptTools(dialect, complaint, request) ?? adaptEnd(dialect, complaint, request)
}

/** Has the request end with the user. Servers refuse another end in many words, and templates of models in their own. */
const adaptEnd: Adapt = (dialect, complaint, request) =>
  dialect.lastMessage !== "followed" &&
  !endsWithUser(request.messages) &&
  refusedParameter(complaint, request, dialect) === null
    ? { ...dialect, lastMessage: "followed" }
    : null

/** Leaves out the service's own tools where the model supports none, or none of its kind. */
const adaptTools: Adapt = (dialect, complaint, request) => {
  const kept = request.tools.filter(isClients)
  if (!dialect.ownTools || kept.length === request.tools.length) return null
  if (!refusesTools.test(complaint) || aboutOptions.test(complaint) || isChoiceLost(request, kept))
    return null
  const blamed = blamedTool(complaint, request.tools)
  return blamed === null || !isClients(blamed) ? { ...dialect, ownTools: false } : null
}

/** What a server may refuse though it takes tools. */
const aboutOptions = /parallel_tool_calls|tool_choice|\bforce[sd]? tool/i

/** "This model has no tools", unlike a complaint about one of them, which is an error to report. */
const refusesTools =
  /tool.*(not support|n't support|unsupported|requires)|(not support|n't support|unsupported).*tool|no endpoints found that support tool/is

/** Whether a call that the client demands could not be made with the tools that are kept. */
const isChoiceLost = ({ options = {} }: ModelRequest, kept: ReadonlyArray<ToolSpec>): boolean => {
  const { toolChoice } = options
  if (toolChoice === "required") return kept.length === 0
  return typeof toolChoice === "object" && !kept.some(({ name }) => name === toolChoice.name)
}

/** The tool that a complaint is about, by its name or by its place; null where it names none. */
const blamedTool = (complaint: string, offered: ReadonlyArray<ToolSpec>): ToolSpec | null => {
  const name = /\b(?:function|tool) ['"`]([\w.-]+)['"`]/i.exec(complaint)?.[1]
  const place = /\btools?[.[](\d+)/.exec(complaint)?.[1]
  const named = offered.find((tool) => tool.name === name)
  return named ?? (place === undefined ? null : (offered[Number(place)] ?? null))
}

/** The options of a request, their names in it, and how servers name them in a complaint. */
const optionNames: ReadonlyArray<
  readonly [
    option: Exclude<keyof NonNullable<ModelRequest["options"]>, "format" | "effortIsHint" | "logprobs">,
    name: string,
    complaint: RegExp
  ]
> = [
  ["temperature", "temperature", /\btemperature\b/],
  ["topP", "top_p", /\btop_p\b/],
  ["stop", "stop", /\bstop_sequences?\b|['"`]stop['"`]|\sstop$/],
  ["seed", "seed", /\bseed\b/],
  ["presencePenalty", "presence_penalty", /\bpresence_?penalty\b/i],
  ["frequencyPenalty", "frequency_penalty", /\bfrequency_?penalty\b/i],
  ["parallelToolCalls", "parallel_tool_calls", /\bparallel_tool_(calls|use)\b/],
  ["toolChoice", "tool_choice", /\btool[_ ]choice\b|\bforce[sd]? tool/i],
  ["reasoningEffort", "reasoning.effort", aboutEffort],
  ["verbosity", "text.verbosity", /\bverbosity\b/]
]

/**
 * What of a client's request a server refused, by its name in requests; null where the complaint names nothing that the request
 * has. The words of a server may quote the prompt.
 */
export const refusedParameter = (
  complaint: string,
  request: ModelRequest,
  dialect: Dialect
): string | null => {
  const { options = {} } = request
  const offered = offeredTools(request, dialect)
  const blamed = blamedTool(complaint, offered)
  if (blamed?.param !== undefined) return blamed.param
  if (options.format?.type === "json_schema" && aboutSchema.test(complaint)) return "text.format.schema"
  if (options.format !== undefined && aboutFormat.test(complaint)) return "text.format"
  const named = optionNames.find(
    ([option, , pattern]) => options[option] !== undefined && pattern.test(complaint)
  )
  if (named !== undefined) return named[1]
  return offered.some(isClients) && refusesTools.test(complaint) ? "tools" : null
}
