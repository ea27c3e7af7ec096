import { failureReason } from "../../domain/failureReason.ts"
import { monotonicSeconds } from "../../domain/Monotonic.ts"
import type { Settings } from "../../settings/AppConfig.ts"
import { Effect, Option, Redacted, Schedule, Schema, Stream, Predicate } from "effect"
import { S3mini, S3ServiceError } from "s3mini"

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
const failureAt =
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

/** Objects that one request lists. */
const objectsPerPage = 1000

const refused = (message: string, status: number | null = null) =>
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

export interface UploadedPart {
  readonly partNumber: number
  readonly etag: string
}

const Upload = Schema.Struct({ Key: Schema.String, UploadId: Schema.String, Initiated: Schema.String })
export type Upload = typeof Upload.Type

/** As the client reads the XML: one upload is no list, and an empty field is an empty text. */
const Uploads = Schema.Struct({
  ListMultipartUploadsResult: Schema.Struct({
    Upload: Schema.optionalKey(Schema.Union([Schema.Array(Upload), Upload])),
    IsTruncated: Schema.optionalKey(Schema.String),
    NextKeyMarker: Schema.optionalKey(Schema.String),
    NextUploadIdMarker: Schema.optionalKey(Schema.String)
  })
})
const decodeUploads = Schema.decodeUnknownEffect(Uploads)

type Endpoint = NonNullable<Settings["files"]["s3"]>

/**
 * A request that makes something in the bucket is not cut off: the bucket might do it all the same, and after whatever was
 * done to clean up.
 */
const whole = Effect.uninterruptible

const hostOf = (endpoint: string): string => URL.parse(endpoint)?.host ?? ""

/** Runs one request: with a client of its own, so that it can be cut off, and not for longer than so many seconds. */
const makeRequest = ({ accessKeyId, bucket, endpoint, region, secretAccessKey }: Endpoint) => {
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

type Request = ReturnType<typeof makeRequest>

/** The answer to a GET, checked to be what was asked for. Its body lives as long as the scope. */
const openObject = (
  host: string,
  request: Request,
  seconds: number,
  name: string,
  start: number,
  end: number | undefined
) =>
  Effect.gen(function* () {
    const life = yield* Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (controller) => Effect.sync(() => controller.abort())
    )
    const isWhole = start === 0 && end === undefined
    const response = yield* request(seconds, (s3) => s3.getObjectRaw(name, isWhole, start, end), life.signal)
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

/** A bucket of an S3-compatible store. Requests are signed, end in time, can be interrupted, and are repeated. */
export const makeBucket = (endpoint: Endpoint, limits: BucketLimits) => {
  const { backoffMillis, backoffMillisMax, idleSeconds, requestSeconds, retriesMax, uploadSeconds } = limits
  const host = hostOf(endpoint.endpoint)
  const request = makeRequest(endpoint)
  const backoff = Schedule.min([
    Schedule.exponential(`${backoffMillis} millis`),
    Schedule.spaced(`${backoffMillisMax} millis`)
  ]).pipe(Schedule.jittered, Schedule.upTo({ times: retriesMax, duration: `${limits.retrySeconds} seconds` }))
  const repeated = <A>(effect: Effect.Effect<A, BucketFailure>) =>
    Effect.retry(effect, { while: (error) => error.isPassing, schedule: backoff })

  /** `bytes` replace whatever has the name. */
  const put = (name: string, bytes: Uint8Array) =>
    repeated(whole(request(uploadSeconds, (s3) => s3.putObject(name, bytes)))).pipe(Effect.asVoid)

  /** `strays` says that an attempt that failed may have begun an upload too. */
  const createUpload = (name: string) =>
    Effect.suspend(() => {
      let attempts = 0
      const attempt = Effect.suspend(() => {
        attempts++
        return whole(request(requestSeconds, (s3) => s3.getMultipartUploadId(name)))
      })
      return Effect.map(repeated(attempt), (id) => ({ id, strays: attempts > 1 }))
    })

  const uploadPart = (name: string, id: string, partNumber: number, bytes: Uint8Array) =>
    request(uploadSeconds, (s3) => s3.uploadPart(name, id, bytes, partNumber)).pipe(
      Effect.flatMap((part) =>
        part.etag === "" ? refused("A part was taken without an ETag") : Effect.succeed(part)
      ),
      repeated
    )

  const bytesOf = (name: string) => repeated(request(requestSeconds, (s3) => s3.getContentLength(name)))

  /** How long an object is, if there is one. */
  const lengthOf = (name: string) => ifPresent(bytesOf(name))

  const completeUpload = (name: string, id: string, parts: ReadonlyArray<UploadedPart>, bytes: number) =>
    whole(request(uploadSeconds, (s3) => s3.completeMultipartUpload(name, id, [...parts]))).pipe(
      // A failure may come with the status 200, and then in place of the ETag.
      Effect.flatMap(({ etag }) => (etag ? Effect.void : refused("The upload could not be completed"))),
      repeated,
      // Where only the answer was lost, the next attempt finds no upload any more, but the object.
      Effect.catch((error) =>
        bytesOf(name).pipe(
          Effect.orElseSucceed(() => null),
          Effect.flatMap((found) => (found === bytes ? Effect.void : Effect.fail(error)))
        )
      )
    )

  const pageOfUploads = (prefix: string, after: Readonly<Record<string, string>>) =>
    repeated(
      request(requestSeconds, (s3) => s3.listMultipartUploads("/", "", "GET", { prefix, ...after })).pipe(
        Effect.flatMap(decodeUploads),
        Effect.catchTag("SchemaError", () => refused("The list of uploads can't be understood", 501))
      )
    )

  /** Uploads under way whose names begin with `prefix`. */
  const uploads = (prefix: string) =>
    Stream.paginate({}, (after: Readonly<Record<string, string>>) =>
      Effect.map(pageOfUploads(prefix, after), ({ ListMultipartUploadsResult: page }) => {
        const found: ReadonlyArray<Upload> = [page.Upload ?? []].flat()
        const next = {
          "key-marker": page.NextKeyMarker ?? "",
          "upload-id-marker": page.NextUploadIdMarker ?? ""
        }
        const isOver = page.IsTruncated !== "true" || next["key-marker"] === ""
        return [found, isOver ? Option.none() : Option.some(next)] as const
      })
    )

  const abortUpload = ({ Key, UploadId }: Pick<Upload, "Key" | "UploadId">) =>
    ifPresent(repeated(request(requestSeconds, (s3) => s3.abortMultipartUpload(Key, UploadId))))

  const remove = (name: string) => ifPresent(repeated(request(requestSeconds, (s3) => s3.deleteObject(name))))

  const objects = (prefix: string) =>
    Stream.paginate(undefined, (token: string | undefined) =>
      repeated(request(requestSeconds, (s3) => s3.listObjectsPaged("/", prefix, objectsPerPage, token))).pipe(
        Effect.flatMap((page) => (page ? Effect.succeed(page) : refused("There is no such bucket", 404))),
        Effect.map(
          (page) => [page.objects ?? [], Option.fromUndefinedOr(page.nextContinuationToken)] as const
        )
      )
    )

  /**
   * An object from `start` on, to `end` if it is given. Where the connection breaks, reading goes on from there, unless
   * nothing came since `failedSince`, in monotonic seconds, for too long.
   */
  const read = (
    name: string,
    start: number,
    end: number | undefined,
    retriesLeft = retriesMax,
    failedSince: number | null = null
  ): Stream.Stream<Uint8Array, BucketFailure> =>
    Stream.suspend(() => {
      let position = start
      const goOn = Effect.fnUntraced(function* (error: BucketFailure) {
        if (position === end) return Stream.empty
        const now = yield* monotonicSeconds
        const since = position > start || failedSince === null ? now : failedSince
        if (retriesLeft <= 0 || now - since > limits.retrySeconds) return Stream.fail(error)
        const times = position > start ? 0 : retriesMax - retriesLeft
        yield* Effect.sleep(`${Math.min(backoffMillis * 2 ** times, backoffMillisMax)} millis`)
        return read(name, position, end, retriesLeft - 1, since)
      })
      return Stream.unwrap(openObject(host, request, requestSeconds, name, start, end)).pipe(
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
    })

  return {
    host,
    put,
    createUpload,
    uploadPart,
    completeUpload,
    uploads,
    abortUpload,
    remove,
    lengthOf,
    objects,
    read
  }
}

export type Bucket = ReturnType<typeof makeBucket>
