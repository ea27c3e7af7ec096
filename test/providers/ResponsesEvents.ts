/** An answer of the Responses protocol as OpenAI's servers send it: its items, in a stream or whole. */

export type Item = Readonly<Record<string, unknown>> & { readonly type: string }

type Fields = Readonly<Record<string, unknown>>

export const reasoning = (id: string, encrypted: string | null, ...summary: ReadonlyArray<string>): Item => ({
  id,
  type: "reasoning",
  summary: summary.map((text) => ({ type: "summary_text", text })),
  ...(encrypted === null ? {} : { encrypted_content: encrypted })
})

export const message = (id: string, text: string, phase: string | null = null): Item => ({
  id,
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }],
  ...(phase === null ? {} : { phase })
})

export const call = (id: string, callId: string, args = "{}"): Item => ({
  id,
  type: "function_call",
  status: "completed",
  call_id: callId,
  name: "calc",
  arguments: args
})

const usage = {
  input_tokens: 31,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 14,
  output_tokens_details: { reasoning_tokens: 8 },
  total_tokens: 45
}

/** Characters of a delta. */
const pieceCharacters = 7

const piecesOf = (text: string): ReadonlyArray<string> =>
  Array.from({ length: Math.ceil(text.length / pieceCharacters) }, (_, index) =>
    text.slice(index * pieceCharacters, (index + 1) * pieceCharacters)
  )

const listOf = (value: unknown): ReadonlyArray<Fields> => (Array.isArray(value) ? value : [])

/** The events between the beginning and the end of an item. */
const innerEvents = (item: Item, output_index: number): ReadonlyArray<Fields> => {
  const place = { item_id: item["id"], output_index }
  switch (item.type) {
    case "reasoning":
      return listOf(item["summary"]).flatMap(({ text }, summary_index) => [
        { type: "response.reasoning_summary_part.added", ...place, summary_index },
        ...piecesOf(String(text)).map((delta) => ({
          type: "response.reasoning_summary_text.delta",
          ...place,
          summary_index,
          delta
        })),
        { type: "response.reasoning_summary_text.done", ...place, summary_index, text },
        { type: "response.reasoning_summary_part.done", ...place, summary_index }
      ])
    case "message":
      return listOf(item["content"]).flatMap(({ text }, content_index) => [
        ...piecesOf(String(text)).map((delta) => ({
          type: "response.output_text.delta",
          ...place,
          content_index,
          delta
        })),
        { type: "response.output_text.done", ...place, content_index, text }
      ])
    default:
      return piecesOf(String(item["arguments"])).map((delta) => ({
        type: "response.function_call_arguments.delta",
        ...place,
        delta
      }))
  }
}

/** The item at its beginning. What is encrypted then is not complete. */
const begunItem = (item: Item): Item => ({
  ...item,
  status: "in_progress",
  ...(item.type === "reasoning" ? { summary: [] } : {}),
  ...(item["encrypted_content"] === undefined ? {} : { encrypted_content: "incomplete" }),
  ...(item.type === "message" ? { content: [] } : {}),
  ...(item.type === "function_call" ? { arguments: "" } : {})
})

const response = { id: "resp_1", object: "response", status: "completed", error: null, model: "gpt-5.5" }

export const bytesOf = (events: ReadonlyArray<Fields>): string =>
  events
    .map(
      (event, sequence_number) =>
        `event: ${event["type"]}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`
    )
    .join("")

/** The bytes of a stream with these items. */
export const streamOf = (...items: ReadonlyArray<Item>): string =>
  bytesOf([
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    ...items.flatMap((item, output_index) => [
      { type: "response.output_item.added", output_index, item: begunItem(item) },
      ...innerEvents(item, output_index),
      { type: "response.output_item.done", output_index, item }
    ]),
    { type: "response.completed", response: { ...response, output: items, usage } }
  ])

/** The bytes of the same answer as one document. */
export const documentOf = (...items: ReadonlyArray<Item>): string =>
  JSON.stringify({ ...response, output: items, usage })
