import { Effect, Option, Stream } from "effect"
import { monotonicSeconds } from "../../domain/Monotonic.ts"
import {
  type BucketFailure,
  type BucketLimits,
  type Endpoint,
  failureAt,
  hostOf,
  ifPresent,
  makeRepeated,
  makeRequest,
  refused,
  type Request,
  whole
} from "./S3Request.ts"
import { makeS3Uploads } from "./S3Uploads.ts"

/** Objects that one request lists. */
const objectsPerPage = 1000

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

/**
 * An object from `start` on, to `end` if it is given. Where the connection breaks, reading goes on from there, unless
 * nothing came since `failedSince`, in monotonic seconds, for too long.
 */
const read = (
  host: string,
  request: Request,
  limits: BucketLimits,
  name: string,
  start: number,
  end: number | undefined,
  retriesLeft = limits.retriesMax,
  failedSince: number | null = null
): Stream.Stream<Uint8Array, BucketFailure> =>
  Stream.suspend(() => {
    const { backoffMillis, backoffMillisMax, idleSeconds, requestSeconds, retriesMax, retrySeconds } = limits
    let position = start
    const goOn = Effect.fnUntraced(function* (error: BucketFailure) {
      if (position === end) return Stream.empty
      const now = yield* monotonicSeconds
      const since = position > start || failedSince === null ? now : failedSince
      if (retriesLeft <= 0 || now - since > retrySeconds) return Stream.fail(error)
      const times = position > start ? 0 : retriesMax - retriesLeft
      yield* Effect.sleep(`${Math.min(backoffMillis * 2 ** times, backoffMillisMax)} millis`)
      return read(host, request, limits, name, position, end, retriesLeft - 1, since)
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

/** A bucket of an S3-compatible store. Requests are signed, end in time, can be interrupted, and are repeated. */
export const makeBucket = (endpoint: Endpoint, limits: BucketLimits) => {
  const { requestSeconds, uploadSeconds } = limits
  const host = hostOf(endpoint.endpoint)
  const request = makeRequest(endpoint)
  const repeated = makeRepeated(limits)

  /** `bytes` replace whatever has the name. */
  const put = (name: string, bytes: Uint8Array) =>
    repeated(whole(request(uploadSeconds, (s3) => s3.putObject(name, bytes)))).pipe(Effect.asVoid)

  const bytesOf = (name: string) => repeated(request(requestSeconds, (s3) => s3.getContentLength(name)))

  /** How long an object is, if there is one. */
  const lengthOf = (name: string) => ifPresent(bytesOf(name))

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

  return {
    host,
    put,
    remove,
    lengthOf,
    objects,
    read: (name: string, start: number, end: number | undefined) =>
      read(host, request, limits, name, start, end),
    ...makeS3Uploads(request, repeated, limits, bytesOf)
  }
}

export type Bucket = ReturnType<typeof makeBucket>
