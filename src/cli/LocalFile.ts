import { Effect, FileSystem, Path, type PlatformError, Stream } from "effect"
import { CliFailure } from "./CommandLine.ts"
import { printable } from "./Output.ts"

/** A file of this machine that is to be sent. */
export interface LocalFile {
  readonly name: string
  readonly size: number
  /** As many bytes as `size` says, or a failure. */
  readonly bytes: Stream.Stream<Uint8Array, CliFailure>
}

const unusable = (path: string, why: string) => new CliFailure({ message: `${printable(path)} ${why}.` })

const unreadable = (path: string) => (error: PlatformError.PlatformError) =>
  unusable(path, error.reason._tag === "NotFound" ? "does not exist" : `can't be read (${error.reason._tag})`)

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
    // What is appended meanwhile is left out; what is cut off would make another file.
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
