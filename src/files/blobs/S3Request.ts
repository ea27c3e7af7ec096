import { Effect, Predicate, Redacted, Schedule, Schema } from "effect"
import { S3mini, S3ServiceError } from "s3mini"
import { failureReason } from "../../domain/failureReason.ts"
import type { Settings } from "../../settings/AppConfig.ts"

/** A request to the bucket failed. */
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

export const bucketLimits = {
  /** For a request without bytes, and until an answer begins. */
  requestSeconds: 30,
  /** For a request that carries bytes. */
  uploadSeconds: 180,
  /** For the next bytes of an answer. */
  idleSeconds: 60,
  /** Attempts after the first; each waits twice as long as the one before it, up to `backoffMillisMax`. */
  retriesMax: 1_000,
  backoffMillis: 200,
  backoffMillisMax: 2_000,
  /** A longer object is uploaded in parts of this size. */
  partBytes: 8 * 1024 * 1024
}

export type BucketLimits = Readonly<typeof bucketLimits> & {
  /** How long a request is repeated after its first failure. For a download this starts again with each byte received. */
  readonly retrySeconds: number
}

export const refused = (message: string, status: number | null = null) =>
  Effect.fail(new BucketFailure({ status, message }))

/** Nothing where the bucket has no such object or upload. */
export const ifPresent = <A>(effect: Effect.Effect<A, BucketFailure>) =>
  Effect.asSome(effect).pipe(
    Effect.catchIf(
      (error) => error.status === 404,
      () => Effect.succeedNone
    )
  )

const within = (host: string, seconds: number) =>
  Effect.timeoutOrElse({
    duration: `${seconds} seconds`,
    orElse: () => refused(`No answer from ${host} within ${seconds} seconds`)
  })

export type Endpoint = NonNullable<Settings["files"]["s3"]>

/**
 * A request that makes something in the bucket is not cut off: the bucket might do it all the same, and after whatever was
 * done to clean up.
 */
export const whole = Effect.uninterruptible

export const hostOf = (endpoint: string): string => URL.parse(endpoint)?.host ?? ""

/** Runs one request: with a client of its own, so that it can be cut off, and not for longer than so many seconds. */
export const makeRequest = ({ accessKeyId, bucket, endpoint, region, secretAccessKey }: Endpoint) => {
  const host = hostOf(endpoint)
  const client = (signal: AbortSignal) =>
    new S3mini({
      endpoint: `${endpoint.replace(/\/+$/, "")}/${bucket}`,
      region,
      accessKeyId,
      secretAccessKey: Redacted.value(secretAccessKey),
      // A signature is for one address, so redirects are refused.
      fetch: (input, init) => fetch(input, { ...init, redirect: "error", signal })
    })
  return <A>(seconds: number, run: (s3: S3mini) => Promise<A>, life?: AbortSignal) =>
    Effect.tryPromise({
      try: (signal) => run(client(life === undefined ? signal : AbortSignal.any([signal, life]))),
      catch: failureAt(host)
    }).pipe(within(host, seconds))
}

export type Request = ReturnType<typeof makeRequest>

/** Repeats a request for as long as the limits allow, while its failure may pass. */
export const makeRepeated = ({ backoffMillis, backoffMillisMax, retriesMax, retrySeconds }: BucketLimits) => {
  const backoff = Schedule.min([
    Schedule.exponential(`${backoffMillis} millis`),
    Schedule.spaced(`${backoffMillisMax} millis`)
  ]).pipe(Schedule.jittered, Schedule.upTo({ times: retriesMax, duration: `${retrySeconds} seconds` }))
  return <A>(effect: Effect.Effect<A, BucketFailure>) =>
    Effect.retry(effect, { while: (error) => error.isPassing, schedule: backoff })
}

export type Repeated = ReturnType<typeof makeRepeated>
