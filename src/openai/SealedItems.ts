import type { EventBody } from "../api/ResponseEvent.ts"
import type { FunctionCall, McpCall, OutputItem, ReasoningItem } from "../domain/Conversation.ts"
import type { ItemId } from "../domain/Ids.ts"
import { itemEvents, reasoningItem } from "../responses/generation/ItemEvents.ts"
import type { Recalled } from "../responses/prompt/ResponseRequest.ts"

/**
 * The items of an answer whose client keeps what the model thought. Reasoning has what only the model's
 * server can read. What it can read of the client's calls is known when the last of them ends: an item
 * without a summary has it, behind them.
 */

/** Seals what an item gives back, once. */
export type Seal = (id: ItemId, recalled: Recalled) => string | null

/** Reasoning with what it gives back. */
export interface SealedReasoning extends ReasoningItem {
  readonly sealed?: string | null
}

interface Shown {
  /** True if the service's searches of the web are shown as such. */
  readonly webSearch: boolean
}

interface View {
  readonly shown: Shown
  /** null where the client didn't ask for it. */
  readonly seal: Seal | null
}

const isWeb = (call: McpCall): boolean => call.name === "web_search" || call.name === "web_fetch"

/** True if an item is shown as a `web_search_call`, which has no room for more. */
export const isWebSearchCall = (item: OutputItem, { webSearch }: Shown): boolean =>
  webSearch && item.type === "mcp_call" && isWeb(item)

const isCall = (item: OutputItem): item is FunctionCall => item.type === "function_call"

/** Reasoning as it is sealed, whose next item is known; null if it is the last. */
const sealedThought = (
  item: ReasoningItem,
  next: OutputItem | null,
  { seal, shown }: View
): SealedReasoning => {
  if (seal === null) return item
  // That call can't be given back, and reasoning without what it led to is refused.
  const isLost = next !== null && isWebSearchCall(next, shown)
  const { opaque, text } = item
  return { ...item, sealed: isLost ? null : seal(item.id, { thought: { text, opaque } }) }
}

/** The rounds of the client's calls that the service's own calls share, as far as these are given back. */
const sharedRounds = (
  calls: ReadonlyArray<FunctionCall>,
  output: ReadonlyArray<OutputItem>,
  shown: Shown
): Readonly<Record<string, string>> => {
  const own = new Set(
    output.flatMap((item) => (item.type === "mcp_call" && !isWebSearchCall(item, shown) ? [item.round] : []))
  )
  return Object.fromEntries(
    calls.flatMap(({ call_id, round }) => (round !== undefined && own.has(round) ? [[call_id, round]] : []))
  )
}

/**
 * Seals what belongs to the calls at the end of an output: their signatures, ids that thoughts may name, and
 * the round that they share with the service's own calls; null if nothing.
 */
const sealedCalls = (output: ReadonlyArray<OutputItem>, { seal, shown }: View): SealedReasoning | null => {
  const calls = output.filter(isCall)
  const [first] = calls
  if (seal === null || first === undefined) return null
  const opaques = calls.flatMap(({ call_id, opaque }) =>
    opaque === undefined ? [] : [[call_id, opaque] as const]
  )
  const isSigned = opaques.some(([, { data }]) => data !== "")
  const isThought = output.some((item) => item.type === "reasoning" && item.opaque !== null)
  const rounds = sharedRounds(calls, output, shown)
  const isShared = Object.keys(rounds).length > 0
  if (!isShared && !isSigned && (!isThought || opaques.length === 0)) return null
  // The id differs from that of the call by its prefix.
  const item = reasoningItem(first.id, { text: "", opaque: null })
  const recalled = { calls: Object.fromEntries(opaques), ...(isShared ? { rounds } : {}) }
  return { ...item, sealed: seal(first.id, recalled) }
}

/** A whole output with what is sealed of it. */
export const sealedOutput = (output: ReadonlyArray<OutputItem>, view: View): ReadonlyArray<OutputItem> => {
  if (view.seal === null) return output
  const items = output.map((item, index) =>
    item.type === "reasoning" ? sealedThought(item, output[index + 1] ?? null, view) : item
  )
  const ofCalls = sealedCalls(output, view)
  return ofCalls === null ? items : [...items, ofCalls]
}

/** The same for the events of a stream. The end of reasoning is held back until it is known what follows. */
export const makeSealedEvents = (view: View): ((event: EventBody) => ReadonlyArray<EventBody>) => {
  let held: { readonly index: number; readonly item: ReasoningItem } | null = null

  const release = (next: OutputItem | null): ReadonlyArray<EventBody> => {
    if (held === null) return []
    const { index, item } = held
    held = null
    return [{ type: "response.output_item.done", output_index: index, item: sealedThought(item, next, view) }]
  }

  return (event) => {
    const released = release("item" in event ? event.item : null)
    if (event.type === "response.output_item.done" && event.item.type === "reasoning") {
      held = { index: event.output_index, item: event.item }
      return released
    }
    if (event.type !== "response.completed") return [...released, event]
    const { output } = event.response
    const ofCalls = sealedCalls(output, view)
    return [...released, ...(ofCalls === null ? [] : itemEvents(ofCalls, output.length)), event]
  }
}
