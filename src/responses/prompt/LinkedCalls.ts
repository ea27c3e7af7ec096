import {
  type FunctionCall,
  type FunctionCallOutput,
  type InputFile,
  type InputImage,
  type McpCall,
  type ReasoningItem,
  type StoredItem,
  unknownCall
} from "../../domain/Conversation.ts"

/** A call with its result. */
export interface RunCall extends McpCall {
  /** The files and images of the result. */
  readonly attached?: ReadonlyArray<InputFile | InputImage>
}

/**
 * An item as prompts show it. A call of the client's function and its result are one item, as if the service
 * had run it.
 */
export type LinkedItem = Exclude<StoredItem, FunctionCall | FunctionCallOutput | McpCall> | RunCall

/**
 * A turn whose calls stand beside their results. Calls that a later turn answers are the first items of that
 * turn.
 */
export interface LinkedTurn {
  readonly items: ReadonlyArray<LinkedItem>
  /** True if the turn begins with calls of an earlier turn. */
  readonly continues: boolean
}

const clientFunctions = "client"
export const resultUnknown = "The result of this call is not known."

/** A result; null where none is known. */
type Given = Pick<FunctionCallOutput, "output" | "attached"> | null

const linked = (call: FunctionCall, result: Given): RunCall => ({
  id: call.id,
  type: "mcp_call",
  status: result === null ? "failed" : "completed",
  server_label: clientFunctions,
  name: call.name || "unknown",
  arguments: call.arguments,
  output: result === null ? null : result.output,
  error: result === null ? resultUnknown : null,
  approval_request_id: null,
  ...(call.round === undefined ? {} : { round: call.round }),
  ...(call.opaque === undefined ? {} : { opaque: call.opaque }),
  ...(result?.attached === undefined ? {} : { attached: result.attached })
})

/** A result whose call is not known any more. */
const unlinked = (result: FunctionCallOutput): RunCall => ({
  ...linked(
    { id: result.id, type: "function_call", status: "completed", call_id: "", name: "", arguments: "{}" },
    result
  ),
  name: unknownCall
})

type Call = FunctionCall | McpCall

/** A call in the turn that answers its round, and the reasoning directly before it. */
interface MovedCall {
  readonly call: Call
  /** The result of a client's function; null until it is known. */
  result: Given
  readonly thoughts: ReadonlyArray<ReasoningItem>
}

const isCall = (item: StoredItem): item is Call => item.type === "function_call" || item.type === "mcp_call"

/** The reasoning directly before each call, where servers demand it. */
const thoughtsBefore = (items: ReadonlyArray<StoredItem>) => {
  const before = new Map<StoredItem, ReadonlyArray<ReasoningItem>>()
  let thoughts: Array<ReasoningItem> = []
  for (const item of items) {
    if (item.type === "reasoning") {
      thoughts.push(item)
      continue
    }
    if (isCall(item)) before.set(item, thoughts)
    thoughts = []
  }
  return before
}

/** All calls that the model made in the same round. */
const roundWith = (call: FunctionCall, items: ReadonlyArray<StoredItem>): ReadonlyArray<Call> => {
  const round = items.filter((item): item is Call => isCall(item) && item.round === call.round)
  return call.round === undefined || round.length === 0 ? [call] : round
}

/**
 * The turn that answers each call, by the items themselves: clients may reuse a call id. A round moves as a
 * whole.
 */
const answersIn = (turns: ReadonlyArray<ReadonlyArray<StoredItem>>, known: ReadonlyArray<FunctionCall>) => {
  const beforeAll = -1
  const open = new Map(known.map((call) => [call.call_id, { call, turn: beforeAll }]))
  const results = new Map<StoredItem, FunctionCallOutput>()
  const entries = new Map<StoredItem, MovedCall & { readonly turn: number }>()
  const moved = new Set<StoredItem>()
  const thoughtsOf = turns.map(thoughtsBefore)
  const firstOf = turns.map((): Array<MovedCall> => [])
  const orphans = new Set<FunctionCallOutput>()

  const moveRound = (call: FunctionCall, from: number, turn: number): void => {
    for (const one of roundWith(call, turns[from] ?? [])) {
      if (entries.has(one) || results.has(one)) continue
      const thoughts = thoughtsOf[from]?.get(one) ?? []
      const entry = { call: one, result: null, thoughts, turn }
      entries.set(one, entry)
      firstOf[turn]?.push(entry)
      for (const item of [one, ...thoughts]) moved.add(item)
    }
  }
  const answerLater = (call: FunctionCall, from: number, turn: number, result: FunctionCallOutput): void => {
    if (!entries.has(call)) moveRound(call, from, turn)
    const entry = entries.get(call)
    if (entry?.turn === turn && entry.result === null) entry.result = result
    else firstOf[turn]?.push({ call, result, thoughts: [] })
  }

  for (const [turn, items] of turns.entries()) {
    for (const item of items) {
      if (item.type === "function_call") open.set(item.call_id, { call: item, turn })
      if (item.type !== "function_call_output") continue
      const found = open.get(item.call_id)
      const isOwn = found?.turn === turn
      if (found === undefined || (isOwn && results.has(found.call))) orphans.add(item)
      else if (isOwn) results.set(found.call, item)
      else answerLater(found.call, found.turn, turn, item)
    }
  }
  return { results, moved, firstOf, orphans }
}

const byId = ({ call: one }: MovedCall, { call: other }: MovedCall): number =>
  one.id < other.id ? -1 : Number(one.id > other.id)

const movedItems = ({ call, result, thoughts }: MovedCall): ReadonlyArray<LinkedItem> => [
  ...thoughts,
  call.type === "mcp_call" ? call : linked(call, result)
]

/**
 * Moves texts behind or between calls of an answer in front of the calls. Servers demand results directly
 * behind the calls, and the whole answer in one message.
 */
const textBeforeCalls = (items: ReadonlyArray<StoredItem>): ReadonlyArray<StoredItem> => {
  const sorted: Array<StoredItem> = []
  /** The place of the first call of the client's functions that has no result yet. */
  let calls: number | null = null
  for (const item of items) {
    if (item.type === "message" && item.role === "assistant" && calls !== null) {
      sorted.splice(calls, 0, item)
      calls++
      continue
    }
    if (item.type === "message" || item.type === "function_call_output") calls = null
    if (item.type === "function_call") calls ??= sorted.length
    sorted.push(item)
  }
  return sorted
}

/**
 * Links the calls of the client's functions with their results, in consecutive turns. `known` are calls of
 * turns before them. A call without a result states that. A result whose call is unknown stays as text.
 */
export const linkCalls = (
  turns: ReadonlyArray<ReadonlyArray<StoredItem>>,
  known: ReadonlyArray<FunctionCall> = []
): ReadonlyArray<LinkedTurn> => {
  const ordered = turns.map(textBeforeCalls)
  const { firstOf, moved, orphans, results } = answersIn(ordered, known)
  return ordered.map((items, turn) => {
    const first = firstOf[turn] ?? []
    const own = items.flatMap((item): ReadonlyArray<LinkedItem> => {
      if (moved.has(item)) return []
      if (item.type === "function_call") {
        const result = results.get(item) ?? null
        // The model didn't complete the call, and it was never run.
        return item.status === "failed" && result === null ? [] : [linked(item, result)]
      }
      if (item.type !== "function_call_output") return [item]
      return orphans.has(item) ? [unlinked(item)] : []
    })
    return { items: [...first.toSorted(byId).flatMap(movedItems), ...own], continues: first.length > 0 }
  })
}
