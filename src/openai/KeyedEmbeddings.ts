import { Effect, Schema } from "effect"
import type { HttpServerResponse } from "effect/http"
import { EmbeddingsBody } from "../api/openai/EmbeddingsApi.ts"
import { ResponseJobs } from "../conversations/ResponseJobs.ts"
import { CurrentUser } from "../domain/Account.ts"
import { ResponseInterrupted } from "../domain/Errors.ts"
import type { ResponseId } from "../domain/Ids.ts"
import type { EmbeddingRequest, TextVectors } from "../embeddings/TextEmbeddings.ts"
import { Drain } from "../http/Drain.ts"
import { BackgroundResponses } from "../jobs/BackgroundResponses.ts"
import { keptEmbeddings } from "../jobs/EmbeddingJobs.ts"
import { FairPermits } from "../runtime/FairPermits.ts"
import { respondRefused } from "./BackgroundReading.ts"

/**
 * Embeddings with an Idempotency-Key: the texts are embedded once, and the vectors are kept to be shown
 * again.
 */

/** Kept answers that one user is shown at once. As JSON, one has up to 24 MB. */
const shownPerUserMax = 1

type Body = typeof EmbeddingsBody.Type

export const embeddingRequest = ({ dimensions, input, model }: Body): EmbeddingRequest => ({
  texts: typeof input === "string" ? [input] : input,
  model: model == null || model === "auto" ? null : model,
  ...(dimensions == null ? {} : { dimensions })
})

const encodeBody = Schema.encodeEffect(EmbeddingsBody)
const decodeBody = Schema.decodeUnknownEffect(EmbeddingsBody)

/** Reads a request for embeddings as a job has it. */
export const readEmbeddingsJob = (job: unknown) => Effect.map(Effect.orDie(decodeBody(job)), embeddingRequest)

/** A request for embeddings, and how it is shown its answer. */
interface KeyedEmbeddings {
  readonly body: Body
  readonly key: string
  readonly show: (made: TextVectors) => HttpServerResponse.HttpServerResponse
}

export const makeKeyedEmbeddings = Effect.gen(function* () {
  const background = yield* BackgroundResponses
  const { cutoff } = yield* Drain
  const jobs = yield* ResponseJobs
  const permits = new FairPermits({ perKeyMax: shownPerUserMax })

  const showKept = Effect.fnUntraced(function* (id: ResponseId, show: KeyedEmbeddings["show"]) {
    const made = keptEmbeddings(yield* jobs.events(id, 0))
    return made === null ? yield* new ResponseInterrupted() : show(made)
  })

  const answer = Effect.fnUntraced(function* ({ body, key, show }: KeyedEmbeddings) {
    const asked = { kind: "embeddings", request: yield* Effect.orDie(encodeBody(body)) } as const
    const job = yield* background.submit(asked, false, key)
    yield* background.begun(job)
    const ended = yield* background.ended(job)
    if (ended.failure !== null) return respondRefused(ended.failure)
    const { userId } = yield* CurrentUser
    return yield* permits.withPermit(userId)(showKept(job.responseId, show))
  })

  return (keyed: KeyedEmbeddings) =>
    answer(keyed).pipe(
      // The job that the key was used for has been refused or deleted meanwhile, which frees the key.
      Effect.catchTag("ResponseNotFound", () => answer(keyed)),
      Effect.raceFirst(cutoff)
    )
})
