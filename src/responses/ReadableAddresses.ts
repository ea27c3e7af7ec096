import { Effect, Option, Schema } from "effect"
import type { InputItem, OutputItem } from "../domain/Item.ts"
import {
  addressIn,
  type AddressSource,
  type FindAddress,
  NamedAddresses
} from "../tools/egress/NamedAddresses.ts"
import type { PromptParts } from "./PromptAssembly.ts"
import type { ToolBelt } from "./ToolRounds.ts"

const decodeQuery = Schema.decodeOption(Schema.fromJsonString(Schema.Struct({ query: Schema.String })))

const queryOf = (args: string): string =>
  Option.match(decodeQuery(args), { onNone: () => args, onSome: ({ query }) => query })

/** The result of a tool, where it names addresses that the model may read then. */
const sourcesOfResult = (
  { arguments: args, name }: { readonly name: string; readonly arguments: string },
  output: string | null
): ReadonlyArray<AddressSource> => {
  if (output === null) return []
  if (name === "web_fetch") return [{ text: output, query: "" }]
  // What stands in front of the first result repeats the query.
  const results = output.indexOf("\n\n")
  return name === "web_search" && results >= 0 ? [{ text: output.slice(results), query: queryOf(args) }] : []
}

const sourcesOf = (item: InputItem | OutputItem): ReadonlyArray<AddressSource> => {
  if (item.type === "mcp_call") return sourcesOfResult(item, item.output)
  if (item.type !== "message" || item.role !== "user") return []
  return item.content.flatMap((part) => (part.type === "input_text" ? [said(part.text)] : []))
}

const said = (text: string): AddressSource => ({ text, query: "" })

/** What a model is given by others than itself, apart from files. */
export type Given = Pick<PromptParts, "systemMessage" | "directions" | "history" | "items">

const sourcesOfGiven = ({
  directions,
  history,
  items,
  systemMessage
}: Given): ReadonlyArray<AddressSource> => [
  ...(systemMessage === null ? [] : [said(systemMessage)]),
  ...directions.map(said),
  ...[...history.flatMap(({ input, output }) => [...input, ...output]), ...items].flatMap(sourcesOf)
]

/**
 * The tools of one response. `web_fetch` reads an address only where the user, a search result or a page that was read has
 * named it: neither the model nor a file can make one up.
 */
export const withNamedAddresses = (belt: ToolBelt, given: Given): ToolBelt => {
  const results: Array<AddressSource> = []
  // Most responses read no page, so nothing is collected for them.
  const find: FindAddress = (url) => addressIn([...sourcesOfGiven(given), ...results])(url)
  return {
    ...belt,
    run: (call) =>
      belt.run(call).pipe(
        Effect.provideService(NamedAddresses, find),
        Effect.tap(({ output }) => Effect.sync(() => results.push(...sourcesOfResult(call, output))))
      )
  }
}
