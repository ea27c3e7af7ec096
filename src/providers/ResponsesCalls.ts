import { Predicate } from "effect"
import { argumentsOf, inputOf } from "../domain/CustomInput.ts"
import type { ModelRequest, ToolCall, ToolSpec } from "../domain/ModelCall.ts"
import type { Dialect } from "./Dialect.ts"
import {
  type AnswerChunk,
  callDelta,
  type CallFragment,
  type Fields,
  malformed,
  makeWithTools
} from "./Protocol.ts"
import { decodeCount } from "./TokenCounts.ts"

/**
 * Calls and tools in the Responses protocol, which has functions and, at OpenAI, tools whose input is a text.
 */

/** The names of the tools that are offered with a text as input. */
export const customNames = ({ tools }: Pick<ModelRequest, "tools">, dialect: Dialect): ReadonlySet<string> =>
  new Set(dialect.customTools ? tools.flatMap(({ name, text }) => (text === undefined ? [] : [name])) : [])

/** The default of OpenAI is strict schemas, which most schemas of tools aren't. */
const encodeFunction = (tool: ToolSpec): object => ({
  type: "function",
  name: tool.name,
  description: tool.description,
  parameters: tool.parameters,
  strict: tool.strict === true
})

const encodeCustom = (tool: ToolSpec): object =>
  tool.text === undefined
    ? encodeFunction(tool)
    : {
        type: "custom",
        name: tool.name,
        description: tool.text.description,
        ...(tool.text.grammar === null ? {} : { format: { type: "grammar", ...tool.text.grammar } })
      }

const withFunctions = makeWithTools(encodeFunction)
const withCustoms = makeWithTools(encodeCustom)

/** Adds the tools to the JSON of a request. */
export const withTools = (json: string, tools: ReadonlyArray<ToolSpec>, { customTools }: Dialect): string =>
  customTools ? withCustoms(json, tools) : withFunctions(json, tools)

export const encodeCall = (call: ToolCall, customs: ReadonlySet<string>): object =>
  customs.has(call.name)
    ? { type: "custom_tool_call", call_id: call.id, name: call.name, input: inputOf(call.arguments) }
    : { type: "function_call", call_id: call.id, name: call.name, arguments: call.arguments }

/** The choice of one tool. */
export const encodeChoice = (name: string, customs: ReadonlySet<string>): object => ({
  type: customs.has(name) ? "custom" : "function",
  name
})

const notWellFormed = malformed("a tool call is not well-formed")

/** The beginning and the end of the arguments that stand for an input. */
const [inputBegins, inputEnds] = ['{"input":"', '"}']

/** A piece of an input as it stands in the arguments. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)

const callOf = ({ call_id: id, name }: Fields, index: number | null, args: unknown): CallFragment | null =>
  Predicate.isString(id) && Predicate.isString(name) && Predicate.isString(args)
    ? { index, id, name, arguments: args }
    : null

export const isCall = ({ type }: Fields): boolean => type === "function_call" || type === "custom_tool_call"

/** A whole call of a document. */
export const wholeCall = (item: Fields, index: number): AnswerChunk => {
  const { arguments: args = "", input = "", type } = item
  const isCustom = type === "custom_tool_call"
  const call = callOf(item, index, isCustom && Predicate.isString(input) ? argumentsOf(input) : args)
  return call === null ? notWellFormed : callDelta(isCustom ? { ...call, isText: true } : call)
}

/** Reads the calls of one stream. */
export const makeReadCalls = () => {
  /** The output indexes of calls whose arguments have begun. */
  const begun = new Set<number>()

  const piece = (
    { delta, output_index }: Fields,
    encode: (text: string, isFirst: boolean) => string
  ): AnswerChunk => {
    const index = decodeCount(output_index)
    if (index === null || !Predicate.isString(delta)) return malformed("a piece of arguments is no text")
    const args = encode(delta, !begun.has(index))
    begun.add(index)
    return callDelta({ index, id: "", name: "", arguments: args })
  }

  /** An input is put into arguments as it comes, which its end closes. */
  const customItem = (item: Fields, index: number, isDone: boolean): AnswerChunk => {
    const isBegun = begun.has(index)
    if (isDone && !isBegun) return wholeCall(item, index)
    begun.add(index)
    const call = callOf(item, index, isDone ? inputEnds : inputBegins)
    return call === null ? notWellFormed : callDelta({ ...call, isText: true })
  }

  return {
    argumentsPiece: (event: Fields): AnswerChunk => piece(event, (text) => text),
    inputPiece: (event: Fields): AnswerChunk =>
      piece(event, (text, isFirst) => (isFirst ? inputBegins : "") + escaped(text)),
    item: (item: Fields, event: Fields, isDone: boolean): AnswerChunk => {
      const index = decodeCount(event["output_index"])
      if (index === null) return notWellFormed
      if (item["type"] === "custom_tool_call") return customItem(item, index, isDone)
      const call = callOf(item, index, item["arguments"] ?? "")
      if (call === null) return notWellFormed
      // The end of a call repeats its whole arguments.
      if (begun.has(index)) return callDelta({ ...call, arguments: "" })
      if (call.arguments !== "") begun.add(index)
      return callDelta(call)
    }
  }
}
