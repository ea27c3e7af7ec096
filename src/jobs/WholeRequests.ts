import { Effect } from "effect"
import { type ResponseJob, ResponseJobs } from "../conversations/ResponseJobs.ts"

/** Loads and reads the whole request of a job. */
export const makeWholeRequests = Effect.map(
  ResponseJobs,
  (jobs) =>
    <A, E, R>(job: ResponseJob, read: (request: unknown) => Effect.Effect<A, E, R>) =>
      Effect.flatMap(jobs.wholeRequest(job), (request) =>
        // The run of a job that was deleted meanwhile ends when it notices that its lease is lost.
        request === undefined ? Effect.never : read(request)
      )
)
