import { Effect, Predicate } from "effect"
import {
  type CreateResponse,
  type InputEntry,
  isMessage,
  type Part,
  type ReplayedItem
} from "../api/CreateResponse.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import type { FileId, ItemId } from "../domain/Ids.ts"
import type { InputItem, InputMessage, McpCall } from "../domain/Item.ts"

/** One entry of a request's input, in the service's own terms. */
export type Incoming =
  | { readonly kind: "item"; readonly item: InputItem }
  | { readonly kind: "reference"; readonly id: ItemId; readonly param: string }

/** What a request says, sorted: what to answer, and what to heed for this response only. */
export interface IncomingInput {
  /** Texts of `system` and `developer` items: they hold for this response and are not stored. */
  readonly directions: ReadonlyArray<string>
  readonly entries: ReadonlyArray<Incoming>
  /** The files that the messages refer to, and where. */
  readonly files: ReadonlyArray<{ readonly id: FileId; readonly param: string }>
}

/** Roles that don't name somebody else are the user's. Source: wire contract, section 1, roles. */
const roleOf = (role: string | null | undefined): "user" | "assistant" | "system" => {
  switch (role) {
    case "assistant":
      return "assistant"
    case "system":
    case "developer":
      return "system"
    default:
      return "user"
  }
}

const partsOf = (content: string | ReadonlyArray<Part>): ReadonlyArray<Part> =>
  typeof content === "string" ? [{ type: "input_text", text: content }] : content

/** What is written in a message, without its files. */
export const textOf = (parts: ReadonlyArray<Part>): string =>
  parts.flatMap((part) => (part.type === "input_file" ? [] : [part.text])).join("\n")

const storedPart = (part: Part): InputMessage["content"][number] =>
  part.type === "output_text" ? { ...part, annotations: [], logprobs: [] } : part

/** A replayed tool call is kept as context where it says what was called and what came of it. */
const replayedCall = (item: ReplayedItem, id: ItemId): McpCall | null => {
  const { name, arguments: args, output, error } = item
  if (item.type !== "mcp_call" || !Predicate.isString(name) || !Predicate.isString(args)) return null
  return {
    id,
    type: "mcp_call",
    status: Predicate.isString(output) ? "completed" : "failed",
    server_label: "builtin",
    name,
    arguments: args,
    output: Predicate.isString(output) ? output : null,
    error: Predicate.isString(error) ? error : null,
    approval_request_id: null
  }
}

/** Only the assistant has said what it put out. Source: wire contract, section 1, parts. */
const misplacedOutput = (param: string) =>
  new InvalidRequest({
    param,
    message: `\`${param}\` must be an input_text or input_file part; output_text is for items of the role assistant.`
  })

/** Whether an input holds anything that a user said. */
const speaks = (entries: ReadonlyArray<Incoming>): boolean =>
  entries.some(
    (entry) =>
      entry.kind === "item" &&
      entry.item.type === "message" &&
      entry.item.role === "user" &&
      entry.item.content.some((part) => part.type === "input_file" || part.text !== "")
  )

/** Sorts the input of a request. `nextId` gives each stored item its id. */
export const readInput = Effect.fnUntraced(function* (input: CreateResponse["input"], nextId: () => ItemId) {
  const given: ReadonlyArray<InputEntry> = typeof input === "string" ? [{ content: input }] : input
  const directions: Array<string> = []
  const entries: Array<Incoming> = []
  const files: Array<IncomingInput["files"][number]> = []
  for (const [index, entry] of given.entries()) {
    if (!isMessage(entry)) {
      if (entry.type === "item_reference") {
        entries.push({ kind: "reference", id: entry.id, param: `input[${index}].id` })
        continue
      }
      const call = replayedCall(entry, nextId())
      if (call !== null) entries.push({ kind: "item", item: call })
      continue
    }
    const parts = partsOf(entry.content)
    const role = roleOf(entry.role)
    for (const [position, part] of parts.entries()) {
      const param = `input[${index}].content[${position}]`
      if (part.type === "output_text" && role !== "assistant") return yield* misplacedOutput(param)
      if (part.type === "input_file") files.push({ id: part.file_id, param: `${param}.file_id` })
    }
    if (role === "system") {
      directions.push(textOf(parts))
      // A document is data, also where it comes along with instructions.
      const attached = parts.filter((part) => part.type === "input_file")
      if (attached.length > 0) {
        entries.push({
          kind: "item",
          item: { id: nextId(), type: "message", role: "user", content: attached }
        })
      }
      continue
    }
    const item: InputMessage = { id: nextId(), type: "message", role, content: parts.map(storedPart) }
    entries.push({ kind: "item", item })
  }
  if (!speaks(entries)) {
    return yield* new InvalidRequest({ param: "input", message: "`input` holds no message of the user." })
  }
  return { directions, entries, files } satisfies IncomingInput
})
