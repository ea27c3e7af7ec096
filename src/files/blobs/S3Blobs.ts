import { Clock, Duration, Effect, Option, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { StorageFailed } from "../../domain/Errors.ts"
import { AppConfig } from "../../settings/AppConfig.ts"
import { type Blobs, markText, noMark, parseMark, roundTrip } from "./Blobs.ts"
import { inPieces, makeTally, ofLength } from "./Pieces.ts"
import {
  type Bucket,
  type BucketFailure,
  bucketLimits,
  type BucketLimits,
  ifPresent,
  makeBucket
} from "./S3Bucket.ts"

/** Timeout of a request whose failure a caller waits for. */
const onceSeconds = 5
/** Parts of one upload that are sent at once. Each is in memory, and so are two more that are being read. */
const partsAtOnceMax = 2
/** Seconds for which the remains of a failed put are removed. The rest is left to the sweep. */
const cleanupSeconds = 30

const keyPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Recognizes the keys of this store. Others may keep objects under the same prefix. */
const isKey = (key: string): boolean => keyPattern.test(key)

const storageFailed = (operation: StorageFailed["operation"], message: string) =>
  new StorageFailed({ operation, cause: new Error(message) })
const failed = (operation: StorageFailed["operation"]) => (cause: BucketFailure) =>
  new StorageFailed({ operation, cause })
const failing = (operation: StorageFailed["operation"]) => Effect.mapError(failed(operation))

const abortUploads = (bucket: Bucket, name: string) =>
  bucket.uploads(name).pipe(
    Stream.filter(({ Key }) => Key === name),
    Stream.runForEach(bucket.abortUpload)
  )

/** Writes an object, in parts if it is longer than one. `begun` gets the id of a multipart upload. */
const write = Effect.fnUntraced(function* <E, R>(
  bucket: Bucket,
  partBytes: number,
  name: string,
  bytes: Stream.Stream<Uint8Array, E, R>,
  begun: Array<string>
) {
  const tally = makeTally()
  const upload = yield* bucket.createUpload(name).pipe(
    Effect.tap(({ id }) => Effect.sync(() => begun.push(id))),
    failing("put"),
    Effect.cached
  )
  const parts = yield* bytes.pipe(
    inPieces(partBytes),
    Stream.tap((part) => Effect.sync(() => tally.add(part))),
    Stream.zipWithNext,
    Stream.zipWithIndex,
    Stream.mapEffect(
      ([[part, next], index]) =>
        index === 0 && Option.isNone(next)
          ? Effect.as(failing("put")(bucket.put(name, part)), null)
          : Effect.flatMap(upload, ({ id }) => failing("put")(bucket.uploadPart(name, id, index + 1, part))),
      { concurrency: partsAtOnceMax }
    ),
    Stream.runCollect
  )
  const total = tally.total()
  const uploaded = parts.filter((part) => part !== null)
  if (parts.length === 0) yield* failing("put")(bucket.put(name, new Uint8Array(0)))
  if (uploaded.length > 0) {
    const { id, strays } = yield* upload
    yield* failing("put")(bucket.completeUpload(name, id, uploaded, total.bytes))
    if (strays) yield* Effect.ignore(abortUploads(bucket, name))
  }
  return total
})

// The list also has uploads of attempts whose answer was lost. Some stores permit the list only to certain
// keys.
const cleanUp = (bucket: Bucket, name: string, begun: ReadonlyArray<string>) =>
  Effect.all(
    [
      Effect.ignore(Effect.forEach(begun, (UploadId) => bucket.abortUpload({ Key: name, UploadId }))),
      Effect.ignore(abortUploads(bucket, name)),
      Effect.ignore(bucket.remove(name))
    ],
    { discard: true }
  ).pipe(Effect.timeoutOption(`${cleanupSeconds} seconds`))

/** Objects below a prefix, each under a new name. */
const makeS3Objects = Effect.fnUntraced(function* (bucket: Bucket, prefix: string, partBytes: number) {
  const random = yield* SecureRandom.SecureRandom

  const put: Blobs["put"] = (bytes) =>
    Effect.gen(function* () {
      const key = yield* random.uuidV7()
      const begun: Array<string> = []
      const total = yield* write(bucket, partBytes, prefix + key, bytes, begun).pipe(
        Effect.onError(() => cleanUp(bucket, prefix + key, begun))
      )
      return { key, ...total }
    })

  const get: Blobs["get"] = (key, range) => {
    if (!isKey(key)) return Stream.fail(storageFailed("get", "The key is not one of the bucket's"))
    if (range !== undefined && range.end <= range.start) return Stream.empty
    const bytes = Stream.mapError(bucket.read(prefix + key, range?.start ?? 0, range?.end), failed("get"))
    return range === undefined ? bytes : ofLength(range.end - range.start)(bytes)
  }

  const has = (key: string) =>
    isKey(key)
      ? failing("get")(Effect.map(bucket.lengthOf(prefix + key), Option.isSome))
      : Effect.succeed(false)

  const remove = (key: string) => (isKey(key) ? failing("remove")(bucket.remove(prefix + key)) : Effect.void)

  return { put, get, has, remove }
})

/** Bytes as objects of a bucket. */
export const makeS3Blobs = Effect.fnUntraced(function* (given?: BucketLimits) {
  const { s3 } = (yield* AppConfig).files
  if (s3 === null) return yield* storageFailed("start", "The settings name no bucket")
  const { prefix, retrySeconds } = s3
  const limits: BucketLimits = given ?? { ...bucketLimits, retrySeconds }
  const bucket = makeBucket(s3, limits)
  const once = makeBucket(s3, {
    ...limits,
    requestSeconds: onceSeconds,
    uploadSeconds: onceSeconds,
    idleSeconds: onceSeconds,
    retriesMax: 0
  })

  /** The keys of objects below a prefix, and the times in milliseconds at which they were put. */
  const keysBelow = (prefix: string) =>
    bucket.objects(prefix).pipe(
      Stream.map(({ Key, LastModified }) => ({
        key: Key.slice(prefix.length),
        since: LastModified.getTime()
      })),
      Stream.filter(({ key }) => isKey(key))
    )
  /** The time this long ago, in milliseconds. */
  const timeBefore = (age: Duration.Input) =>
    Effect.map(Clock.currentTimeMillis, (now) => now - Duration.toMillis(age))

  const olderThan = (age: Duration.Input) =>
    Stream.unwrap(
      Effect.map(timeBefore(age), (time) =>
        keysBelow(prefix).pipe(
          Stream.filter(({ since }) => since <= time),
          Stream.map(({ key }) => key),
          Stream.mapError(failed("list"))
        )
      )
    )

  const sweepLeftovers = Effect.fnUntraced(function* (age: Duration.Input) {
    const time = yield* timeBefore(age)
    yield* bucket.uploads(prefix).pipe(
      Stream.filter(
        ({ Initiated, Key }) => isKey(Key.slice(prefix.length)) && new Date(Initiated).getTime() <= time
      ),
      Stream.runForEach(bucket.abortUpload)
    )
  }, failing("sweep"))

  // The trash: an empty object for each key, whose time is that of its addition.
  const trashPrefix = `${prefix}trash/`
  const trash: Blobs["trash"] = {
    add: (key) =>
      isKey(key) ? failing("trash")(bucket.put(trashPrefix + key, new Uint8Array(0))) : Effect.void,
    take: (key) => (isKey(key) ? failing("trash")(bucket.remove(trashPrefix + key)) : Effect.void),
    list: Stream.mapError(keysBelow(trashPrefix), failed("trash"))
  }

  const markName = `${prefix}identity`
  const mark: Blobs["mark"] = {
    read: once
      .read(markName, 0)
      .pipe(
        Stream.decodeText,
        Stream.mkString,
        ifPresent,
        failing("start"),
        Effect.flatMap(Option.match({ onNone: () => Effect.succeed(noMark), onSome: parseMark }))
      ),
    write: (ids) => failing("start")(once.put(markName, new TextEncoder().encode(markText(ids))))
  }

  return {
    ...(yield* makeS3Objects(bucket, prefix, limits.partBytes)),
    place: `the bucket ${s3.bucket} at ${bucket.host}, under ${prefix === "" ? "no prefix" : prefix}`,
    olderThan,
    sweepLeftovers,
    trash,
    mark,
    check: roundTrip(yield* makeS3Objects(once, prefix, limits.partBytes))
  } satisfies Blobs
})
