import {
  type FunctionCall,
  type FunctionCallOutput,
  type McpCall,
  type ReasoningItem,
  type StoredItem,
  unknownCall
} from "../domain/Conversation.ts"

/** An item as prompts show it: a call of the client's function and its result are one, as if the service had run it. */
export type LinkedItem = Exclude<StoredItem, FunctionCall | FunctionCallOutput>

/** A turn whose calls stand where their results are known: calls that a later turn answers are the first items of that turn. */
export interface LinkedTurn {
  readonly items: ReadonlyArray<LinkedItem>
  /** Whether it begins with calls of an earlier turn. */
  readonly continues: boolean
}

const clientFunctions = "client"
export const resultUnknown = "The result of this call is not known."

const linked = (call: FunctionCall, output: string | null): McpCall => ({
  id: call.id,
  type: "mcp_call",
  status: output === null ? "failed" : "completed",
  server_label: clientFunctions,
  name: call.name || "unknown",
  arguments: call.arguments,
  output,
  error: output === null ? resultUnknown : null,
  approval_request_id: null,
  ...(call.round === undefined ? {} : { round: call.round }),
  ...(call.opaque === undefined ? {} : { opaque: call.opaque })
})

/** A result whose call is not known any more. */
const unlinked = ({ id, output }: FunctionCallOutput): McpCall => ({
  ...linked(
    { id, type: "function_call", status: "completed", call_id: "", name: "", arguments: "{}" },
    output
  ),
  name: unknownCall
})

/** A call that stands in the turn that answers it, and what was thought directly before it. */
interface MovedCall {
  readonly call: McpCall
  readonly thoughts: ReadonlyArray<ReasoningItem>
}

/** The reasoning directly before each call: servers want it there. */
const thoughtsBefore = (items: ReadonlyArray<StoredItem>) => {
  const before = new Map<StoredItem, ReadonlyArray<ReasoningItem>>()
  let thoughts: Array<ReasoningItem> = []
  for (const item of items) {
    if (item.type === "reasoning") {
      thoughts.push(item)
      continue
    }
    if (item.type === "function_call") before.set(item, thoughts)
    thoughts = []
  }
  return before
}

/** Where each call is answered, by the items themselves: clients may use a call id again. */
const answersIn = (turns: ReadonlyArray<ReadonlyArray<StoredItem>>, known: ReadonlyArray<FunctionCall>) => {
  const beforeAll = -1
  const open = new Map(known.map((call) => [call.call_id, { call, turn: beforeAll }]))
  const results = new Map<FunctionCall, string>()
  const moved = new Map<FunctionCall, number>()
  const movedThoughts = new Set<StoredItem>()
  const thoughtsOf = turns.map(thoughtsBefore)
  const firstOf = turns.map((): Array<MovedCall> => [])
  const orphans = new Set<FunctionCallOutput>()
  for (const [turn, items] of turns.entries()) {
    for (const item of items) {
      if (item.type === "function_call") open.set(item.call_id, { call: item, turn })
      if (item.type !== "function_call_output") continue
      const found = open.get(item.call_id)
      const isOwn = found?.turn === turn
      if (found === undefined || (isOwn && results.has(found.call))) orphans.add(item)
      else if (isOwn) results.set(found.call, item.output)
      else {
        const thoughts = moved.has(found.call) ? [] : (thoughtsOf[found.turn]?.get(found.call) ?? [])
        for (const thought of thoughts) movedThoughts.add(thought)
        firstOf[turn]?.push({ call: linked(found.call, item.output), thoughts })
        if (!moved.has(found.call)) moved.set(found.call, turn)
      }
    }
  }
  return { results, moved, movedThoughts, firstOf, orphans }
}

const byId = ({ call: one }: MovedCall, { call: other }: MovedCall): number =>
  one.id < other.id ? -1 : Number(one.id > other.id)

/**
 * Links the calls of the client's functions with their results, in turns that follow each other. `known` are calls of turns
 * before them. A call that nothing answers says so; a result whose call is not known stays as text.
 */
export const linkCalls = (
  turns: ReadonlyArray<ReadonlyArray<StoredItem>>,
  known: ReadonlyArray<FunctionCall> = []
): ReadonlyArray<LinkedTurn> => {
  const { firstOf, moved, movedThoughts, orphans, results } = answersIn(turns, known)
  return turns.map((items, turn) => {
    const first = firstOf[turn] ?? []
    const own = items.flatMap((item): ReadonlyArray<LinkedItem> => {
      if (item.type === "function_call") {
        return moved.has(item) ? [] : [linked(item, results.get(item) ?? null)]
      }
      if (item.type !== "function_call_output") return movedThoughts.has(item) ? [] : [item]
      return orphans.has(item) ? [unlinked(item)] : []
    })
    return {
      items: [...first.toSorted(byId).flatMap(({ call, thoughts }) => [...thoughts, call]), ...own],
      continues: first.length > 0
    }
  })
}
