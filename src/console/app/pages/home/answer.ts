import type { ResponseEvent } from "../../../../api/ResponseEvent.ts"
import type { CutReason } from "../../../../domain/Conversation.ts"

/** An answer, as far as it has arrived. */
export interface Answer {
  readonly text: string
  /** Empty until the service has chosen it. */
  readonly model: string
  /** The name of the tool that runs; null: none does. */
  readonly tool: string | null
  readonly isComplete: boolean
  /** What cut the answer short; null: nothing did. */
  readonly cut: CutReason | null
  /** The service's message, if the answer failed after it had begun. */
  readonly failure: string | null
}

export const noAnswer: Answer = {
  text: "",
  model: "",
  tool: null,
  isComplete: false,
  cut: null,
  failure: null
}

/** The answer after one more event of its stream. */
export const answerAfter = (answer: Answer, event: ResponseEvent): Answer => {
  switch (event.type) {
    case "response.created":
      return { ...answer, model: event.response.model }
    case "response.output_item.added":
      return { ...answer, tool: event.item.type === "mcp_call" ? event.item.name : answer.tool }
    case "response.output_item.done":
      return { ...answer, tool: null }
    case "response.output_text.delta":
      return { ...answer, text: answer.text + event.delta }
    case "response.completed": {
      const { incomplete_details: details, model, output_text: text } = event.response
      return { ...answer, text, model, isComplete: true, cut: details?.reason ?? null }
    }
    case "error":
      return { ...answer, tool: null, failure: event.message }
    default:
      return answer
  }
}
