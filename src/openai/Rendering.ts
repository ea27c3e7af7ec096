import type { ErrorBody } from "../api/ErrorEnvelope.ts"
import { shownId } from "../api/openai/ProfileIds.ts"
import type { ProfileEventBody } from "../api/openai/ResponseEvents.ts"
import type { Item, ResponseResource } from "../api/openai/ResponseResource.ts"
import { errorEvent, type EventBody } from "../api/ResponseEvent.ts"
import type { ResponseObject } from "../api/ResponseObject.ts"
import { makeInputReader } from "../domain/CustomInput.ts"
import type { ItemId } from "../domain/Ids.ts"
import { namedFrame, type Writing } from "../http/Sse.ts"
import { messagePart, renderItem, renderResponse, type View } from "./ItemRendering.ts"
import { makeSealedEvents } from "./SealedItems.ts"

/** The calls of the client's tools as they are written: arguments, or a text that is read out of them. */

type ArgumentsEvent = Extract<EventBody, { readonly type: "response.function_call_arguments.delta" }>

interface ShownCall {
  readonly item: Item
  /** null of a call whose arguments are shown. */
  readonly input: ReturnType<typeof makeInputReader> | null
}

/** `place` gives the place of an item by the one that the core gave it. */
const makeCallPieces = (place: (index: number) => number) => {
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
    /** Adds what is known only at the end of an item. */
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

/** The place of each shown item, by the place that the core gave it. */
const makePlaces = () => {
  const places = new Map<number, number>()
  const place = (index: number): number => places.get(index) ?? places.size
  return {
    has: (index: number): boolean => places.has(index),
    place,
    /** That of an item that begins. */
    take: (index: number): number => {
      const taken = place(index)
      places.set(index, taken)
      return taken
    }
  }
}

/** The second rendering: from the core's events to those of the OpenAI interface. */

/** The events around a message's text, which are known when it is done. */
const endOfMessage = (index: number, item: Extract<Item, { type: "message" }>): Array<ProfileEventBody> =>
  item.content.flatMap((part, content_index): Array<ProfileEventBody> => {
    const place = { item_id: item.id, output_index: index, content_index }
    const done: ProfileEventBody = { type: "response.content_part.done", ...place, part }
    if (part.type === "refusal")
      return [{ type: "response.refusal.done", ...place, refusal: part.refusal }, done]
    return [
      ...part.annotations.map((annotation, annotation_index) => ({
        type: "response.output_text.annotation.added" as const,
        ...place,
        annotation_index,
        annotation
      })),
      { type: "response.output_text.done", ...place, text: part.text, logprobs: part.logprobs },
      done
    ]
  })

/** The place of a summary, which has one part. */
const ofThought = (item_id: string, output_index: number) => ({ item_id, output_index, summary_index: 0 })

const beginSummary = (place: ReturnType<typeof ofThought>): ProfileEventBody => ({
  type: "response.reasoning_summary_part.added",
  ...place,
  part: { type: "summary_text", text: "" }
})

/** `isWritten` if its text was shown as the model thought it. */
const ofSummary = (
  index: number,
  item: Extract<Item, { type: "reasoning" }>,
  isWritten: boolean
): Array<ProfileEventBody> =>
  item.summary.flatMap((part): Array<ProfileEventBody> => {
    const place = ofThought(item.id, index)
    return [
      ...(isWritten
        ? []
        : [
            beginSummary(place),
            { type: "response.reasoning_summary_text.delta", ...place, delta: part.text } as const
          ]),
      { type: "response.reasoning_summary_text.done", ...place, text: part.text },
      { type: "response.reasoning_summary_part.done", ...place, part }
    ]
  })

const ofArguments = (
  index: number,
  item: Extract<Item, { type: "function_call" }>
): Array<ProfileEventBody> => {
  const { arguments: args, id, name } = item
  return [
    {
      type: "response.function_call_arguments.done",
      item_id: id,
      output_index: index,
      name,
      arguments: args
    }
  ]
}

/** The events between the beginning of an item and its end. */
const beforeDone = (index: number, item: Item, isWritten: boolean): Array<ProfileEventBody> => {
  switch (item.type) {
    case "message":
      return endOfMessage(index, item)
    case "function_call":
      return ofArguments(index, item)
    case "custom_tool_call":
      return [
        {
          type: "response.custom_tool_call_input.done",
          item_id: item.id,
          output_index: index,
          input: item.input
        }
      ]
    case "local_shell_call":
    case "shell_call":
    case "apply_patch_call":
      return []
    case "reasoning":
      return ofSummary(index, item, isWritten)
    case "web_search_call":
    case "file_search_call":
      return [{ type: `response.${item.type}.completed`, item_id: item.id, output_index: index }]
  }
}

const afterAdded = (index: number, item: Item): Array<ProfileEventBody> =>
  item.type === "web_search_call" || item.type === "file_search_call"
    ? (["in_progress", "searching"] as const).map((state) => ({
        type: `response.${item.type}.${state}` as const,
        item_id: item.id,
        output_index: index
      }))
    : []

/** An item that is shown only once it is whole, before its deltas. */
const unwritten = (item: Item): Item =>
  item.type === "function_call"
    ? { ...item, status: "in_progress", arguments: "" }
    : { ...item, status: "in_progress" }

const begin = (index: number, item: Item): ReadonlyArray<ProfileEventBody> => [
  { type: "response.output_item.added", output_index: index, item },
  ...afterAdded(index, item)
]

/** The events of the core that are about one item. */
type ItemEvent = Extract<EventBody, { readonly output_index: number }>

type ThoughtEvent = Extract<ItemEvent, { readonly type: "response.reasoning_text.delta" }>

interface Ended {
  readonly index: number
  readonly item: Item
}

const isItem = (item: Item | undefined): item is Item => item !== undefined

/** Renders what the model thinks, as the summary of an item. */
const makeSummaries = (place: (index: number) => number) => {
  /** The places of reasoning whose text has begun. */
  const written = new Set<number>()
  return {
    isWritten: (index: number): boolean => written.has(index),
    delta: ({ delta, item_id, output_index }: ThoughtEvent): ReadonlyArray<ProfileEventBody> => {
      const index = place(output_index)
      const summary = ofThought(shownId("reasoning", item_id), index)
      const begun = written.has(index) ? [] : [beginSummary(summary)]
      written.add(index)
      return [...begun, { type: "response.reasoning_summary_text.delta", ...summary, delta }]
    }
  }
}

/** Renders what happens to the items of one response. */
const makeItemRenderer = (view: View) => {
  const { has, place, take } = makePlaces()
  const done: Array<Item> = []
  /** A message that has ended: whether it was cut is known at the end of the response. */
  let held: Ended | null = null
  const summaries = makeSummaries(place)
  const calls = makeCallPieces(place)

  const placed = (id: ItemId, index: number) => ({
    item_id: shownId("message", id),
    output_index: place(index)
  })

  const end = ({ index, item }: Ended): ReadonlyArray<ProfileEventBody> => {
    done[index] = item
    return [
      ...beforeDone(index, item, summaries.isWritten(index)),
      { type: "response.output_item.done", output_index: index, item }
    ]
  }

  const release = (isCut: boolean): ReadonlyArray<ProfileEventBody> => {
    if (held === null) return []
    const { index, item } = held
    held = null
    return end({ index, item: isCut ? { ...item, status: "incomplete" } : item })
  }

  const itemEvent = (one: ItemEvent): ReadonlyArray<ProfileEventBody> => {
    switch (one.type) {
      case "response.output_item.added": {
        const item = renderItem(one.item, view)
        if (item === null) return []
        calls.begin(one.output_index, item)
        return begin(take(one.output_index), item)
      }
      case "response.output_item.done": {
        const item = renderItem(one.item, view)
        if (item === null) return []
        // One that is shown only once it is whole begins here.
        const begun = has(one.output_index) ? [] : begin(take(one.output_index), unwritten(item))
        const ended = { index: place(one.output_index), item }
        if (item.type !== "message") return [...begun, ...calls.rest(one.output_index, item), ...end(ended)]
        held = ended
        return []
      }
      case "response.function_call_arguments.delta":
        return calls.delta(one)
      case "response.reasoning_text.delta":
        return summaries.delta(one)
      case "response.content_part.added":
        return [{ ...one, ...placed(one.item_id, one.output_index), part: messagePart(one.part) }]
      case "response.refusal.delta":
      case "response.output_text.delta":
        return [{ ...one, ...placed(one.item_id, one.output_index) }]
      case "response.output_text.done":
        // The end of the item says the same, and knows its citations.
        return []
    }
  }

  return {
    event: (one: ItemEvent) => [...release(false), ...itemEvent(one)],
    release,
    /** The items that are done. */
    done: (): ReadonlyArray<Item> => done.filter(isItem)
  }
}

interface Renderer {
  /** The events that precede all events of the core. */
  readonly start: ReadonlyArray<ProfileEventBody>
  /** The events that stand for one of the core's. */
  readonly event: (event: EventBody) => ReadonlyArray<ProfileEventBody>
  /** The end of a stream that fails. */
  readonly failure: (body: ErrorBody) => ReadonlyArray<ProfileEventBody>
}

/**
 * Renders the events of one response, in their order. One that was `queued` is shown so first: clients want
 * `response.created` before anything.
 */
export const makeRenderer = (view: View, queued: ResponseResource | null = null): Renderer => {
  const items = makeItemRenderer(view)
  let started = queued
  const start: ReadonlyArray<ProfileEventBody> =
    queued === null
      ? []
      : [
          { type: "response.created", response: queued },
          { type: "response.queued", response: queued }
        ]

  const failed = (error: ErrorEvent): ReadonlyArray<ProfileEventBody> => {
    const last = items.release(false)
    if (started === null) return [...last, error]
    const { code, message } = error
    const output = items.done()
    // Some clients only know the one, some only the other.
    return [
      ...last,
      error,
      {
        type: "response.failed",
        response: { ...started, status: "failed", output, error: { code, message } }
      }
    ]
  }

  const completed = (whole: ResponseObject): ReadonlyArray<ProfileEventBody> => {
    const response = renderResponse(whole, view)
    const isCut = response.status === "incomplete"
    return [...items.release(isCut), { type: isCut ? "response.incomplete" : "response.completed", response }]
  }

  const rendered = (one: EventBody): ReadonlyArray<ProfileEventBody> => {
    switch (one.type) {
      case "response.created": {
        started = renderResponse(one.response, view)
        const running: ProfileEventBody = { type: "response.in_progress", response: started }
        return queued === null ? [{ type: "response.created", response: started }, running] : [running]
      }
      case "response.completed":
        return completed(one.response)
      case "error":
        return failed(one)
      default:
        return items.event(one)
    }
  }

  const sealed = view.seal === null ? null : makeSealedEvents(view)
  const event = sealed === null ? rendered : (one: EventBody) => sealed(one).flatMap(rendered)

  return { start, event, failure: (body) => event(errorEvent(body)) }
}

type ErrorEvent = Extract<EventBody, { readonly type: "error" }>

const lastFrame = "data: [DONE]\n\n"

/**
 * Writes the events of one response, each under its own name, numbered from 0. `queued` is a response in the
 * background as it waited. Frames up to the number `after` are left out.
 */
export const makeWriting = (view: View, queued: ResponseResource | null = null, after = -1): Writing => {
  const renderer = makeRenderer(view, queued)
  let next = 0
  const frames = (events: ReadonlyArray<ProfileEventBody>) => {
    let text = ""
    for (const event of events) {
      const numbered = Object.assign({ type: event.type, sequence_number: next++ }, event)
      if (numbered.sequence_number > after) text += namedFrame(event.type, numbered)
    }
    return text
  }
  return {
    start: frames(renderer.start),
    event: (event) => frames(renderer.event(event)),
    failure: (body) => frames(renderer.failure(body)),
    end: lastFrame
  }
}
