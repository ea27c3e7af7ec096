import {
  Clock,
  DateTime,
  Duration,
  Effect,
  FileSystem,
  Option,
  Path,
  type PlatformError,
  Result,
  Stream
} from "effect"
import { SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import { StorageFailed } from "../../domain/Errors.ts"
import { AppConfig } from "../../settings/AppConfig.ts"
import { type Blobs, roundTrip, markText, parseMark } from "./Blobs.ts"
import { makeDraftFiles } from "./DraftFile.ts"
import { ofLength } from "./Pieces.ts"

/** Modes for the owner only. */
const directoryMode = 0o700
const fileMode = 0o600
/** Bytes that one read takes. */
const pieceBytes = 256 * 1024

/** The SHA-256 of the bytes, then a name that no other put has. */
const keyPattern = /^([0-9a-f]{2})([0-9a-f]{2})[0-9a-f]{60}\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const fanOutPattern = /^[0-9a-f]{2}$/

/** Turns a failure of the file system into the store's own. */
const failing =
  (operation: StorageFailed["operation"]) =>
  <A, R>(effect: Effect.Effect<A, PlatformError.PlatformError, R>): Effect.Effect<A, StorageFailed, R> =>
    Effect.mapError(effect, (cause) => new StorageFailed({ operation, cause }))

const isMissing = (error: PlatformError.PlatformError): boolean => error.reason._tag === "NotFound"

/** None if another process has just removed the file. */
const ifThere = <A, R>(effect: Effect.Effect<A, PlatformError.PlatformError, R>) =>
  Effect.map(effect, Option.some).pipe(Effect.catchIf(isMissing, () => Effect.succeed(Option.none<A>())))

const timeOf = (info: FileSystem.File.Info): number =>
  Option.match(info.mtime, { onNone: () => 0, onSome: (time) => time.getTime() })

const durableParts = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const known = new Set<string>()

  const sync = (file: string) =>
    Effect.scoped(Effect.flatMap(fs.open(file, { flag: "r" }), (handle) => handle.sync))

  /** Creates a directory and its parents up to `root`, so that they survive a crash. */
  const ensure = (root: string, directory: string): Effect.Effect<void, PlatformError.PlatformError> =>
    Effect.gen(function* () {
      if (known.has(directory)) return
      const above = path.dirname(directory)
      if (directory !== root) yield* ensure(root, above)
      yield* fs.makeDirectory(directory, { recursive: true, mode: directoryMode })
      yield* sync(above)
      known.add(directory)
    })

  return { sync, ensure }
})

/** Stores bytes below `root`: first as a draft, which is then renamed. */
const makeWriting = Effect.fnUntraced(function* (root: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const { ensure, sync } = yield* durableParts
  const writeDraft = yield* makeDraftFiles

  const prepare = (directories: ReadonlyArray<string>) =>
    Effect.forEach(directories, (directory) => ensure(root, directory), { discard: true }).pipe(
      Effect.andThen(fs.chmod(root, directoryMode)),
      failing("start")
    )

  /** Links `file` to the equal bytes of another put; false if there are none. */
  const linkTwin = Effect.fnUntraced(function* (file: string, bytes: number) {
    const directory = path.dirname(file)
    const [sha256 = ""] = path.basename(file).split(".")
    const names = yield* fs.readDirectory(directory)
    const twin = names.find((name) => name.startsWith(`${sha256}.`))
    if (twin === undefined) return false
    const found = path.join(directory, twin)
    // A file that another program truncated is no twin.
    if (Number((yield* fs.stat(found)).size) !== bytes) return false
    yield* fs.link(found, file)
    const now = DateTime.toDateUtc(yield* DateTime.now)
    yield* fs.utimes(file, now, now)
    return true
  })

  const publish = (draft: string, file: string, bytes: number) =>
    Effect.gen(function* () {
      const directory = path.dirname(file)
      yield* ensure(root, directory)
      // Another process may remove the twin at the same time, and some file systems have no links. Then the
      // draft itself is renamed.
      const linked = yield* Effect.orElseSucceed(linkTwin(file, bytes), () => false)
      if (!linked) yield* fs.rename(draft, file)
      yield* sync(directory)
    }).pipe(
      Effect.onError(() => Effect.ignore(fs.remove(file, { force: true }))),
      failing("put"),
      Effect.uninterruptible
    )

  return { prepare, writeDraft, publish }
})

/**
 * Files below `<dataDir>/files`, found by the SHA-256 of their content. Each put creates a name of its own.
 * Equal bytes are stored once, as links to one file, so that removing one name never removes the bytes of
 * another.
 */
export const makeDirectoryBlobs = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const random = yield* SecureRandom.SecureRandom
  const { dataDir } = yield* AppConfig
  const root = path.join(dataDir, "files")
  const { prepare, publish, writeDraft } = yield* makeWriting(root)
  const blobs = path.join(root, "blobs")
  const drafts = path.join(root, "drafts")
  const trashed = path.join(root, "trash")
  const draftOf = (name: string) => path.join(drafts, name)

  yield* prepare([blobs, drafts, trashed])

  /** The path of a key's bytes; null for a key of another form, so that no key leads outside of the store. */
  const fileOf = (key: string): string | null => {
    const [, first, second] = keyPattern.exec(key) ?? []
    return first === undefined || second === undefined ? null : path.join(blobs, first, second, key)
  }

  const put: Blobs["put"] = (bytes) =>
    Effect.gen(function* () {
      const name = yield* random.uuidV7()
      const draft = draftOf(name)
      yield* Effect.addFinalizer(() => Effect.ignore(fs.remove(draft, { force: true })))
      const total = yield* writeDraft(draft, bytes)
      const key = `${Hex.encode(total.sha256)}.${name}`
      const file = fileOf(key)
      if (file === null) return yield* Effect.die(new Error("A new key is malformed"))
      yield* publish(draft, file, total.bytes)
      return { key, ...total }
    }).pipe(Effect.scoped)

  const get: Blobs["get"] = (key, range) => {
    const file = fileOf(key)
    if (file === null) return Stream.fail(unknownKey("get"))
    const bounds =
      range === undefined
        ? {}
        : { offset: BigInt(range.start), bytesToRead: BigInt(Math.max(0, range.end - range.start)) }
    const bytes = fs
      .stream(file, { chunkSize: pieceBytes, ...bounds })
      .pipe(Stream.mapError((cause) => new StorageFailed({ operation: "get", cause })))
    return range === undefined ? bytes : ofLength(Math.max(0, range.end - range.start))(bytes)
  }

  const has = (key: string) => {
    const file = fileOf(key)
    return file === null ? Effect.succeed(false) : failing("get")(fs.exists(file))
  }

  const remove = (key: string) => {
    const file = fileOf(key)
    return file === null ? Effect.void : failing("remove")(fs.remove(file, { force: true }))
  }

  /** The files of a directory that were last written or touched at least this long ago. */
  const oldIn = Effect.fnUntraced(function* (directory: string, age: Duration.Input) {
    const before = (yield* Clock.currentTimeMillis) - Duration.toMillis(age)
    const names = Option.getOrElse(yield* ifThere(fs.readDirectory(directory)), () => [])
    return yield* Effect.filter(names, (name) =>
      ifThere(fs.stat(path.join(directory, name))).pipe(
        Effect.map((info) => Option.isSome(info) && timeOf(info.value) <= before)
      )
    )
  })

  const fanOut = (directory: string) =>
    Stream.fromIterableEffect(failing("list")(fs.readDirectory(directory))).pipe(
      Stream.filter((name) => fanOutPattern.test(name)),
      Stream.map((name) => path.join(directory, name))
    )

  const olderThan = (age: Duration.Input) =>
    fanOut(blobs).pipe(
      Stream.flatMap(fanOut),
      Stream.flatMap((directory) => Stream.fromIterableEffect(failing("list")(oldIn(directory, age)))),
      Stream.filter((name) => keyPattern.test(name))
    )

  const sweepLeftovers = (age: Duration.Input) =>
    oldIn(drafts, age).pipe(
      Effect.flatMap(Effect.forEach((name) => fs.remove(draftOf(name), { force: true }), { discard: true })),
      failing("sweep")
    )

  // The trash: an empty file for each key, whose time is that of its addition.
  const trash: Blobs["trash"] = {
    add: (key) =>
      fileOf(key) === null
        ? Effect.void
        : failing("trash")(fs.writeFile(path.join(trashed, key), new Uint8Array(0), { mode: fileMode })),
    take: (key) =>
      fileOf(key) === null
        ? Effect.void
        : failing("trash")(fs.remove(path.join(trashed, key), { force: true })),
    list: Stream.fromIterableEffect(failing("trash")(fs.readDirectory(trashed))).pipe(
      Stream.filter((key) => keyPattern.test(key)),
      Stream.mapEffect((key) =>
        failing("trash")(ifThere(fs.stat(path.join(trashed, key)))).pipe(
          Effect.map(Option.map((info) => ({ key, since: timeOf(info) })))
        )
      ),
      Stream.filterMap(Result.fromOption(() => "gone"))
    )
  }

  return {
    place: `the directory ${root}`,
    put,
    get,
    has,
    remove,
    olderThan,
    sweepLeftovers,
    trash,
    check: roundTrip({ put, get, remove }),
    mark: yield* makeDirectoryMark(root)
  } satisfies Blobs
})

const unknownKey = (operation: StorageFailed["operation"]) =>
  new StorageFailed({ operation, cause: new Error("The key is not one of the directory's") })

const isTaken = (error: PlatformError.PlatformError): boolean => error.reason._tag === "AlreadyExists"

/**
 * A file with a random id, which identifies a directory wherever it is mounted. The first process creates it.
 */
const makeDirectoryMark = Effect.fnUntraced(function* (root: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const random = yield* SecureRandom.SecureRandom
  const file = path.join(root, "identity")

  const writeNew = (name: string, text: string) =>
    fs.writeFileString(name, text, { mode: fileMode, flag: "wx" })

  /** The path of a file with this text that is removed with the scope, unless it is moved. */
  const draftOf = Effect.fnUntraced(function* (text: string) {
    const draft = `${file}.${yield* random.uuidV4()}`
    yield* Effect.addFinalizer(() => Effect.ignore(fs.remove(draft, { force: true })))
    yield* writeNew(draft, text)
    return draft
  })

  const create = Effect.gen(function* () {
    const text = `${yield* random.uuidV4()}\n`
    const draft = yield* draftOf(text)
    // A link is created completely or not at all, and by one process only. Some file systems have no links.
    yield* fs.link(draft, file).pipe(
      Effect.catchIf(
        (error) => !isTaken(error),
        () => writeNew(file, text)
      ),
      Effect.catchIf(isTaken, () => Effect.void)
    )
  }).pipe(Effect.scoped)

  const read = Effect.gen(function* () {
    if (!(yield* fs.exists(file))) yield* create
    return yield* fs.readFileString(file)
  }).pipe(failing("start"), Effect.flatMap(parseMark))

  const write = (ids: Parameters<typeof markText>[0]) =>
    Effect.flatMap(draftOf(markText(ids)), (draft) => fs.rename(draft, file)).pipe(
      Effect.scoped,
      failing("start")
    )

  return { read, write } satisfies Blobs["mark"]
})
