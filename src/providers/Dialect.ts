import { Struct } from "effect"
import type { ModelRequest, ToolSpec } from "../domain/ModelCall.ts"
import { endsWithUser } from "./LastMessage.ts"

/** The two names of the bound on the answer. */
export type TokenParameter = "max_tokens" | "max_completion_tokens"

/** The optional parts of a request, each of which some server rejects. */
export interface Dialect {
  /** Only Chat Completions has two names for it. */
  readonly tokenParameter: TokenParameter
  /** Asks for the usage of a stream. Only Chat Completions needs the option. */
  readonly streamOptions: boolean
  /** Offers the service's own tools. A client's functions are always offered. */
  readonly ownTools: boolean
  /** Sends the format of an answer in its own field. The format is part of the instructions otherwise. */
  readonly format: boolean
  /** Sends the verbosity, which is only a hint. */
  readonly verbosity: boolean
  /** Sends an effort that is only a hint. */
  readonly hintedEffort: boolean
  /** Asks for logprobs. Only the protocols of OpenAI have them. */
  readonly logprobs: boolean
  /**
   * The reasoning of earlier messages in Chat Completions. `returned`: sent back as it came. `always`: also
   * sent when empty. `demanded`: a round of calls without reasoning is sent as text. `never`: left out.
   */
  readonly reasoning: "returned" | "always" | "demanded" | "never"
  /**
   * Sends the images of results in a message behind them. The round is sent as text otherwise. Used by Chat
   * Completions only.
   */
  readonly imagesBehindResults: boolean
  /**
   * Offers tools with a text as input in their own form. They are functions otherwise. Only Responses has
   * them.
   */
  readonly customTools: boolean
  /** Sends signatures with calls, which the server refuses without one. Used by Chat Completions only. */
  readonly signsCalls: boolean
  /** Sends a key for requests that begin alike, by which the server finds the cache of an earlier request. */
  readonly promptCacheKey: boolean
  /** Marks the parts that the server may cache. Used by Anthropic's protocol only. */
  readonly cacheControl: boolean
  /** Asks Claude for a summary of its thinking, and permits the server to drop invalid thinking blocks. */
  readonly thinkingControls: boolean
  /** Sends back the reasoning of earlier messages. */
  readonly thoughts: boolean
  /** Asks for reasoning in the encrypted form that can be sent back. Only Responses has it. */
  readonly encryptedReasoning: boolean
  /** Asks for a summary of the reasoning. Only Responses has it. */
  readonly reasoningSummary: boolean
  /** The way in which a request is sent that doesn't end with the user. */
  readonly lastMessage: LastMessage
}

/**
 * The ways to send a request that doesn't end with the user. `sent`: unchanged; some servers continue the
 * last text, others answer it. `prefix`, `continue_final_message`: with a field that has the model continue
 * its own text at the end. `followed`: with a user message behind it.
 */
export type LastMessage = "sent" | "prefix" | "continue_final_message" | "followed"

/**
 * The dialect to try after a server rejected a request; null if no other dialect helps. The complaint is free
 * text, in which only names of parameters can be recognized.
 *
 * A dialect changes only what the service added. Fields of a client stay, except verbosity, logprobs, an
 * effort that is a hint, and the format. The format is then part of the instructions, and the answer is
 * checked.
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
 * True if a client sent nothing of the request but its texts. Only the refusal of such a request says
 * anything about the next request of another user.
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

/** Words with which servers refuse an unknown field, as opposed to its value. */
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

/**
 * Leaves out logprobs. A server may have none, fewer of the likeliest tokens, or none beside another option.
 */
export const withoutLogprobs: Adapt = (dialect, complaint, request) =>
  dialect.logprobs && request.options?.logprobs !== undefined && /logprobs/i.test(complaint)
    ? { ...dialect, logprobs: false }
    : null

/**
 * Adapts the dialect by one step. Leaves out logprobs, the key of the prompt cache, the verbosity, a hinted
 * effort or own tools, or moves the format into the instructions.
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

/**
 * Makes the request end with the user. Servers and chat templates refuse another end in too many different
 * words to match.
 */
const adaptEnd: Adapt = (dialect, complaint, request) =>
  dialect.lastMessage !== "followed" &&
  !endsWithUser(request.messages) &&
  refusedParameter(complaint, request, dialect) === null
    ? { ...dialect, lastMessage: "followed" }
    : null

/** Leaves out the service's own tools if the model supports no tools, or none of this kind. */
const adaptTools: Adapt = (dialect, complaint, request) => {
  const kept = request.tools.filter(isClients)
  if (!dialect.ownTools || kept.length === request.tools.length) return null
  if (!refusesTools.test(complaint) || aboutOptions.test(complaint) || isChoiceLost(request, kept))
    return null
  const blamed = blamedTool(complaint, request.tools)
  return blamed === null || !isClients(blamed) ? { ...dialect, ownTools: false } : null
}

/** Options that a server may refuse although it accepts tools. */
const aboutOptions = /parallel_tool_calls|tool_choice|\bforce[sd]? tool/i

/** The refusal of all tools. A complaint about one of the tools is an error to report. */
const refusesTools =
  /tool.*(not support|n't support|unsupported|requires)|(not support|n't support|unsupported).*tool|no endpoints found that support tool/is

/** True if the client demands a call that can't be made with the kept tools. */
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
 * The refused parameter of a client's request, by its name in requests; null if the complaint names no
 * parameter that the request has. The server's own words may quote the prompt.
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
