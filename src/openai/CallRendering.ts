import { Option, Schema, Struct } from "effect"
import { type IdKind, shownId } from "../api/openai/ProfileIds.ts"
import type { Item } from "../api/openai/ResponseResource.ts"
import { type FunctionCall, hiddenOfCalls } from "../domain/Conversation.ts"
import { inputOf } from "../domain/CustomInput.ts"
import type { CallKind, CallKinds } from "./ClientTools.ts"

/** Calls that the client runs, in the type of item that stands for their tool. */

const Command = Schema.Struct({
  command: Schema.Array(Schema.String),
  working_directory: Schema.optionalKey(Schema.NullOr(Schema.String)),
  timeout_ms: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  env: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.String)))
})
const Commands = Schema.Struct({
  commands: Schema.Array(Schema.String),
  timeout_ms: Schema.optionalKey(Schema.NullOr(Schema.Int)),
  max_output_length: Schema.optionalKey(Schema.NullOr(Schema.Int))
})
const Operation = Schema.Union([
  Schema.Struct({ type: Schema.Literal("delete_file"), path: Schema.String }),
  Schema.Struct({
    type: Schema.Literals(["create_file", "update_file"]),
    path: Schema.String,
    diff: Schema.optionalKey(Schema.String)
  })
])

const read = <S extends Schema.Codec<unknown, unknown>>(schema: S) =>
  Schema.decodeOption(Schema.fromJsonString(schema))
const readCommand = read(Command)
const readCommands = read(Commands)
const readOperation = read(Operation)

const idKinds: Readonly<Record<CallKind["type"], IdKind>> = {
  function: "functionCall",
  custom: "customCall",
  local_shell: "localShellCall",
  shell: "shellCall",
  apply_patch: "applyPatchCall"
}

export const callIdKind = (name: string, kinds: CallKinds): IdKind =>
  idKinds[kinds.get(name)?.type ?? "function"]

const statusOf = ({ status }: FunctionCall): Item["status"] =>
  // One that the model didn't write to its end.
  status === "failed" ? "incomplete" : status

/** Renders the call of a plain function, or a call of which it isn't known what it stands for. */
export const renderPlainCall = (call: FunctionCall): Extract<Item, { type: "function_call" }> => ({
  ...Struct.omit(call, hiddenOfCalls),
  id: shownId("functionCall", call.id),
  status: statusOf(call)
})

/** The item of the kind; null where the model's arguments don't fit it. */
const asMachine = (call: FunctionCall, kind: CallKind): Item | null => {
  const { arguments: args, call_id } = call
  const common = { id: shownId(idKinds[kind.type], call.id), call_id, status: statusOf(call) }
  switch (kind.type) {
    case "local_shell":
      return Option.match(readCommand(args), {
        onNone: () => null,
        onSome: (action) => ({
          ...common,
          type: "local_shell_call",
          action: { type: "exec", ...action, env: action.env ?? {} }
        })
      })
    case "shell":
      return Option.match(readCommands(args), {
        onNone: () => null,
        onSome: ({ commands, max_output_length = null, timeout_ms = null }) => ({
          ...common,
          type: "shell_call",
          action: { commands, timeout_ms, max_output_length }
        })
      })
    case "apply_patch":
      return Option.match(readOperation(args), {
        onNone: () => null,
        onSome: (operation) => ({
          ...common,
          type: "apply_patch_call",
          operation:
            operation.type === "delete_file" ? operation : { ...operation, diff: operation.diff ?? "" }
        })
      })
    default:
      return null
  }
}

/** A call of a tool that has no stream of its own is shown once it is whole; null until then. */
export const renderFunctionCall = (call: FunctionCall, kinds: CallKinds): Item | null => {
  const kind = kinds.get(call.name)
  if (kind === undefined) return renderPlainCall(call)
  switch (kind.type) {
    case "function":
      return { ...renderPlainCall(call), name: kind.name, namespace: kind.namespace }
    case "custom":
      return {
        id: shownId("customCall", call.id),
        type: "custom_tool_call",
        status: statusOf(call),
        call_id: call.call_id,
        name: kind.name,
        input: call.status === "in_progress" ? "" : inputOf(call.arguments),
        ...(kind.namespace === null ? {} : { namespace: kind.namespace })
      }
    default:
      return call.status === "in_progress" ? null : (asMachine(call, kind) ?? renderPlainCall(call))
  }
}
