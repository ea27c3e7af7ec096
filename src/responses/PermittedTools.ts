import { Effect } from "effect"
import type { ItemId } from "../domain/Ids.ts"
import type { ToolCall } from "../domain/ModelCall.ts"
import type { ToolName } from "../domain/Tool.ts"
import { Toolkit } from "../tools/Toolkit.ts"
import { toolOffer, type ToolOffer } from "./PromptAssembly.ts"
import type { ToolBelt } from "./ToolRounds.ts"

/** The tools of one response: what the model is offered, and what it may call. */
export interface PermittedTools {
  readonly tools: ToolOffer
  readonly belt: ToolBelt
}

/** Gives those of a set of tools that there are. Every set is made once; there are few of them. */
export const makePermittedTools = Effect.fnUntraced(function* (nextItemId: () => ItemId) {
  const toolkit = yield* Toolkit
  const made = new Map<string, PermittedTools>()

  return (permitted: ReadonlySet<ToolName>): PermittedTools => {
    const specs = toolkit.offered.filter(({ name }) => hasName(permitted, name))
    const key = specs.map(({ name }) => name).join(" ")
    const known = made.get(key)
    if (known !== undefined) return known
    const offered = new Set(specs.map(({ name }) => name))
    const tools = {
      tools: toolOffer(specs),
      belt: { run: (call: ToolCall) => toolkit.run(call, offered), nextItemId }
    }
    made.set(key, tools)
    return tools
  }
})

const hasName = (names: ReadonlySet<string>, name: string): boolean => names.has(name)
