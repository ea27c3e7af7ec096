import { Clock, Duration, Effect, Option, Stream } from "effect"
import { AppConfig } from "../../settings/AppConfig.ts"
import { StorageFailed } from "../../domain/Errors.ts"
import type { Blobs } from "./Blobs.ts"
import { markText, noMark, parseMark } from "./Mark.ts"
import { roundTrip } from "./roundTrip.ts"
import { bucketLimits, type BucketLimits, makeBucket } from "./S3Bucket.ts"
import { failed, failing, isKey, makeS3Objects } from "./S3Objects.ts"

/** For a request whose failure somebody waits to hear of. */
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
          // What others keep under the same prefix is none of ours.
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

  // An empty object for each key; its time says since when.
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
    read: once.read(markName, 0, undefined).pipe(
      Stream.decodeText,
      Stream.mkString,
      Effect.map(Option.some),
      Effect.catchIf(
        (error) => error.status === 404,
        () => Effect.succeed(Option.none<string>())
      ),
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
