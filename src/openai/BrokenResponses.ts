import { DateTime, Effect, Schema } from "effect"
import type { Failure } from "../api/Failure.ts"
import { CreateBody } from "../api/openai/CreateBody.ts"
import { ResponseJobs } from "../conversations/ResponseJobs.ts"
import type { Caller } from "../domain/Account.ts"
import type { ConversationId, ResponseId } from "../domain/Ids.ts"

/** The end of a stream waits at most so long until its failure is kept. */
const keepSeconds = 2

/** In the place of what was asked, which a request must have. */
const notKept = "(not kept)"

const encodeBody = Schema.encodeEffect(CreateBody)

interface Begun {
  readonly id: ResponseId
  readonly conversationId: ConversationId
  readonly model: string
  readonly createdAt: number
}

/**
 * Keeps how a response ended that broke off after its client knew its id, so that the id can be read: without
 * its text, and without what it was asked. Nothing is kept of a response with `store: false`, or whose
 * conversation was deleted.
 */
export const makeKeepBroken = Effect.map(
  ResponseJobs,
  (jobs) =>
    ({ keyId, userId }: Caller, body: CreateBody, begun: Begun) =>
      Effect.fnUntraced(
        function* (failed: Failure | null) {
          if (body.store === false || failed?.body.code === "conversation_not_found") return
          yield* jobs.keepEnd({
            responseId: begun.id,
            userId,
            apiKeyId: keyId,
            conversationId: begun.conversationId,
            request: yield* encodeBody({ ...body, input: notKept, model: begun.model }),
            failure: failed === null ? null : { status: failed.status, ...failed.body },
            createdAt: DateTime.makeUnsafe(begun.createdAt)
          })
        },
        Effect.timeout(`${keepSeconds} seconds`),
        Effect.catchCause((cause) =>
          Effect.logWarning("How a response ended could not be kept.", cause).pipe(
            Effect.annotateLogs({ responseId: begun.id })
          )
        )
      )
)
