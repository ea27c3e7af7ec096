import { Context, Effect } from "effect"
import type { ResponseJob } from "../conversations/ResponseJobs.ts"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import type { EmbeddingRequest } from "../embeddings/TextEmbeddings.ts"
import type { Demands, ResponseRequest } from "../responses/prompt/ResponseRequest.ts"

/** A request in the form for the core. */
interface JobRequest {
  readonly request: ResponseRequest
  readonly demands: Demands
  /** True if readers see the passages of a search, so that the log needs them. */
  readonly showsPassages: boolean
}

/** Reads the request of a job, as the interface wrote it that created the job: one reader for each kind. */
export class JobRequests extends Context.Service<
  JobRequests,
  {
    readonly [Kind in Exclude<ResponseJob["kind"], "embeddings">]: (
      job: ResponseJob
    ) => Effect.Effect<JobRequest, DatabaseUnavailable>
  } & {
    readonly embeddings: (job: ResponseJob) => Effect.Effect<EmbeddingRequest, DatabaseUnavailable>
  }
>()("parley/jobs/JobRequests") {}
