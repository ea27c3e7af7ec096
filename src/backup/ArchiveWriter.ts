import { type FileHandle, link, open, rename, rm, stat } from "node:fs/promises"
import { dirname } from "node:path"
import { Readable } from "node:stream"
import { constants, createZstdCompress } from "node:zlib"
import { Effect, Fiber, type Scope, Schema, Stream } from "effect"
import { Hex } from "effect/encoding"
import { pack as packTar, type Pack } from "tar-stream"
import { makeTally } from "../files/blobs/Pieces.ts"
import { failureReason } from "../runtime/failureReason.ts"
import {
  BackupFailed,
  Header,
  headerName,
  Manifest,
  manifestName,
  membersPerSums,
  sumLine,
  sumsMember
} from "./ArchiveFormat.ts"
import { type BackupKeys, encrypted } from "./Encryption.ts"

/** Mode that lets the owner alone read. */
const fileMode = 0o600

/** The file as it lies on the disk. */
export interface WrittenArchive {
  readonly bytes: number
  readonly sha256: string
}

export interface ArchiveWriter {
  /** Adds a member of exactly this many bytes. Returns their SHA-256. */
  readonly add: <E, R>(
    name: string,
    bytes: number,
    body: Stream.Stream<Uint8Array, E, R>
  ) => Effect.Effect<Uint8Array, E | BackupFailed, R>
  /** Writes the end, makes the file durable, and gives it its name. */
  readonly finish: (
    manifest: Omit<Manifest, "members" | "sums">
  ) => Effect.Effect<WrittenArchive, BackupFailed>
}

const unwritable = (path: string) => (cause: unknown) => {
  if (cause instanceof BackupFailed) return cause
  const reason = failureReason(cause)
  const isFull = ["ENOSPC", "EDQUOT"].includes((cause as NodeJS.ErrnoException).code ?? "")
  return new BackupFailed({
    message: isFull
      ? `There is no room for the backup in ${dirname(path)} (${reason}): make room, or choose another place.`
      : `The backup can't be written to ${path}: ${reason}.`
  })
}

const alreadyExists = (path: string) =>
  new BackupFailed({ message: `${path} exists already, and a backup replaces no file: choose another name.` })

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false
  )

/**
 * Gives the file its name, unless that is taken. Some file systems have no links; there the name is looked at
 * first.
 */
const publish = async (partial: string, path: string) => {
  try {
    await link(partial, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST" || (await exists(path))) throw alreadyExists(path)
    await rename(partial, path)
  }
  await rm(partial, { force: true })
  const directory = await open(dirname(path))
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** Writes everything that the packer gives; completes at its end. */
const drain = async (pack: Pack, keys: BackupKeys, handle: FileHandle): Promise<WrittenArchive> => {
  const compressor = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } })
  const source = Readable.from(pack, { objectMode: false })
  source.on("error", (error) => compressor.destroy(error))
  const tally = makeTally()
  try {
    for await (const chunk of await encrypted(source.pipe(compressor), keys)) {
      const bytes: Uint8Array = chunk
      tally.add(bytes)
      for (let from = 0; from < bytes.length;) {
        from += (await handle.write(bytes, from)).bytesWritten
      }
    }
  } finally {
    pack.destroy()
  }
  await handle.sync()
  const { bytes, sha256 } = tally.total()
  return { bytes, sha256: Hex.encode(sha256) }
}

/** One member of the archive, written as fast as the file takes it. */
const writeMember = Effect.fnUntraced(function* <E, R>(
  pack: Pack,
  header: { readonly name: string; readonly size: number; readonly mtime: Date },
  body: Stream.Stream<Uint8Array, E, R>
) {
  let written: (error: unknown) => void = () => {}
  const end = Effect.callback<void, unknown>((resume) => {
    written = (error) => resume(error ? Effect.fail(error) : Effect.void)
  })
  const ended = yield* Effect.forkChild(end, { startImmediately: true })
  const sink = pack.entry({ ...header, mode: fileMode }, (error) => written(error))
  yield* Stream.runForEach(body, (bytes) =>
    Effect.callback<void>((resume) => {
      if (sink.write(bytes)) resume(Effect.void)
      else sink.once("drain", () => resume(Effect.void))
    })
  )
  sink.end()
  yield* Fiber.join(ended).pipe(
    Effect.mapError((cause) => new BackupFailed({ message: `${header.name}: ${failureReason(cause)}` }))
  )
})

const textOf = <S extends Schema.Codec<unknown, unknown>>(schema: S, value: S["Type"]) =>
  Schema.encodeEffect(schema)(value).pipe(
    Effect.orDie,
    Effect.map((encoded) => new TextEncoder().encode(`${JSON.stringify(encoded, null, 2)}\n`))
  )

/**
 * Begins a backup at `path`, as `path.partial` until it is complete. An unfinished backup is removed when the
 * scope closes. A file that exists at `path` is never replaced.
 */
export const makeArchive = Effect.fn("ArchiveWriter.open")(function* (
  path: string,
  header: Header,
  keys: BackupKeys
): Effect.fn.Return<ArchiveWriter, BackupFailed, Scope.Scope> {
  const partial = `${path}.partial`
  const attempt = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: unwritable(path) })
  if (yield* attempt(() => exists(path))) return yield* alreadyExists(path)
  yield* Effect.addFinalizer(() => Effect.ignore(attempt(() => rm(partial, { force: true }))))
  const handle = yield* Effect.acquireRelease(
    attempt(async () => {
      // A killed run may have left its partial file.
      await rm(partial, { force: true })
      return await open(partial, "wx", fileMode)
    }),
    (file) => Effect.ignore(attempt(() => file.close()))
  )
  const pack = yield* Effect.acquireRelease(
    Effect.sync(() => packTar()),
    (open) => Effect.sync(() => open.destroy())
  )
  const draining = yield* Effect.forkScoped(
    attempt(() => drain(pack, keys, handle)),
    {
      startImmediately: true
    }
  )
  const mtime = new Date(header.createdAt.epochMilliseconds)
  const sums = makeTally()
  let members = 0
  let lists = 0
  let lines: Array<string> = []

  /** An archive file that can't be written any more ends all waiting writes. */
  const put = <E, R>(name: string, size: number, body: Stream.Stream<Uint8Array, E, R>) =>
    Effect.raceFirst(
      writeMember(pack, { name, size, mtime }, body),
      Effect.andThen(Fiber.join(draining), Effect.never)
    )
  const writeSums = Effect.suspend(() => {
    const text = new TextEncoder().encode(lines.join(""))
    lines = []
    lists++
    sums.add(text)
    return put(sumsMember(lists), text.length, Stream.make(text))
  })

  const add: ArchiveWriter["add"] = Effect.fnUntraced(function* (name, bytes, body) {
    const tally = makeTally()
    const tallied = Stream.map(body, (piece) => {
      tally.add(piece)
      return piece
    })
    yield* put(name, bytes, tallied)
    const { sha256 } = tally.total()
    members++
    lines.push(sumLine(Hex.encode(sha256), name))
    if (lines.length === membersPerSums) yield* writeSums
    return sha256
  })

  const finish: ArchiveWriter["finish"] = Effect.fnUntraced(function* (manifest) {
    if (lines.length > 0) yield* writeSums
    const end = { ...manifest, members, sums: Hex.encode(sums.total().sha256) }
    const text = yield* textOf(Manifest, end)
    yield* put(manifestName, text.length, Stream.make(text))
    pack.finalize()
    const written = yield* Fiber.join(draining)
    yield* attempt(() => publish(partial, path))
    return written
  })

  const text = yield* textOf(Header, header)
  yield* add(headerName, text.length, Stream.make(text))
  return { add, finish }
})
