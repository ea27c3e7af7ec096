import { Effect, Schedule, Schema, Semaphore } from "effect"
import type { EventBody } from "../api/ResponseEvent.ts"
import { type JobLease, ResponseJobs } from "../conversations/ResponseJobs.ts"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import type { ConversationId } from "../domain/Ids.ts"

/** The time for which events wait for others, to be written together. */
const batchMillis = 100
/** The time for which a write is retried while the database is unavailable. */
const writeSeconds = 10
const retries = Schedule.spaced("500 millis").pipe(Schedule.upTo({ duration: `${writeSeconds} seconds` }))

/** Another process has the job, or it was cancelled or deleted. */
export class JobLost extends Schema.TaggedError<JobLost>()("JobLost", {}) {}

/**
 * True for events after which nothing may remain unwritten: the turn is stored next, or the client waits for
 * them.
 */
const isUrgent = ({ type }: EventBody): boolean =>
  type === "response.created" || type === "response.output_item.done"

/** Writes the events of a job, in batches, until the scope closes. `onWrite` runs after each batch. */
export const makeJobLog = Effect.fnUntraced(function* (lease: JobLease, onWrite: Effect.Effect<void>) {
  const jobs = yield* ResponseJobs
  const scope = yield* Effect.scope
  const writing = yield* Semaphore.make(1)
  let waiting: Array<EventBody> = []
  /**
   * The batch that is being written. After a failure it is written again unchanged, because it may already be
   * in the log.
   */
  let batch: ReadonlyArray<EventBody> = []
  let written = 0
  let conversationId: ConversationId | null = null

  const noteConversation = (events: ReadonlyArray<EventBody>) => {
    for (const event of events) {
      if (event.type === "response.created") conversationId = event.response.conversation_id
    }
  }

  const writeNext: Effect.Effect<void, JobLost | DatabaseUnavailable> = Effect.suspend(() => {
    if (batch.length === 0) {
      batch = waiting
      waiting = []
    }
    if (batch.length === 0) return Effect.void
    return jobs.append(lease, written, batch, conversationId).pipe(
      Effect.retry(retries),
      Effect.flatMap((isHeld) => {
        if (!isHeld) return Effect.fail(new JobLost())
        written += batch.length
        batch = []
        return Effect.andThen(onWrite, writeNext)
      })
    )
  })
  const flush = writing.withPermit(writeNext)

  /** Adds events. Waits until they are written if they must not be lost. */
  const add = (events: ReadonlyArray<EventBody>) =>
    Effect.suspend(() => {
      waiting.push(...events)
      noteConversation(events)
      return events.some(isUrgent) ? flush : Effect.void
    })

  /** Adds events without waiting. */
  const put = (events: ReadonlyArray<EventBody>) =>
    Effect.suspend(() => {
      waiting.push(...events)
      noteConversation(events)
      return events.some(isUrgent)
        ? Effect.asVoid(Effect.forkIn(Effect.ignore(flush), scope, { startImmediately: true }))
        : Effect.void
    })

  yield* Effect.sleep(batchMillis).pipe(
    Effect.andThen(flush),
    Effect.ignore,
    Effect.forever,
    Effect.forkScoped
  )
  return { add, put, flush, written: () => written + batch.length + waiting.length }
})

export type JobLog = Effect.Success<ReturnType<typeof makeJobLog>>
