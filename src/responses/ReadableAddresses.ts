import { Effect } from "effect"
import type { InputItem, OutputItem } from "../domain/Item.ts"
import { addressIn, NamedAddresses } from "../tools/NamedAddresses.ts"
import type { PromptParts } from "./PromptAssembly.ts"
import type { ToolBelt } from "./ToolRounds.ts"

/** The result of a tool, where it names addresses that the model may read then. */
const textOfResult = (name: string, output: string | null): ReadonlyArray<string> => {
  if (output === null) return []
  if (name === "web_fetch") return [output]
  // What stands in front of the first result repeats the query, which the model has made up.
  const results = output.indexOf("\n\n")
  return name === "web_search" && results >= 0 ? [output.slice(results)] : []
}

const textsOf = (item: InputItem | OutputItem): ReadonlyArray<string> => {
  if (item.type === "mcp_call") return textOfResult(item.name, item.output)
  if (item.type !== "message" || item.role !== "user") return []
  return item.content.flatMap((part) => (part.type === "input_text" ? [part.text] : []))
}

/** What a model is given by others than itself, apart from files. */
export type Given = Pick<PromptParts, "systemMessage" | "directions" | "history" | "items">

/**
 * The tools of one response. `web_fetch` reads an address only where the user, a search result or a page that was read has
 * named it: neither the model nor a file can make one up.
 */
export const withNamedAddresses = (belt: ToolBelt, given: Given): ToolBelt => {
  const { directions, history, items, systemMessage } = given
  const texts = [
    ...(systemMessage === null ? [] : [systemMessage]),
    ...directions,
    ...[...history.flatMap(({ input, output }) => [...input, ...output]), ...items].flatMap(textsOf)
  ]
  const find = addressIn(texts)
  return {
    ...belt,
    run: (call) =>
      belt.run(call).pipe(
        Effect.provideService(NamedAddresses, find),
        Effect.tap(({ output }) => Effect.sync(() => texts.push(...textOfResult(call.name, output))))
      )
  }
}
