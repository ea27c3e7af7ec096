import { Effect } from "effect"
import { failure } from "../api/Failure.ts"
import type { Item, ResponseResource } from "../api/openai/ResponseResource.ts"
import type { EventBody } from "../api/ResponseEvent.ts"
import { startedResponse, type ResponseObject } from "../api/ResponseObject.ts"
import type { ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"
import { outputText, type OutputItem, type OutputText } from "../domain/Conversation.ts"
import { ConversationId } from "../domain/Ids.ts"
import { respond } from "../http/ErrorBoundary.ts"
import type { Writing } from "../http/Sse.ts"
import { isEvent } from "../jobs/JobEvents.ts"
import { firstId } from "../sql/Paging.ts"
import { renderResponse } from "./ItemRendering.ts"
import { decodeBody, readRequest } from "./RequestReading.ts"
import { noSealing, Sealing } from "./Sealing.ts"

/** What the events of a response that hasn't come to its end show of it. */
interface Progress {
  /** As it began; null where it hasn't. */
  readonly started: ResponseObject | null
  /** The items so far. An open message has the text that was written. */
  readonly output: ReadonlyArray<OutputItem>
}

/** Folds the first events of a response, as the log has them. */
export const progressOf = (events: ReadonlyArray<EventBody>): Progress => {
  let started: ResponseObject | null = null
  const output: Array<OutputItem> = []
  /** The parts of open messages, by their place. */
  const open = new Map<number, OutputText>()
  for (const event of events) {
    switch (event.type) {
      case "response.created":
        started = event.response
        break
      case "response.output_item.added":
        output[event.output_index] = event.item
        break
      case "response.output_item.done":
        output[event.output_index] = event.item
        open.delete(event.output_index)
        break
      case "response.content_part.added":
        open.set(event.output_index, event.part)
        break
      case "response.output_text.delta":
      case "response.refusal.delta": {
        const part = open.get(event.output_index)
        if (part !== undefined) open.set(event.output_index, { ...part, text: part.text + event.delta })
        break
      }
      default:
    }
  }
  return { started, output: output.map((item, index) => withPart(item, open.get(index))) }
}

const withPart = (item: OutputItem, part: OutputText | undefined): OutputItem =>
  item.type !== "message" || part === undefined || part.text === "" ? item : { ...item, content: [part] }

/** Responses that are made apart from their requests, as documents and frames. */

/** Of its input nothing is opened, since nothing of that is shown. */
export const viewOfJob = Effect.fnUntraced(function* (job: ResponseJob) {
  const { seal } = (yield* Sealing).of(job.userId)
  const body = yield* Effect.orDie(decodeBody(job.request))
  return { body, ...(yield* readRequest(body, { ...noSealing, seal })) }
})

/** An item of a response that will not go on. */
const broken = (item: Item): Item =>
  item.status === "in_progress" ? { ...item, status: "incomplete" } : item

/** A response that isn't stored: it waits, is being made, failed or was cancelled. */
export const renderJob = Effect.fnUntraced(function* (
  job: ResponseJob,
  events: ReadonlyArray<EventBody> = []
) {
  const { body, request, view } = yield* viewOfJob(job)
  const { output, started } = progressOf(events)
  const start = startedResponse({
    id: job.responseId,
    createdAt: job.createdAt.epochMilliseconds,
    model: body.model || "auto",
    conversationId: job.conversationId ?? ConversationId.make(firstId),
    instructions: request.instructions ?? null,
    maxOutputTokens: request.max_output_tokens ?? null,
    previousResponseId: request.previous_response_id ?? null,
    store: true
  })
  const bare = renderResponse({ ...(started ?? start), output, output_text: outputText(output) }, view)
  const shown: ResponseResource = {
    ...bare,
    output: job.endedAt === null ? bare.output : bare.output.map(broken),
    // It isn't known before the response begins.
    conversation: job.conversationId === null ? null : bare.conversation,
    status: job.status,
    error: job.failure === null ? null : { code: job.failure.code, message: job.failure.message }
  }
  return shown
})

/** The same frames without those up to a number. */
export const writingAfter = (writing: Writing, after: number): Writing => {
  let next = 0
  const later = (text: string) =>
    text
      .split(/(?<=\n\n)/)
      .filter((frame) => frame !== "" && next++ > after)
      .join("")
  return {
    start: later(writing.start ?? ""),
    event: (event) => later(writing.event(event)),
    failure: (body) => later(writing.failure(body)),
    end: writing.end
  }
}

/** What is known of a job beside its row. */
export const makeJobReading = (jobs: ResponseJobs["Service"]) => {
  /** All events that were logged so far. */
  const logged = Effect.fnUntraced(function* ({ eventCount, responseId }: ResponseJob) {
    const all: Array<EventBody> = []
    for (let read = 0; read < eventCount;) {
      const some = yield* jobs.events(responseId, read)
      if (some.length === 0) break
      read += some.length
      all.push(...some.filter(isEvent))
    }
    return all
  })

  /** The failure of a job, as its request is answered; null without one. */
  const refusalOf = Effect.fnUntraced(function* (job: ResponseJob) {
    const failed = (yield* jobs.find(job.userId, job.responseId))?.failure
    if (failed == null) return null
    const { code, message, status, type, ...rest } = failed
    return respond(failure(status, type, code, message, rest))
  })

  return { logged, refusalOf }
}
