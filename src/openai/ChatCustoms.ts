import type { ChatBody } from "../api/openai/ChatBody.ts"
import type { ChatChunk, ChatCompletion } from "../api/openai/ChatCompletion.ts"
import type { CustomTool } from "../api/openai/ChatTools.ts"
import { inputOf, makeInputReader } from "../domain/CustomInput.ts"
import type { ToolSpec } from "../domain/ModelCall.ts"
import { customSpec } from "./ClientTools.ts"

/**
 * Tools of a chat whose input is a text. To the core, and to the rendering of a chat, their calls are calls
 * of functions.
 */

type Names = ReadonlySet<string>

/** The name of a tool, or of the one that a choice demands or allows. */
export const nameOf = (
  tool:
    | { readonly type: "function"; readonly function: { readonly name: string } }
    | { readonly type: "custom"; readonly custom: { readonly name: string } }
): string => (tool.type === "custom" ? tool.custom.name : tool.function.name)

/** The tool as models are offered it, as Responses offers its own. */
export const customSpecOf = ({ custom: { format, ...tool } }: CustomTool, index: number): ToolSpec => {
  const flat = format?.type === "grammar" ? { type: format.type, ...format.grammar } : format
  return customSpec({ type: "custom", ...tool, format: flat }, tool.name, `tools[${index}]`)
}

/** The names of a chat's tools whose input is a text. */
export const customsOf = ({ tools }: ChatBody): Names =>
  new Set((tools ?? []).flatMap((tool) => (tool.type === "custom" ? [tool.custom.name] : [])))

/** An answer whose calls of these tools have their text. */
export const completionWithCustoms =
  (customs: Names) =>
  (completion: ChatCompletion): ChatCompletion => ({
    ...completion,
    choices: completion.choices.map(({ message: { tool_calls: calls, ...said }, ...choice }) => ({
      ...choice,
      message:
        calls === undefined
          ? said
          : {
              ...said,
              tool_calls: calls.map((call) =>
                call.type === "function" && customs.has(call.function.name)
                  ? {
                      id: call.id,
                      type: "custom" as const,
                      custom: { name: call.function.name, input: inputOf(call.function.arguments) }
                    }
                  : call
              )
            }
    }))
  })

type Choice = ChatChunk["choices"][number]
type Call = NonNullable<Choice["delta"]["tool_calls"]>[number]

interface OpenCall {
  readonly index: number
  readonly input: ReturnType<typeof makeInputReader>
}

const withCall = (choice: Choice, call: Call): Choice => ({
  ...choice,
  delta: { tool_calls: [call] },
  finish_reason: null
})

const withInput = (choice: Choice, index: number, input: string): ReadonlyArray<Choice> =>
  input === "" ? [] : [withCall(choice, { index, custom: { input } })]

/**
 * Rewrites the chunks of one stream, in their order. A delta has one call at most, and each call ends before
 * the next one.
 */
export const makeChunkWithCustoms = (customs: Names): ((chunk: ChatChunk) => ReadonlyArray<ChatChunk>) => {
  /** The calls that are being written, by their choice. */
  const open = new Map<number, OpenCall>()

  /** Adds what is known of a text only at the end of its call. */
  const rest = (choice: Choice): ReadonlyArray<Choice> => {
    const call = open.get(choice.index)
    open.delete(choice.index)
    return call === undefined ? [] : withInput(choice, call.index, call.input.end())
  }

  const begin = (choice: Choice, { function: called, id = "", index }: Call): ReadonlyArray<Choice> => {
    const before = rest(choice)
    const { name = "" } = called ?? {}
    if (!customs.has(name)) return [...before, choice]
    open.set(choice.index, { index, input: makeInputReader() })
    return [...before, withCall(choice, { index, id, type: "custom", custom: { name, input: "" } })]
  }

  const rewritten = (choice: Choice): ReadonlyArray<Choice> => {
    const call = choice.delta.tool_calls?.[0]
    if (call === undefined) return choice.finish_reason === null ? [choice] : [...rest(choice), choice]
    if (call.id !== undefined) return begin(choice, call)
    const written = open.get(choice.index)
    return written === undefined
      ? [choice]
      : withInput(choice, call.index, written.input.write(call.function?.arguments ?? ""))
  }

  return (chunk) =>
    chunk.choices.length === 0
      ? [chunk]
      : chunk.choices.flatMap(rewritten).map((choice) => ({ ...chunk, choices: [choice] }))
}
