import { Effect, Option, Predicate, Redacted, Schedule, Schema, Stream } from "effect"
import { S3mini, S3ServiceError } from "s3mini"
import { failureReason } from "../../runtime/failureReason.ts"
import { monotonicSeconds } from "../../runtime/Monotonic.ts"
import type { Settings } from "../../settings/AppConfig.ts"

export const bucketLimits = {
  /** Timeout of a request without bytes, and of the beginning of an answer. */
  requestSeconds: 30,
  /** Timeout of a request that carries bytes. */
  uploadSeconds: 180,
  /** Timeout of the next bytes of an answer. */
  idleSeconds: 60,
  /** Attempts after the first. Each waits twice as long as the previous one, up to `backoffMillisMax`. */
  retriesMax: 1_000,
  backoffMillis: 200,
  backoffMillisMax: 2_000,
  /** A longer object is uploaded in parts of this size. */
  partBytes: 8 * 1024 * 1024
}

export type BucketLimits = Readonly<typeof bucketLimits> & {
  /**
   * Seconds for which a request is repeated after its first failure. Each byte of a download restarts the
   * time.
   */
  readonly retrySeconds: number
}

/** Objects that one request lists. */
const objectsPerPage = 1000
/** Codes of S3 for temporary failures, regardless of the status. */
const passingCodes = ["SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable"]

/** A request to the bucket failed. */
export class BucketFailure extends Schema.TaggedError<BucketFailure>()("BucketFailure", {
  /** Null if there was no answer, or none that can be read. */
  status: Schema.NullOr(Schema.Int),
  message: Schema.String
}) {
  /** True if the same request may succeed a little later. */
  get isPassing(): boolean {
    const { status } = this
    return status === null || (status >= 500 && status !== 501) || status === 408 || status === 429
  }
}

/** Unwraps the client's error around the answer of the server at `host`. */
const failureAt = (host: string) => (error: unknown) => {
  const reason =
    Predicate.hasProperty(error, "cause") && error.cause instanceof S3ServiceError ? error.cause : error
  if (!(reason instanceof S3ServiceError)) {
    return new BucketFailure({ status: null, message: `${host} can't be reached: ${failureReason(error)}` })
  }
  // The text of the answer repeats the request and its signature, which must not be logged.
  const status = passingCodes.includes(reason.serviceCode ?? "") ? 503 : reason.status
  return new BucketFailure({ status, message: `${host} refuses: ${reason.message}` })
}

const refused = (message: string, status: number | null = null) =>
  Effect.fail(new BucketFailure({ status, message }))

/** None if the bucket has no such object or upload. */
export const ifPresent = <A>(effect: Effect.Effect<A, BucketFailure>) =>
  Effect.asSome(effect).pipe(
    Effect.catchIf(
      (error) => error.status === 404,
      () => Effect.succeedNone
    )
  )

/** Requests to a bucket. Each has a client of its own, so that it can be interrupted, and a timeout. */
const makeRequests = (
  { accessKeyId, bucket, endpoint, region, secretAccessKey }: NonNullable<Settings["files"]["s3"]>,
  { backoffMillis, backoffMillisMax, retriesMax, retrySeconds }: BucketLimits
) => {
  const host = URL.parse(endpoint)?.host ?? ""
  const client = (signal: AbortSignal) =>
    new S3mini({
      endpoint: `${endpoint.replace(/\/+$/, "")}/${bucket}`,
      region,
      accessKeyId,
      secretAccessKey: Redacted.value(secretAccessKey),
      // A signature is for one address, so redirects are refused.
      fetch: (input, init) => fetch(input, { ...init, redirect: "error", signal })
    })
  const once = <A>(seconds: number, run: (s3: S3mini) => Promise<A>, life?: AbortSignal) =>
    Effect.tryPromise({
      try: (signal) => run(client(life === undefined ? signal : AbortSignal.any([signal, life]))),
      catch: failureAt(host)
    }).pipe(
      Effect.timeoutOrElse({
        duration: `${seconds} seconds`,
        orElse: () => refused(`No answer from ${host} within ${seconds} seconds`)
      })
    )
  const backoff = Schedule.min([
    Schedule.exponential(`${backoffMillis} millis`),
    Schedule.spaced(`${backoffMillisMax} millis`)
  ]).pipe(Schedule.jittered, Schedule.upTo({ times: retriesMax, duration: `${retrySeconds} seconds` }))
  /** Repeats a request for as long as the limits allow, while its failure may pass. */
  const repeated = <A>(effect: Effect.Effect<A, BucketFailure>) =>
    Effect.retry(effect, { while: (error) => error.isPassing, schedule: backoff })
  return { host, once, repeated }
}

type Requests = ReturnType<typeof makeRequests>

/** Makes the function that reads an object from `start` (inclusive) to `end` (exclusive). */
const makeReading = ({ host, once }: Requests, limits: BucketLimits) => {
  const { backoffMillis, backoffMillisMax, idleSeconds, requestSeconds, retriesMax, retrySeconds } = limits

  /** The answer to a GET, checked against the request. Its body can be read until the scope closes. */
  const open = Effect.fnUntraced(function* (name: string, start: number, end: number | undefined) {
    const life = yield* Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (controller) => Effect.sync(() => controller.abort())
    )
    const isWhole = start === 0 && end === undefined
    const response = yield* once(
      requestSeconds,
      (s3) => s3.getObjectRaw(name, isWhole, start, end),
      life.signal
    )
    const range = response.headers.get("content-range") ?? ""
    if (!isWhole && (response.status !== 206 || !range.startsWith(`bytes ${start}-`))) {
      return yield* refused("The store doesn't answer with the part that was asked for", response.status)
    }
    const { body } = response
    if (body === null) return Stream.empty
    return Stream.fromReadableStream({
      evaluate: (): ReadableStream<Uint8Array> => body,
      onError: failureAt(host)
    })
  })

  // A connection that breaks is replaced by one for the rest of the bytes, unless nothing came for too long.
  return (name: string, start: number, end?: number): Stream.Stream<Uint8Array, BucketFailure> =>
    Stream.suspend(() => {
      let position = start
      let failedAt = { position: -1, seconds: 0, times: 0 }
      let failures = 0
      const goOn = Effect.fnUntraced(function* (error: BucketFailure) {
        if (position === end) return Stream.empty
        const now = yield* monotonicSeconds
        failedAt =
          position > failedAt.position
            ? { position, seconds: now, times: 0 }
            : { ...failedAt, times: failedAt.times + 1 }
        if (++failures > retriesMax || now - failedAt.seconds > retrySeconds) return Stream.fail(error)
        yield* Effect.sleep(`${Math.min(backoffMillis * 2 ** failedAt.times, backoffMillisMax)} millis`)
        return rest
      })
      const rest: Stream.Stream<Uint8Array, BucketFailure> = Stream.suspend(() =>
        Stream.unwrap(open(name, position, end))
      ).pipe(
        Stream.timeoutOrElse({
          duration: `${Math.max(idleSeconds, requestSeconds)} seconds`,
          orElse: () => Stream.fromEffect(refused("The answer stopped in the middle"))
        }),
        Stream.map((bytes) => {
          position += bytes.length
          return bytes
        }),
        Stream.catchIf(
          (error) => error.isPassing,
          (error) => Stream.unwrap(goOn(error))
        )
      )
      return rest
    })
}

interface UploadedPart {
  readonly partNumber: number
  readonly etag: string
}

const Upload = Schema.Struct({ Key: Schema.String, UploadId: Schema.String, Initiated: Schema.String })

/**
 * The list of uploads in the form in which the client parses the XML: one upload is no list, and an empty
 * field is an empty text.
 */
const decodeUploads = Schema.decodeUnknownEffect(
  Schema.Struct({
    ListMultipartUploadsResult: Schema.Struct({
      Upload: Schema.optionalKey(Schema.Union([Schema.Array(Upload), Upload])),
      IsTruncated: Schema.optionalKey(Schema.String),
      NextKeyMarker: Schema.optionalKey(Schema.String),
      NextUploadIdMarker: Schema.optionalKey(Schema.String)
    })
  })
)

/** The multipart uploads of a bucket. `lengthOf` returns the length of an object. */
const makeUploads = (
  { once, repeated }: Requests,
  { requestSeconds, uploadSeconds }: BucketLimits,
  lengthOf: (name: string) => Effect.Effect<Option.Option<number>, BucketFailure>
) => {
  /** Begins an upload. `strays`: a failed attempt may have begun another upload. */
  const createUpload = (name: string) =>
    Effect.suspend(() => {
      let attempts = 0
      const attempt = once(requestSeconds, (s3) => {
        attempts++
        return s3.getMultipartUploadId(name)
      })
      return Effect.map(repeated(Effect.uninterruptible(attempt)), (id) => ({ id, strays: attempts > 1 }))
    })

  const uploadPart = (name: string, id: string, partNumber: number, bytes: Uint8Array) =>
    once(uploadSeconds, (s3) => s3.uploadPart(name, id, bytes, partNumber)).pipe(
      Effect.filterOrElse(
        ({ etag }) => etag !== "",
        () => refused("A part was taken without an ETag")
      ),
      repeated
    )

  const completeUpload = (name: string, id: string, parts: ReadonlyArray<UploadedPart>, bytes: number) =>
    Effect.uninterruptible(
      once(uploadSeconds, (s3) => s3.completeMultipartUpload(name, id, [...parts]))
    ).pipe(
      // A failure may come with the status 200, and then in place of the ETag.
      Effect.flatMap(({ etag }) => (etag ? Effect.void : refused("The upload could not be completed"))),
      repeated,
      // If only the answer was lost, the next attempt finds the object, and no upload.
      Effect.catch((error) =>
        lengthOf(name).pipe(
          Effect.orElseSucceed(() => Option.none()),
          Effect.flatMap((found) => (Option.contains(found, bytes) ? Effect.void : Effect.fail(error)))
        )
      )
    )

  /** Unfinished uploads whose names begin with `prefix`. */
  const uploads = (prefix: string) =>
    Stream.paginate({}, (after: Readonly<Record<string, string>>) =>
      once(requestSeconds, (s3) => s3.listMultipartUploads("/", "", "GET", { prefix, ...after })).pipe(
        Effect.flatMap(decodeUploads),
        Effect.catchTag("SchemaError", () => refused("The list of uploads can't be understood", 501)),
        repeated,
        Effect.map(({ ListMultipartUploadsResult: page }) => {
          const key = page.NextKeyMarker ?? ""
          const next = { "key-marker": key, "upload-id-marker": page.NextUploadIdMarker ?? "" }
          const isOver = page.IsTruncated !== "true" || key === ""
          return [[page.Upload ?? []].flat(), isOver ? Option.none() : Option.some(next)] as const
        })
      )
    )

  const abortUpload = ({ Key, UploadId }: Pick<typeof Upload.Type, "Key" | "UploadId">) =>
    ifPresent(repeated(once(requestSeconds, (s3) => s3.abortMultipartUpload(Key, UploadId))))

  return { createUpload, uploadPart, completeUpload, uploads, abortUpload }
}

/**
 * A bucket of an S3-compatible store. Requests are signed, end in time, can be interrupted, and are repeated.
 */
export const makeBucket = (endpoint: NonNullable<Settings["files"]["s3"]>, limits: BucketLimits) => {
  const { requestSeconds, uploadSeconds } = limits
  const requests = makeRequests(endpoint, limits)
  const { host, once, repeated } = requests

  /**
   * Replaces the object of that name. The request is uninterruptible, because a bucket may still carry out a
   * request that was cut off.
   */
  const put = (name: string, bytes: Uint8Array) =>
    Effect.asVoid(repeated(Effect.uninterruptible(once(uploadSeconds, (s3) => s3.putObject(name, bytes)))))

  const lengthOf = (name: string) =>
    ifPresent(repeated(once(requestSeconds, (s3) => s3.getContentLength(name))))

  const remove = (name: string) => ifPresent(repeated(once(requestSeconds, (s3) => s3.deleteObject(name))))

  const objects = (prefix: string) =>
    Stream.paginate(undefined, (token: string | undefined) =>
      repeated(once(requestSeconds, (s3) => s3.listObjectsPaged("/", prefix, objectsPerPage, token))).pipe(
        Effect.flatMap((page) => (page ? Effect.succeed(page) : refused("There is no such bucket", 404))),
        Effect.map(
          (page) => [page.objects ?? [], Option.fromUndefinedOr(page.nextContinuationToken)] as const
        )
      )
    )

  return {
    host,
    put,
    remove,
    lengthOf,
    objects,
    read: makeReading(requests, limits),
    ...makeUploads(requests, limits, lengthOf)
  }
}

export type Bucket = ReturnType<typeof makeBucket>
