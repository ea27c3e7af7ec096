import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type AnswerEvent, ResponseEvent } from "../../../../src/api/ResponseEvent.ts"
import { startedResponse } from "../../../../src/api/ResponseObject.ts"
import type { ShownOutputItem } from "../../../../src/api/ShownItem.ts"
import {
  answerAfter,
  noAnswer,
  piecesOf,
  sourcesOf,
  textOf
} from "../../../../src/console/app/pages/conversations/thread/pieces.ts"
import { ConversationId, FileId, ItemId, ResponseId } from "../../../../src/domain/Ids.ts"

type OutputItem = typeof ShownOutputItem.Type

const uuid = (last: number) => `01a2094d-d1d4-7183-b54c-0000000000${String(last).padStart(2, "0")}`
const id = ResponseId.make(uuid(1))
const itemId = (n: number) => ItemId.make(uuid(10 + n))

const message = (text: string, status: "in_progress" | "completed" = "completed"): OutputItem => ({
  id: itemId(1),
  type: "message",
  status,
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [], logprobs: [] }]
})

const search: OutputItem = {
  id: itemId(2),
  type: "file_search_call",
  status: "completed",
  queries: ["Who?"],
  results: [
    {
      file_id: FileId.make(uuid(3)),
      filename: "a.pdf",
      score: 1,
      text: "Ada",
      attributes: { number: 4, page: 2, section: "People", start: 10, end: 13 }
    }
  ]
}

const call = (output: string | null): OutputItem => ({
  id: itemId(3),
  type: "mcp_call",
  status: output === null ? "in_progress" : "completed",
  server_label: "parley",
  name: "calculator",
  arguments: output === null ? "" : '{"expression":"1+1"}',
  output,
  error: null,
  approval_request_id: null
})

const created = {
  type: "response.created" as const,
  response: startedResponse({
    id,
    createdAt: 1,
    model: "m",
    conversationId: ConversationId.make(uuid(2)),
    instructions: null,
    maxOutputTokens: null,
    previousResponseId: null,
    store: true
  })
}

const part = { output_index: 0, content_index: 0 }
const numbered = (events: ReadonlyArray<object>): ReadonlyArray<ResponseEvent> =>
  events.map((event, sequence_number) =>
    Schema.decodeUnknownSync(ResponseEvent)({ ...event, sequence_number })
  )

const after = (events: ReadonlyArray<object>) => numbered(events).reduce(answerAfter, noAnswer)

const begun = [
  created,
  { type: "response.output_item.done", output_index: 0, item: search },
  { type: "response.output_item.added", output_index: 1, item: call(null) },
  { type: "response.output_item.done", output_index: 1, item: call("2") },
  {
    type: "response.output_item.added",
    output_index: 2,
    item: { ...message("", "in_progress"), content: [] }
  },
  { type: "response.output_text.delta", item_id: itemId(1), ...part, delta: "It is ", logprobs: [] },
  { type: "response.output_text.delta", item_id: itemId(1), ...part, delta: "Ada [4].", logprobs: [] }
]

describe("An answer that arrives", () => {
  it("an arriving answer doesn't show what the model thinks, and has its text behind it", () => {
    const reasoning: OutputItem = { id: itemId(7), type: "reasoning", status: "in_progress", summary: [] }
    const thought: ReadonlyArray<AnswerEvent> = [
      {
        type: "response.output_item.added",
        sequence_number: 0,
        output_index: 0,
        item: reasoning
      },
      {
        type: "response.reasoning_text.delta",
        sequence_number: 1,
        item_id: reasoning.id,
        output_index: 0,
        content_index: 0,
        delta: "I look."
      }
    ]
    assert.deepStrictEqual(thought.reduce(answerAfter, noAnswer), noAnswer)
    assert.deepStrictEqual(
      after([{ type: "response.output_item.done", output_index: 0, item: reasoning }, ...begun]).pieces,
      after(begun).pieces
    )
  })

  it("an arriving answer has its searches, its calls and its text, in their order", () => {
    const answer = after(begun)
    assert.deepStrictEqual(
      answer.pieces.map(({ kind }) => kind),
      ["search", "tool", "text"]
    )
    assert.strictEqual(textOf(answer.pieces), "It is Ada [4].")
    assert.deepInclude(answer.pieces[1], { name: "calculator", result: "2", hasFailed: false })
    assert.deepInclude(sourcesOf(answer.pieces).get(4), { filename: "a.pdf", page: 2, start: 10, end: 13 })
  })

  it("an arriving answer begins anew when its events are repeated, as after a lost connection", () => {
    assert.deepStrictEqual(after([...begun, ...begun]), after(begun))
  })

  it("an arriving answer ends as it is stored, or with the failure", () => {
    const response = { ...created.response, status: "completed", output: [message("It is Ada.")] }
    const whole = after([...begun, { type: "response.completed", response }])
    assert.isTrue(whole.isComplete)
    assert.deepStrictEqual(whole.pieces, piecesOf([message("It is Ada.")]))
    const error = { code: "generation_failed", message: "No.", param: null }
    const failed = after([...begun, { type: "error", ...error, error: { type: "server_error", ...error } }])
    assert.deepStrictEqual(failed.failure, { code: "generation_failed", message: "No." })
    assert.isFalse(failed.isComplete)
  })
})
