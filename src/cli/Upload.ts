import { Duration, Effect, FileSystem, Path, Stream } from "effect"
import { askWithoutLimit, tooLong } from "./AdminClient.ts"
import { CliFailure, unreadable, unusable } from "./CommandLine.ts"
import type { Advance } from "./Output.ts"

/** Seconds for which an upload may make no progress; the server may wait for the text almost as long. */
const stallSeconds = 330

/** A file of this machine that is to be sent. */
export interface LocalFile {
  readonly name: string
  readonly size: number
  /** Exactly `size` bytes, or a failure. */
  readonly bytes: Stream.Stream<Uint8Array, CliFailure>
}

/** Looks at the file; nothing of it is read before `bytes` is. */
export const findLocalFile = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const { basename } = yield* Path.Path
  const info = yield* Effect.mapError(fs.stat(path), unreadable(path))
  if (info.type === "Directory") return yield* unusable(path, "is a directory, not a file")
  // A pipe or a device has no size, and may never end.
  if (info.type !== "File") return yield* unusable(path, "is no regular file")
  const size = Number(info.size)
  if (size === 0) return yield* unusable(path, "is empty")
  yield* Effect.mapError(fs.access(path, { readable: true }), unreadable(path))

  const bytes = Stream.suspend(() => {
    let seen = 0
    // Bytes that are appended meanwhile are left out; a file that was cut off would be another file.
    return fs.stream(path, { bytesToRead: size }).pipe(
      Stream.mapError(unreadable(path)),
      Stream.tap((piece) =>
        Effect.sync(() => {
          seen += piece.length
        })
      ),
      Stream.concat(
        Stream.suspend(() =>
          seen === size ? Stream.empty : Stream.fail(unusable(path, "became shorter while it was being sent"))
        )
      )
    )
  })
  return { name: basename(path), size, bytes } satisfies LocalFile
})

/** Fails where the server would take the file in only to refuse it. */
export const refuseLarger = (path: string, { size }: LocalFile, bytesMax: number) =>
  size <= bytesMax
    ? Effect.void
    : Effect.fail(unusable(path, `has ${size} bytes; a file may have at most ${bytesMax}`))

/** Uploads a file for a user, as fast as the server takes it, for as long as it makes progress. */
export const upload = Effect.fnUntraced(function* (
  file: LocalFile,
  about: { readonly email: string; readonly purpose?: string },
  advance: Advance
) {
  let sent = 0
  let bodyFailure: CliFailure | null = null
  const payload = file.bytes.pipe(
    Stream.tap((piece) => {
      sent += piece.length
      return advance(piece.length)
    }),
    // The client reports only that the body failed.
    Stream.tapError((failure) =>
      Effect.sync(() => {
        bodyFailure = failure
      })
    )
  )
  const stalled = Effect.gen(function* () {
    let before = -1
    while (before !== sent) {
      before = sent
      yield* Effect.sleep(Duration.seconds(stallSeconds))
    }
    return yield* tooLong("accepted no data and sent no answer for", stallSeconds)
  })
  const unanswered = (place: string) =>
    bodyFailure ?? new CliFailure({ message: `The connection to the server at ${place} broke. Try again.` })
  const query = { ...about, filename: file.name }
  return yield* Effect.raceFirst(
    askWithoutLimit(({ files }) => files.upload({ query, payload }), unanswered),
    stalled
  )
})
