import { Effect } from "effect"
import { type ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"

/** Reads the whole request of a job, which is loaded for it. */
export const makeWholeRequests = Effect.map(
  ResponseJobs,
  (jobs) =>
    <A, E, R>(job: ResponseJob, read: (request: unknown) => Effect.Effect<A, E, R>) =>
      Effect.flatMap(jobs.wholeRequest(job), (request) =>
        // The run of a job that was deleted meanwhile ends as it has lost its lease.
        request === undefined ? Effect.never : read(request)
      )
)
