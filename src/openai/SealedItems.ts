import type { EventBody } from "../api/ResponseEvent.ts"
import type { FunctionCall, McpCall, OutputItem, ReasoningItem } from "../domain/Conversation.ts"
import type { ItemId } from "../domain/Ids.ts"
import { begunItem } from "../responses/ItemEvents.ts"
import type { Recalled } from "../responses/ResponseRequest.ts"

/**
 * The items of an answer whose client keeps what the model thought. Reasoning has what only the model's server can read, also of
 * the calls behind it; where only calls have such a value, an item without a summary precedes them.
 */

/** Seals what an item gives back, once. */
export type Seal = (id: ItemId, recalled: Recalled) => string | null

/** Reasoning with what it gives back. */
export interface SealedReasoning extends ReasoningItem {
  readonly sealed?: string | null
}

interface Shown {
  /** Whether the service's searches of the web are shown as such. */
  readonly webSearch: boolean
}

interface View {
  readonly shown: Shown
  /** null where the client didn't ask for it. */
  readonly seal: Seal | null
}

const isWeb = (call: McpCall): boolean => call.name === "web_search" || call.name === "web_fetch"

/** Whether an item is shown as a `web_search_call`, which has no room for more. */
export const isWebSearchCall = (item: OutputItem, { webSearch }: Shown): boolean =>
  webSearch && item.type === "mcp_call" && isWeb(item)

type Held = ReasoningItem | FunctionCall

const opaquesOf = (calls: ReadonlyArray<FunctionCall>) =>
  Object.fromEntries(
    calls.flatMap(({ call_id, opaque }) => (opaque === undefined ? [] : [[call_id, opaque] as const]))
  )

const isCall = (item: OutputItem): item is FunctionCall => item.type === "function_call"

/** The reasoning of a group: reasoning and the calls behind it, or calls alone; null where nothing of it is sealed. */
const sealedOf = (
  group: ReadonlyArray<Held>,
  next: OutputItem | null,
  { seal, shown }: View
): SealedReasoning | null => {
  const [first] = group
  if (seal === null || first === undefined || first.status === "in_progress") return null
  const calls = opaquesOf(group.filter(isCall))
  if (first.type === "function_call") {
    const isSigned = Object.values(calls).some(({ data }) => data !== "")
    return isSigned ? { ...withoutText(first), sealed: seal(first.id, { calls }) } : null
  }
  // That call can't be given back, and reasoning without what it led to is refused.
  const isLost = group.length === 1 && next !== null && isWebSearchCall(next, shown)
  const { opaque, text } = first
  return { ...first, sealed: isLost ? null : seal(first.id, { thought: { text, opaque }, calls }) }
}

/** Stands before calls that nothing was thought before; its id differs from that of the first call by its prefix. */
const withoutText = ({ id }: Held): ReasoningItem => ({
  id,
  type: "reasoning",
  status: "completed",
  text: "",
  opaque: null
})

/** A whole output with what is sealed of it. */
export const sealedOutput = (output: ReadonlyArray<OutputItem>, view: View): ReadonlyArray<OutputItem> => {
  if (view.seal === null) return output
  const items: Array<OutputItem> = []
  let group: ReadonlyArray<Held> = []
  const release = (next: OutputItem | null) => {
    const sealed = sealedOf(group, next, view)
    items.push(...(sealed === null ? [] : [sealed]), ...(sealed === null ? group : group.filter(isCall)))
    group = []
  }
  for (const item of output) {
    if (item.type === "function_call") group = [...group, item]
    else {
      release(item)
      if (item.type === "reasoning") group = [item]
      else items.push(item)
    }
  }
  release(null)
  return items
}

type ItemEvent = Extract<EventBody, { readonly item: unknown }>

const none: ReadonlyArray<EventBody> = []

/** The events of a group, with its sealed reasoning. */
const eventsOfGroup = (
  events: ReadonlyArray<ItemEvent>,
  sealed: SealedReasoning | null
): ReadonlyArray<EventBody> => {
  const [first, ...rest] = events
  if (sealed === null || first === undefined) return events
  if (first.item.type === "reasoning") return [{ ...first, item: sealed }, ...rest]
  // Between the item before it and the call.
  const place = { output_index: first.output_index - 0.5 }
  return [
    { type: "response.output_item.added", ...place, item: begunItem(withoutText(sealed)) },
    { type: "response.output_item.done", ...place, item: sealed },
    ...events
  ]
}

/** The same for the events of a stream. Reasoning and calls are held back until it is known what follows them. */
export const makeSealedEvents = (view: View): ((event: EventBody) => ReadonlyArray<EventBody>) => {
  let held: ReadonlyArray<ItemEvent> = []
  const release = (next: OutputItem | null) => {
    if (held.length === 0) return none
    const items = held.flatMap(({ item, type }): ReadonlyArray<Held> => {
      if (type === "response.output_item.added") return []
      return item.type === "reasoning" || item.type === "function_call" ? [item] : []
    })
    const events = eventsOfGroup(held, sealedOf(items, next, view))
    held = []
    return events
  }
  return (event) => {
    if (!("item" in event)) return [...release(null), event]
    if (event.item.type === "function_call") {
      held = [...held, event]
      return none
    }
    const released = release(event.item)
    if (event.item.type !== "reasoning" || event.type === "response.output_item.added")
      return [...released, event]
    held = [event]
    return released
  }
}
