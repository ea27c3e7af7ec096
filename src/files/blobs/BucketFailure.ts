import { Predicate, Schema } from "effect"
import { S3ServiceError } from "s3mini"
import { failureReason } from "../../domain/failureReason.ts"

/** A request to the bucket came to nothing. */
export class BucketFailure extends Schema.TaggedError<BucketFailure>()("BucketFailure", {
  /** Null when there was no answer, or none that can be understood. */
  status: Schema.NullOr(Schema.Int),
  message: Schema.String
}) {
  /** Whether the same request may succeed a little later. */
  get isPassing(): boolean {
    const { status } = this
    return status === null || (status >= 500 && status !== 501) || status === 408 || status === 429
  }
}

/** Codes of S3 that mean "later", whatever status a server gives them. */
const passingCodes = ["SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable"]

/** What the client threw while it talked to the server at `host`. The client wraps what it gets. */
export const failureAt =
  (host: string) =>
  (error: unknown): BucketFailure => {
    const reason =
      Predicate.hasProperty(error, "cause") && error.cause instanceof S3ServiceError ? error.cause : error
    if (reason instanceof S3ServiceError) {
      // The text of the answer repeats the request and its signature, which no log needs.
      const status = passingCodes.includes(reason.serviceCode ?? "") ? 503 : reason.status
      return new BucketFailure({ status, message: `${host} refuses: ${reason.message}` })
    }
    return new BucketFailure({ status: null, message: `${host} can't be reached: ${failureReason(error)}` })
  }
