import { Clock, Duration, Effect, Option, Stream } from "effect"
import { SecureRandom } from "effect/crypto"
import { StorageFailed } from "../../domain/Errors.ts"
import { AppConfig } from "../../settings/AppConfig.ts"
import { type Blobs, markText, noMark, parseMark, roundTrip } from "./Blobs.ts"
import { inPieces, ofLength, makeTally } from "./Pieces.ts"
import { makeBucket, type Bucket } from "./S3Bucket.ts"
import { type BucketFailure, bucketLimits, type BucketLimits, ifPresent } from "./S3Request.ts"

/** For a request whose failure a caller waits for. */
const onceSeconds = 5

/** Bytes as objects of a bucket. */
export const makeS3Blobs = Effect.fnUntraced(function* (given?: BucketLimits) {
  const { files } = yield* AppConfig
  if (files.s3 === null) return yield* noBucket("start")
  const { prefix, retrySeconds } = files.s3
  const limits: BucketLimits = given ?? { ...bucketLimits, retrySeconds }
  const bucket = makeBucket(files.s3, limits)
  const objects = yield* makeS3Objects(bucket, prefix, limits.partBytes)
  const once = makeBucket(files.s3, {
    ...limits,
    requestSeconds: onceSeconds,
    uploadSeconds: onceSeconds,
    idleSeconds: onceSeconds,
    retriesMax: 0
  })
  const check = roundTrip(yield* makeS3Objects(once, prefix, limits.partBytes))

  const olderThan = (age: Duration.Input) =>
    Stream.unwrap(
      Effect.map(Clock.currentTimeMillis, (now) =>
        bucket.objects(prefix).pipe(
          Stream.filter(({ LastModified }) => LastModified.getTime() <= now - Duration.toMillis(age)),
          Stream.map(({ Key }) => Key.slice(prefix.length)),
          // Others may keep objects under the same prefix.
          Stream.filter((key) => isKey(key)),
          Stream.mapError(failed("list"))
        )
      )
    )

  const sweepLeftovers = Effect.fnUntraced(function* (age: Duration.Input) {
    const before = (yield* Clock.currentTimeMillis) - Duration.toMillis(age)
    yield* bucket.uploads(prefix).pipe(
      Stream.filter(({ Initiated, Key }) => {
        const isOurs = isKey(Key.slice(prefix.length))
        return isOurs && new Date(Initiated).getTime() <= before
      }),
      Stream.runForEach(bucket.abortUpload)
    )
  }, failing("sweep"))

  // An empty object for each key; its time is that of its addition.
  const trashPrefix = `${prefix}trash/`
  const trash: Blobs["trash"] = {
    add: (key) =>
      isKey(key) ? failing("trash")(bucket.put(trashPrefix + key, new Uint8Array(0))) : Effect.void,
    take: (key) => (isKey(key) ? failing("trash")(bucket.remove(trashPrefix + key)) : Effect.void),
    list: bucket.objects(trashPrefix).pipe(
      Stream.map(({ Key, LastModified }) => ({
        key: Key.slice(trashPrefix.length),
        since: LastModified.getTime()
      })),
      Stream.filter(({ key }) => isKey(key)),
      Stream.mapError(failed("trash"))
    )
  }

  const markName = `${prefix}identity`
  const mark: Blobs["mark"] = {
    read: once
      .read(markName, 0, undefined)
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
    ...objects,
    place: `the bucket ${files.s3.bucket} at ${bucket.host}, under ${prefix === "" ? "no prefix" : prefix}`,
    olderThan,
    sweepLeftovers,
    trash,
    mark,
    check
  } satisfies Blobs
})

const noBucket = (operation: StorageFailed["operation"]) =>
  new StorageFailed({ operation, cause: new Error("The settings name no bucket") })

/** Parts of one upload that are under way at once; each is in memory, and so are two more that are being read. */
const partsAtOnceMax = 2
/** What a failed put has left is cleaned up for so long; then it is left to the sweep. */
const cleanupSeconds = 30

const keyPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether a key is one that this store gives. */
const isKey = (key: string): boolean => keyPattern.test(key)

const failed =
  (operation: StorageFailed["operation"]) =>
  (cause: BucketFailure): StorageFailed =>
    new StorageFailed({ operation, cause })

const failing = (operation: StorageFailed["operation"]) => Effect.mapError(failed(operation))

const abortUploads = (bucket: Bucket, name: string) =>
  bucket.uploads(name).pipe(
    Stream.filter(({ Key }) => Key === name),
    Stream.runForEach(bucket.abortUpload)
  )

/** Writes an object, in parts if it is longer than one. `begun` is given the id of the upload, should there be one. */
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
    Stream.map((part) => {
      tally.add(part)
      return part
    }),
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

// The list also has what an attempt began whose answer was lost; not every store lets everyone see it.
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
      const name = prefix + key
      const begun: Array<string> = []
      const total = yield* write(bucket, partBytes, name, bytes, begun).pipe(
        Effect.onError(() => cleanUp(bucket, name, begun))
      )
      return { key, ...total }
    })

  const get: Blobs["get"] = (key, range) => {
    if (!isKey(key)) return Stream.fail(unknownKey())
    const name = prefix + key
    if (range !== undefined && range.end <= range.start) return Stream.empty
    const bytes = Stream.mapError(bucket.read(name, range?.start ?? 0, range?.end), failed("get"))
    return range === undefined ? bytes : ofLength(range.end - range.start)(bytes)
  }

  const has = (key: string) =>
    isKey(key)
      ? failing("get")(bucket.lengthOf(prefix + key)).pipe(Effect.map(Option.isSome))
      : Effect.succeed(false)

  const remove = (key: string) => (isKey(key) ? failing("remove")(bucket.remove(prefix + key)) : Effect.void)

  return { put, get, has, remove }
})

const unknownKey = () =>
  new StorageFailed({ operation: "get", cause: new Error("The key is not one of the bucket's") })
