import type { ProfileEventBody } from "../api/openai/ResponseEvents.ts"
import type { Item } from "../api/openai/ResponseResource.ts"
import type { EventBody } from "../api/ResponseEvent.ts"
import { makeInputReader } from "../domain/CustomInput.ts"

/** The calls of the client's tools as they are written: arguments, or a text that is read out of them. */

type ArgumentsEvent = Extract<EventBody, { readonly type: "response.function_call_arguments.delta" }>

interface ShownCall {
  readonly item: Item
  /** null of a call whose arguments are shown. */
  readonly input: ReturnType<typeof makeInputReader> | null
}

/** `place` gives the place of an item by the one that the core gave it. */
export const makeCallPieces = (place: (index: number) => number) => {
  const shown = new Map<number, ShownCall>()

  const argumentsDelta = (index: number, { id }: Item, delta: string): ProfileEventBody => ({
    type: "response.function_call_arguments.delta",
    item_id: id,
    output_index: place(index),
    delta
  })

  const inputDelta = (index: number, { id }: Item, delta: string): ReadonlyArray<ProfileEventBody> =>
    delta === ""
      ? []
      : [{ type: "response.custom_tool_call_input.delta", item_id: id, output_index: place(index), delta }]

  return {
    begin: (index: number, item: Item): void => {
      if (item.type === "function_call") shown.set(index, { item, input: null })
      if (item.type === "custom_tool_call") shown.set(index, { item, input: makeInputReader() })
    },
    delta: ({ delta, output_index: index }: ArgumentsEvent): ReadonlyArray<ProfileEventBody> => {
      const call = shown.get(index)
      if (call === undefined) return []
      const { input, item } = call
      return input === null
        ? [argumentsDelta(index, item, delta)]
        : inputDelta(index, item, input.write(delta))
    },
    /** What is known only at the end of an item. */
    rest: (index: number, item: Item): ReadonlyArray<ProfileEventBody> => {
      const call = shown.get(index)
      if (call !== undefined) return call.input === null ? [] : inputDelta(index, item, call.input.end())
      // It was taken for a call of another kind until then.
      return item.type === "function_call" && item.arguments !== ""
        ? [argumentsDelta(index, item, item.arguments)]
        : []
    }
  }
}
