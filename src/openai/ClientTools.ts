import {
  type CustomTool,
  flatName,
  type FunctionTool,
  type MachineType,
  type Tool
} from "../api/openai/Tools.ts"
import type { TextInput, ToolSpec } from "../domain/ModelCall.ts"

/**
 * The tools that clients run, as models are offered them: a model knows functions, and the service what each
 * of them stands for.
 */

/** The kind of tool that a call stands for, if it isn't a plain function. */
export type CallKind =
  | { readonly type: "function"; readonly namespace: string; readonly name: string }
  | { readonly type: "custom"; readonly namespace: string | null; readonly name: string }
  | { readonly type: MachineType }

/** The kinds by the names that the model calls. */
export type CallKinds = ReadonlyMap<string, CallKind>

export const noKinds: CallKinds = new Map()

interface ClientTool {
  readonly spec: ToolSpec
  /** null of a plain function. */
  readonly kind: CallKind | null
}

const noParameters = { type: "object", properties: {} }

const textOf = (...texts: ReadonlyArray<string | null | undefined>): string =>
  texts.filter((text) => text != null && text !== "").join("\n\n")

const functionSpec = (tool: FunctionTool, name: string, param: string): ToolSpec => ({
  name,
  description: tool.description ?? "",
  parameters: tool.parameters ?? noParameters,
  param: `${param}.parameters`,
  ...(tool.strict === true ? { strict: true } : {})
})

const syntaxes = { lark: "Lark grammar", regex: "regular expression" } as const

const grammarInWords = ({ grammar }: TextInput): string | null =>
  grammar === null ? null : `The text follows this ${syntaxes[grammar.syntax]}:\n${grammar.definition}`

/** The argument of a tool whose input is a text, for models that know only JSON. */
export const customSpec = (tool: CustomTool, name: string, param: string): ToolSpec => {
  const { description, format } = tool
  const grammar = format?.type === "grammar" ? { syntax: format.syntax, definition: format.definition } : null
  const text: TextInput = { description: description ?? "", grammar }
  return {
    name,
    description: textOf(
      description,
      "Give the whole input as the text `input`, as it is.",
      grammarInWords(text)
    ),
    parameters: {
      type: "object",
      properties: { input: { type: "string", description: "The input of the tool." } },
      required: ["input"],
      additionalProperties: false
    },
    param,
    text
  }
}

const text = (description: string) => ({ type: "string", description })
const milliseconds = { type: "integer", description: "Milliseconds after which it is ended." }

/**
 * The tools that OpenAI describes to its own models. Source: its reference of Responses, the items of these
 * types.
 */
const machines: Readonly<Record<MachineType, Pick<ToolSpec, "description" | "parameters">>> = {
  local_shell: {
    description: "Runs a command on the user's machine.",
    parameters: {
      type: "object",
      properties: {
        command: { type: "array", items: { type: "string" }, description: "The program and its arguments." },
        working_directory: text("The directory to run it in."),
        timeout_ms: milliseconds
      },
      required: ["command"],
      additionalProperties: false
    }
  },
  shell: {
    description: "Runs commands in a shell on the user's machine.",
    parameters: {
      type: "object",
      properties: {
        commands: { type: "array", items: { type: "string" }, description: "The commands, each a line." },
        timeout_ms: milliseconds,
        max_output_length: { type: "integer", description: "Characters of the output that are kept." }
      },
      required: ["commands"],
      additionalProperties: false
    }
  },
  apply_patch: {
    description: "Creates, changes or deletes one file of the user's.",
    parameters: {
      type: "object",
      properties: {
        type: { type: "string", enum: ["create_file", "update_file", "delete_file"] },
        path: text("The path of the file."),
        diff: text(
          "For a new or changed file: its lines in the V4A diff format, each behind `+`, `-` or a space, with `@@` before each place."
        )
      },
      required: ["type", "path"],
      additionalProperties: false
    }
  }
}

const memberOf = (namespace: string, tool: FunctionTool | CustomTool, param: string): ClientTool => {
  const { name, type } = tool
  const flat = flatName(namespace, name)
  return {
    spec: tool.type === "function" ? functionSpec(tool, flat, param) : customSpec(tool, flat, param),
    kind: { type, namespace, name }
  }
}

const toolsIn = (tool: Tool, param: string): ReadonlyArray<ClientTool> => {
  switch (tool.type) {
    case "function":
      return [{ spec: functionSpec(tool, tool.name, param), kind: null }]
    case "custom": {
      const { name, type } = tool
      return [{ spec: customSpec(tool, name, param), kind: { type, namespace: null, name } }]
    }
    case "namespace":
      return tool.tools.map((member, index) => memberOf(tool.name, member, `${param}.tools[${index}]`))
    case "local_shell":
    case "shell":
    case "apply_patch":
      return [{ spec: { name: tool.type, param, ...machines[tool.type] }, kind: { type: tool.type } }]
    default:
      return []
  }
}

/** All that the client runs. `name` names the list in errors, in which the tools begin at `from`. */
export const clientTools = (
  tools: ReadonlyArray<Tool>,
  name = "tools",
  from = 0
): ReadonlyArray<ClientTool> => tools.flatMap((tool, index) => toolsIn(tool, `${name}[${from + index}]`))

/** Says what the calls of these tools stand for. */
export const kindsOf = (tools: ReadonlyArray<Tool>): CallKinds =>
  new Map(clientTools(tools).flatMap(({ kind, spec }) => (kind === null ? [] : [[spec.name, kind] as const])))
