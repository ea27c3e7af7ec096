import { assert, describe, it } from "@effect/vitest"
import { errorEvent, type EventBody, numberEvent } from "../../../../../src/api/ResponseEvent.ts"
import { startedResponse } from "../../../../../src/api/ResponseObject.ts"
import { answerAfter, noAnswer } from "../../../../../src/console/app/pages/home/answer.ts"

const id = "018f0000-0000-7000-8000-000000000001" as never
const response = startedResponse({
  id,
  createdAt: 0,
  model: "a-model",
  conversationId: id,
  instructions: null,
  maxOutputTokens: null,
  previousResponseId: null,
  store: false
})
const place = { item_id: id, output_index: 0, content_index: 0 }
const delta = (text: string): EventBody => ({
  type: "response.output_text.delta",
  ...place,
  delta: text,
  logprobs: []
})
const toolCall = {
  id,
  type: "mcp_call",
  status: "in_progress",
  server_label: "tools",
  name: "calculator",
  arguments: "{}",
  output: null,
  error: null,
  approval_request_id: null
} as const

const after = (events: ReadonlyArray<EventBody>) => events.map(numberEvent).reduce(answerAfter, noAnswer)

describe("an answer", () => {
  it("grows by the deltas of its text", () => {
    const answer = after([{ type: "response.created", response }, delta("Hel"), delta("lo")])
    assert.deepStrictEqual(answer, { ...noAnswer, model: "a-model", text: "Hello" })
  })

  it("names the tool that runs, until it has run", () => {
    const begun: EventBody = { type: "response.output_item.added", output_index: 0, item: toolCall }
    const ended: EventBody = {
      type: "response.output_item.done",
      output_index: 0,
      item: { ...toolCall, status: "completed" }
    }
    assert.strictEqual(after([begun]).tool, "calculator")
    assert.isNull(after([begun, ended]).tool)
  })

  it("is complete with the text of its last event, and says what cut it short", () => {
    const completed = {
      ...response,
      status: "completed" as const,
      output_text: "Hello",
      incomplete_details: { reason: "token_limit" as const }
    }
    const answer = after([delta("Hel"), { type: "response.completed", response: completed }])
    assert.deepStrictEqual(answer, {
      ...noAnswer,
      model: "a-model",
      text: "Hello",
      isComplete: true,
      cut: "token_limit"
    })
  })

  it("keeps its text when it fails, and says why", () => {
    const body = { message: "The model failed.", type: "server_error", code: "model_failed", param: "" }
    assert.deepStrictEqual(after([delta("Hel"), errorEvent(body)]), {
      ...noAnswer,
      text: "Hel",
      failure: "The model failed."
    })
  })
})
