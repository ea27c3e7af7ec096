import { Effect } from "effect"
import type { ItemId } from "../domain/Ids.ts"
import type { ToolCall, ToolName } from "../domain/ModelCall.ts"
import { Toolkit } from "../tools/Toolkit.ts"
import { toolOffer, type ToolOffer } from "./PromptAssembly.ts"
import type { ToolBelt } from "./ToolRounds.ts"

/** The tools of one response: what the model is offered, and what it may call. */
export interface PermittedTools {
  readonly tools: ToolOffer
  readonly belt: ToolBelt
}

/** Gives those of a set of tools that there are. What is made for a set is kept for as long as somebody has the set. */
export const makePermittedTools = Effect.fnUntraced(function* (nextItemId: () => ItemId) {
  const toolkit = yield* Toolkit
  const made = new WeakMap<ReadonlySet<ToolName>, PermittedTools>()

  return (permitted: ReadonlySet<ToolName>): PermittedTools => {
    const known = made.get(permitted)
    if (known !== undefined) return known
    const specs = toolkit.offered.filter(({ name }) => hasName(permitted, name))
    const offered = new Set(specs.map(({ name }) => name))
    const tools = {
      tools: toolOffer(specs),
      belt: { run: (call: ToolCall) => toolkit.run(call, offered), nextItemId }
    }
    made.set(permitted, tools)
    return tools
  }
})

const hasName = (names: ReadonlySet<string>, name: string): boolean => names.has(name)
