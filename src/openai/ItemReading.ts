import { Effect, Predicate } from "effect"
import { isUnservedItem } from "../api/openai/CallItems.ts"
import type { Item } from "../api/openai/CreateBody.ts"
import type { Detail, Part } from "../api/openai/Parts.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import { flatName } from "../api/openai/Tools.ts"
import { argumentsOf } from "../domain/CustomInput.ts"
import type { ImageDetail } from "../domain/ModelCall.ts"
import { callIdOf } from "../responses/generation/CallItems.ts"
import type { RequestEntry, RequestPart } from "../responses/prompt/ResponseRequest.ts"
import type { UserSealing } from "./Sealing.ts"

/**
 * From the items that a client sends to what the core understands. Calls of every kind are calls of functions
 * there.
 */

export const detailOf = (detail: typeof Detail.Type | null | undefined): ImageDetail =>
  detail === "original" ? "high" : (detail ?? "auto")

const partOf = (part: Part): RequestPart => {
  switch (part.type) {
    case "refusal":
      return { type: "output_text", text: part.refusal }
    case "input_image": {
      const { file_id, image_url, type } = part
      return { type, url: image_url ?? null, fileId: file_id ?? null, detail: detailOf(part.detail) }
    }
    case "input_file":
      return part.file_id == null
        ? {
            type: "input_document",
            filename: part.filename ?? null,
            data: part.file_data ?? null,
            url: part.file_url ?? null
          }
        : { type: part.type, file_id: part.file_id }
    default:
      return part
  }
}

type CallItem = Extract<Item, { readonly call_id?: unknown }>
type TypeOf<Suffix extends string> = Extract<CallItem, { readonly type: `${string}${Suffix}` }>

const nameIn = ({
  name,
  namespace
}: {
  readonly name: string
  readonly namespace?: string | null | undefined
}): string => (namespace == null ? name : flatName(namespace, name))

const called = (call_id: string, name: string, args: unknown): RequestEntry => ({
  type: "function_call",
  call_id,
  name,
  arguments: typeof args === "string" ? args : JSON.stringify(args ?? {})
})

/** The fields of an action that a model wrote, without those that the item has besides. */
const argumentsIn = (action: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(
    Object.entries(action).filter(
      ([name, value]) =>
        value !== null &&
        name !== "type" &&
        !(name === "env" && Predicate.isObject(value) && Object.keys(value).length === 0)
    )
  )

const callEntry = (item: TypeOf<"_call">): RequestEntry => {
  switch (item.type) {
    case "function_call":
      return called(item.call_id, nameIn(item), item.arguments)
    case "custom_tool_call":
      return called(item.call_id, nameIn(item), argumentsOf(item.input))
    case "local_shell_call":
    case "shell_call":
      return called(item.call_id, item.type.slice(0, -"_call".length), argumentsIn(item.action))
    case "apply_patch_call":
      return called(item.call_id, "apply_patch", item.operation)
    case "computer_call":
      return called(item.call_id, "computer", item.action ?? { actions: item.actions ?? [] })
  }
}

/** A result that is no text alone keeps its parts. */
export const resultEntry = (call_id: string, output: string | ReadonlyArray<RequestPart>): RequestEntry => {
  const type = "function_call_output" as const
  if (typeof output === "string") return { type, call_id, output }
  return output.every((part) => part.type === "input_text")
    ? { type, call_id, output: output.map(({ text }) => text).join("\n") }
    : { type, call_id, parts: output }
}

/** A result may name its call by the id of the call's item. */
const shellCallId = (id: string): string => {
  const prefix = shownId("localShellCall", "")
  return id.startsWith(prefix) ? callIdOf(id.slice(prefix.length)) : id
}

const outputEntry = (item: TypeOf<"_output">): RequestEntry => {
  switch (item.type) {
    case "function_call_output":
    case "custom_tool_call_output":
      return resultEntry(
        item.call_id,
        typeof item.output === "string" ? item.output : item.output.map(partOf)
      )
    case "local_shell_call_output":
      return resultEntry(item.call_id ?? shellCallId(item.id ?? ""), item.output)
    case "shell_call_output":
      return resultEntry(
        item.call_id,
        typeof item.output === "string" ? item.output : JSON.stringify(item.output)
      )
    case "apply_patch_call_output":
      return resultEntry(
        item.call_id,
        [item.status, item.output].filter((text) => text != null && text !== "").join("\n")
      )
    case "computer_call_output":
      return resultEntry(item.call_id, [partOf({ ...item.output, type: "input_image" })])
  }
}

/** In the place of an item that says nothing to a model: the places of the others are named in errors. */
const nothing: RequestEntry = { type: "reasoning" }

const entryOf = (item: Item, { open }: UserSealing): RequestEntry => {
  switch (item.type) {
    case "reasoning": {
      const recalled = item.encrypted_content == null ? null : open(item.encrypted_content)
      return recalled === null ? item : { type: item.type, recalled }
    }
    case "function_call":
    case "custom_tool_call":
    case "local_shell_call":
    case "shell_call":
    case "apply_patch_call":
    case "computer_call":
      return callEntry(item)
    case "function_call_output":
    case "custom_tool_call_output":
    case "local_shell_call_output":
    case "shell_call_output":
    case "apply_patch_call_output":
    case "computer_call_output":
      return outputEntry(item)
    case "code_interpreter_call":
      return {
        type: "mcp_call",
        name: "code_interpreter",
        arguments: JSON.stringify({ code: item.code ?? "" }),
        output: JSON.stringify(item.outputs ?? [])
      }
    case "web_search_call":
    case "file_search_call":
    case "mcp_call":
      return item
    case "compaction":
      return {
        type: "message",
        role: "user",
        content: `[Summary of the conversation so far]\n\n${item.encrypted_content}\n\n[End of the summary]`
      }
    case "image_generation_call":
    case "mcp_approval_request":
    case "mcp_approval_response":
    case "mcp_list_tools":
    case "tool_search_call":
    case "additional_tools":
    case "tool_search_output":
      return nothing
    default: {
      if ("id" in item) return { type: "item_reference", id: item.id }
      const content = typeof item.content === "string" ? item.content : item.content.map(partOf)
      return { type: "message", role: item.role, content }
    }
  }
}

/**
 * The ids of calls that the model didn't write to their end: neither they nor results of them say anything.
 */
const cutCalls = (items: ReadonlyArray<Item>): ReadonlySet<unknown> =>
  new Set(
    items.flatMap((item) =>
      item.type === "function_call" && item.status === "incomplete" ? [item.call_id] : []
    )
  )

/** Each entry is an operation of its own, for much may have to be decrypted. */
export const entriesOf = (items: ReadonlyArray<Item>, sealing: UserSealing) => {
  const cut = cutCalls(items)
  return Effect.forEach(items, (item) =>
    Effect.sync(() => ("call_id" in item && cut.has(item.call_id) ? nothing : entryOf(item, sealing)))
  )
}

/** The places of the items that say nothing to a model. */
export const unservedIn = (items: ReadonlyArray<Item>): ReadonlyArray<string> =>
  items.flatMap((item, index) => (isUnservedItem(item) ? [`input[${index}]`] : []))
