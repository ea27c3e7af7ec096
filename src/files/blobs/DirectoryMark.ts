import { Effect, FileSystem, Path, type PlatformError } from "effect"
import { SecureRandom } from "effect/crypto"
import { StorageFailed } from "../../domain/Errors.ts"
import type { Blobs } from "./Blobs.ts"
import { markText, parseMark } from "./Mark.ts"

const fileMode = 0o600

const isTaken = (error: PlatformError.PlatformError): boolean => error.reason._tag === "AlreadyExists"

const starting = Effect.mapError(
  (cause: PlatformError.PlatformError) => new StorageFailed({ operation: "start", cause })
)

/** What a directory is known by, wherever it is mounted: a file with a random id, which the first process creates. */
export const makeDirectoryMark = Effect.fnUntraced(function* (root: string) {
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
    // A link is made whole or not at all, and by one process only. Some file systems have none.
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
  }).pipe(starting, Effect.flatMap(parseMark))

  const write = (ids: Parameters<typeof markText>[0]) =>
    Effect.flatMap(draftOf(markText(ids)), (draft) => fs.rename(draft, file)).pipe(Effect.scoped, starting)

  return { read, write } satisfies Blobs["mark"]
})
