import { Effect, Predicate } from "effect"
import type { ReplayedItem } from "../../api/CreateResponse.ts"
import {
  type InputItem,
  type InputMessage,
  type McpCall,
  unknownCall,
  type StoredItem
} from "../../domain/Conversation.ts"
import { InvalidRequest, ItemNotFound } from "../../domain/Errors.ts"
import type { ItemId } from "../../domain/Ids.ts"
import { isGroupEnd, mayGiveWay } from "../../runtime/ProcessorTurns.ts"
import {
  type FileReference,
  filesOfResult,
  type GivenResult,
  isFunctionEntry,
  makeFunctionItems
} from "./FunctionItems.ts"
import { resultUnknown } from "./LinkedCalls.ts"
import {
  isMessageEntry as isMessage,
  isRecalled,
  type ReadEntry,
  type ReadPart,
  type ReadMediaInput,
  type RecalledEntry
} from "./ResponseRequest.ts"

/** One entry of a request's input. */
type Incoming =
  | { readonly kind: "item"; readonly item: InputItem }
  | { readonly kind: "reference"; readonly id: ItemId; readonly param: string }

/** The input of a request, sorted. */
export interface IncomingInput {
  /** Texts of `system` and `developer` items. They hold for this response and are not stored. */
  readonly directions: ReadonlyArray<string>
  readonly entries: ReadonlyArray<Incoming>
  readonly files: ReadonlyArray<FileReference>
  /** The results of the client's functions. */
  readonly results: ReadonlyArray<GivenResult>
}

/** Unknown roles are the user's. Source: wire contract, section 1, roles. */
const roleOf = (role: string | null | undefined): "user" | "assistant" | "system" => {
  if (role === "assistant") return role
  return role === "system" || role === "developer" ? "system" : "user"
}

const partsOf = (content: string | ReadonlyArray<ReadPart>): ReadonlyArray<ReadPart> =>
  typeof content === "string" ? [{ type: "input_text", text: content }] : content

/** The text of a message, without its files and images. */
export const textOf = (parts: ReadonlyArray<ReadPart>): string =>
  parts.flatMap((part) => ("text" in part ? [part.text] : [])).join("\n")

const storedPart = (part: ReadPart): InputMessage["content"][number] =>
  part.type === "output_text" ? { ...part, annotations: [], logprobs: [] } : part

/** The replayed result of a client's tool: a text, or a list of parts; null if it is neither. */
const resultOf = ({ output }: ReplayedItem): string | null => {
  if (Predicate.isString(output)) return output
  if (!Array.isArray(output)) return null
  return output
    .flatMap((part) =>
      Predicate.hasProperty(part, "text") && Predicate.isString(part.text) ? [part.text] : []
    )
    .join("\n")
}

const callWith = (
  id: ItemId,
  called: { readonly name: string; readonly arguments: string },
  output: string | null,
  error: string | null,
  round: string = id
): McpCall => ({
  id,
  type: "mcp_call",
  status: output === null ? "failed" : "completed",
  server_label: "builtin",
  ...called,
  output,
  error,
  approval_request_id: null,
  round
})

const isCall = (
  item: ReplayedItem
): item is ReplayedItem & { readonly name: string; readonly arguments: string } =>
  Predicate.isString(item.name) && Predicate.isString(item.arguments)

/**
 * Reads replayed tool calls, which are kept as context if they have a name, arguments and a result. The
 * result of a `function_call` is the `function_call_output` with the same `call_id`.
 */
const makeReplayedCalls = (given: ReadonlyArray<ReadEntry>, nextId: () => ItemId) => {
  const results = new Map<unknown, string | null>()
  const calls = new Set<unknown>()
  for (const entry of given) {
    if (isMessage(entry) || entry.type === "item_reference" || !Predicate.isString(entry.call_id)) continue
    if (entry.type === "function_call_output") results.set(entry.call_id, resultOf(entry))
    if (entry.type === "function_call" && isCall(entry)) calls.add(entry.call_id)
  }
  // Calls in a row were one round, which ends at a result.
  let round: string | null = null

  return (item: ReplayedItem): McpCall | null => {
    const { call_id: callId, error } = item
    if (item.type === "function_call_output") {
      round = null
      const output = resultOf(item)
      if (output === null || calls.has(callId)) return null
      return callWith(nextId(), { name: unknownCall, arguments: "{}" }, output, null)
    }
    if ((item.type !== "mcp_call" && item.type !== "function_call") || !isCall(item)) return null
    const called = { name: item.name, arguments: item.arguments }
    const id = nextId()
    round ??= id
    if (item.type === "mcp_call") {
      const output = resultOf(item)
      return callWith(id, called, output, Predicate.isString(error) ? error : null, round)
    }
    const output = results.get(callId) ?? null
    return callWith(id, called, output, output === null ? resultUnknown : null, round)
  }
}

/** The reasoning and the call of the model, unchanged. */
const recalledItems = (
  { recalled: { ran, thought } }: RecalledEntry,
  nextId: () => ItemId
): ReadonlyArray<InputItem> => [
  ...(thought === undefined
    ? []
    : [{ id: nextId(), type: "reasoning", status: "completed", ...thought } as const]),
  ...(ran === undefined ? [] : [{ ...ran, id: nextId() }])
]

/** Only the assistant has output. Source: wire contract, section 1, parts. */
const misplacedOutput = (param: string) =>
  new InvalidRequest({
    param,
    message: `\`${param}\` must be an input_text or input_file part; output_text is for items of the role assistant.`
  })

const misplacedImage = (param: string) =>
  new InvalidRequest({ param, message: `\`${param}\` must not be an image: the assistant shows none.` })

/**
 * Sorts the input of a request. `nextId` gives each stored item its id. With `functionItems`, calls of the
 * client's functions and their results are items of their own; otherwise they are context.
 */
export const readInput = (input: ReadMediaInput, nextId: () => ItemId, functionItems = false) =>
  readEntries(typeof input === "string" ? [{ content: input }] : input, nextId, functionItems, "input")

/**
 * Sorts items that need not form a request: a client may add any items to a conversation. `field` names them
 * in errors.
 */
export const readEntries = Effect.fnUntraced(function* (
  given: ReadonlyArray<ReadEntry>,
  nextId: () => ItemId,
  functionItems: boolean,
  field: string
) {
  const directions: Array<string> = []
  const entries: Array<Incoming> = []
  const files: Array<FileReference> = []
  const results: Array<GivenResult> = []
  const replayed = makeReplayedCalls(given, nextId)
  const readFunction = makeFunctionItems(given, nextId)
  for (const [index, entry] of given.entries()) {
    if (isGroupEnd(index)) yield* mayGiveWay
    if (!isMessage(entry) && entry.type === "item_reference") {
      entries.push({ kind: "reference", id: entry.id, param: `${field}[${index}].id` })
      continue
    }
    if (!isMessage(entry) && functionItems && isFunctionEntry(entry)) {
      const item = yield* readFunction(entry, `${field}[${index}]`)
      entries.push({ kind: "item", item })
      if (item.type === "function_call_output") {
        results.push({ callId: item.call_id, param: `${field}[${index}].call_id` })
        files.push(...filesOfResult(entry, `${field}[${index}].output`))
      }
      continue
    }
    if (!isMessage(entry) && isRecalled(entry)) {
      for (const item of recalledItems(entry, nextId)) entries.push({ kind: "item", item })
      continue
    }
    if (!isMessage(entry)) {
      const call = replayed(entry)
      if (call !== null) entries.push({ kind: "item", item: call })
      continue
    }
    const parts = partsOf(entry.content)
    const role = roleOf(entry.role)
    for (const [position, part] of parts.entries()) {
      const param = `${field}[${index}].content[${position}]`
      if (part.type === "output_text" && role !== "assistant") return yield* misplacedOutput(param)
      if (part.type === "input_image" && role === "assistant") return yield* misplacedImage(param)
      if (part.type === "input_file") files.push({ id: part.file_id, param: `${param}.file_id` })
    }
    if (role === "system") directions.push(textOf(parts))
    // A document is data, even if it is attached to instructions.
    const kept = role === "system" ? parts.filter((part) => !("text" in part)) : parts
    if (role === "system" && kept.length === 0) continue
    const item: InputMessage = {
      id: nextId(),
      type: "message",
      role: role === "system" ? "user" : role,
      content: kept.map(storedPart)
    }
    entries.push({ kind: "item", item })
  }
  return { directions, entries, files, results } satisfies IncomingInput
})

/** An item of a request's input. */
export interface GivenItem {
  readonly item: InputItem
  /** The position and the id of an item that the request refers to; null for other items. */
  readonly reference: { readonly param: string; readonly id: ItemId } | null
}

/** An item of an earlier turn as input of a new turn, where it gets its own id. */
const asInput = (item: StoredItem, id: ItemId): InputItem =>
  item.type === "message" ? { id, type: "message", role: item.role, content: item.content } : { ...item, id }

/** Replaces references by stored items, which `find` reads. A second reference to an item adds nothing. */
export const resolveReferences = <E>(
  entries: ReadonlyArray<Incoming>,
  find: (ids: ReadonlyArray<ItemId>) => Effect.Effect<ReadonlyMap<ItemId, StoredItem>, E>,
  nextId: () => ItemId
): Effect.Effect<ReadonlyArray<GivenItem>, E | ItemNotFound> => {
  const ids = new Set(entries.flatMap((entry) => (entry.kind === "reference" ? [entry.id] : [])))
  return ids.size === 0
    ? resolved(entries, new Map(), nextId)
    : Effect.flatMap(find([...ids]), (stored) => resolved(entries, stored, nextId))
}

/** The items that the entries are or refer to, in their order, each reference once. */
const resolved = Effect.fnUntraced(function* (
  entries: ReadonlyArray<Incoming>,
  stored: ReadonlyMap<ItemId, StoredItem>,
  nextId: () => ItemId
) {
  const seen = new Set<ItemId>()
  const given: Array<GivenItem> = []
  for (const [index, entry] of entries.entries()) {
    if (isGroupEnd(index)) yield* mayGiveWay
    if (entry.kind === "item") {
      given.push({ item: entry.item, reference: null })
    } else if (!seen.has(entry.id)) {
      seen.add(entry.id)
      const { param } = entry
      const found = stored.get(entry.id)
      if (found === undefined) return yield* new ItemNotFound({ param })
      given.push({ item: asInput(found, nextId()), reference: { param, id: entry.id } })
    }
  }
  return given
})

/** The items to answer, without those that the history has; `known` finds them. */
export const notInHistory = <E>(
  given: ReadonlyArray<GivenItem>,
  known: (ids: ReadonlyArray<ItemId>) => Effect.Effect<ReadonlySet<ItemId>, E>
): Effect.Effect<ReadonlyArray<InputItem>, E> => {
  const ids = given.flatMap(({ reference }) => (reference === null ? [] : [reference.id]))
  if (ids.length === 0) return Effect.succeed(given.map(({ item }) => item))
  return Effect.map(known(ids), (inHistory) =>
    given.flatMap(({ item, reference }) => (reference !== null && inHistory.has(reference.id) ? [] : [item]))
  )
}
