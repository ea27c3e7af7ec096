import { createReadStream } from "node:fs"
import { open } from "node:fs/promises"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createZstdDecompress } from "node:zlib"
import { Effect, Fiber, Schema, Stream } from "effect"
import { Hex } from "effect/encoding"
import { type Entry, type Extract, extract as extractTar } from "tar-stream"
import { makeTally } from "../files/blobs/Pieces.ts"
import { failureReason } from "../runtime/failureReason.ts"
import {
  BackupFailed,
  contentOf,
  formatVersion,
  Header,
  headerName,
  Manifest,
  manifestName,
  membersPerSums,
  sumLine,
  textBytesMax
} from "./ArchiveFormat.ts"
import { type BackupKeys, decrypted, packingOf } from "./Encryption.ts"

/** A member that is being read. All of `body` has to be read. */
export interface ReadMember {
  readonly header: Header
  readonly name: string
  readonly bytes: number
  readonly body: Stream.Stream<Uint8Array, BackupFailed>
}

const advice = "Take another backup, or another copy of this one."

const unreadable = (path: string) => (cause: unknown) => {
  if (cause instanceof BackupFailed) return cause
  const code = (cause as NodeJS.ErrnoException).code ?? ""
  const reason = failureReason(cause)
  if (code === "ENOENT") return new BackupFailed({ message: `${path} does not exist.` })
  return new BackupFailed({
    message: /^E[A-Z]+$/.test(code)
      ? `${path} can't be read: ${reason}.`
      : `${path} is damaged or cut off: ${reason}. ${advice}`
  })
}

/** Takes in some bytes; completes when there is room for more, or the reader has stopped. */
const feedChunk = (extract: Extract, chunk: Uint8Array) =>
  new Promise<void>((resolve) => {
    if (extract.write(chunk)) return resolve()
    const settle = () => {
      extract.off("drain", settle)
      extract.off("close", settle)
      resolve()
    }
    extract.on("drain", settle)
    extract.on("close", settle)
  })

/**
 * The most bytes behind the frame that holds the archive. Node's compressor sometimes adds a frame without
 * content.
 */
const emptyFrameBytesMax = 64

const bytesFrom = async (path: string, start: number): Promise<Uint8Array> => {
  const handle = await open(path)
  try {
    const { buffer, bytesRead } = await handle.read({
      buffer: Buffer.alloc(emptyFrameBytesMax + 1),
      position: start
    })
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

/**
 * Checks for further bytes, because Node's decompressor stops at the end of a frame, and ignores the rest of
 * the same piece of the file.
 */
const checkEnd = async (path: string, frameEnd: number) => {
  const rest = await bytesFrom(path, frameEnd)
  if (rest.length === 0) return
  const decompressor = createZstdDecompress()
  let content = 0
  await pipeline(Readable.from([rest]), decompressor, async (pieces: AsyncIterable<Uint8Array>) => {
    for await (const { length } of pieces) content += length
  })
  if (content > 0 || decompressor.bytesWritten < rest.length) throw new Error("it goes on after its end")
}

/**
 * Takes in the whole file. An error behind the last member counts as well: the end of the file may be cut off
 * or altered.
 */
const feed = async (path: string, keys: BackupKeys, file: Readable, extract: Extract) => {
  const decompressor = createZstdDecompress()
  try {
    const packing = await packingOf(path)
    const bytes = await decrypted(path, packing, file, keys)
    await pipeline(bytes, decompressor, async (chunks: AsyncIterable<Uint8Array>) => {
      for await (const chunk of chunks) {
        if (extract.destroyed) return
        await feedChunk(extract, chunk)
      }
    })
    // An encrypted archive has its own end, without which it can't be read.
    if (packing === "plain" && !extract.destroyed) await checkEnd(path, decompressor.bytesWritten)
    extract.end()
  } catch (error) {
    extract.destroy(error instanceof Error ? error : new Error(String(error)))
    throw error
  } finally {
    file.destroy()
  }
}

/**
 * The members of the archive, one after the other, and the result of the whole file once they have been read.
 */
const openArchive = Effect.fnUntraced(function* (path: string, keys: BackupKeys) {
  const extract = extractTar()
  const file = createReadStream(path)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      file.destroy()
      extract.destroy()
    })
  )
  const feeding = yield* Effect.forkScoped(
    Effect.tryPromise({ try: () => feed(path, keys, file, extract), catch: unreadable(path) }),
    { startImmediately: true }
  )
  return {
    members: Stream.fromAsyncIterable<Entry, BackupFailed>(extract, unreadable(path)),
    ended: Fiber.join(feeding),
    bytesRead: () => file.bytesRead
  }
})

const whole = Effect.fnUntraced(function* <S extends Schema.Codec<unknown, unknown>>(
  path: string,
  schema: S,
  { body, bytes, name }: Pick<ReadMember, "body" | "bytes" | "name">
) {
  const invalid = new BackupFailed({ message: `${path} is damaged: ${name} can't be understood. ${advice}` })
  if (bytes > textBytesMax) return yield* invalid
  const text = yield* Stream.mkString(Stream.decodeText(body))
  return yield* Schema.decodeUnknownEffect(Schema.fromJsonString(schema))(text).pipe(
    Effect.mapError(() => invalid)
  )
})

const damagedAt = (path: string) => (what: string) =>
  new BackupFailed({ message: `${path} is damaged: ${what}. ${advice}` })

/** Compares members with the lists of sums that follow them. */
const makeComparison = (path: string) => {
  const damaged = damagedAt(path)
  const lists = makeTally()
  let count = 0
  let lines: Array<string> = []

  const note = (name: string, sha256: Uint8Array): Effect.Effect<void, BackupFailed> => {
    count++
    lines.push(sumLine(Hex.encode(sha256), name))
    return lines.length > membersPerSums ? Effect.fail(damaged("sums are missing")) : Effect.void
  }
  const compare = Effect.fnUntraced(function* ({ body, bytes, name }: Omit<ReadMember, "header">) {
    if (bytes > textBytesMax) return yield* damaged(`${name} is too long`)
    const text = yield* Stream.mkString(Stream.decodeText(body))
    const wrong = lines.find((line) => !text.includes(line))
    if (wrong !== undefined) return yield* damaged(`the sum of ${wrong.slice(66, -1)} differs`)
    if (text !== lines.join("")) return yield* damaged(`${name} names other members than there are`)
    lines = []
    lists.add(new TextEncoder().encode(text))
  })
  const finish = ({ members, sums }: Manifest): Effect.Effect<void, BackupFailed> =>
    lines.length > 0 || members !== count || sums !== Hex.encode(lists.total().sha256)
      ? Effect.fail(damaged("the sums and its manifest differ"))
      : Effect.void
  return { note, compare, finish }
}

const readHeader = Effect.fnUntraced(function* (path: string, member: Omit<ReadMember, "header">) {
  if (member.name !== headerName)
    return yield* new BackupFailed({ message: `${path} is not a backup of parley.` })
  const header = yield* whole(path, Header, member)
  if (header.format <= formatVersion) return header
  return yield* new BackupFailed({
    message: `${path} was written by parley ${header.version} in a newer format: read it with that version.`
  })
})

/**
 * Reads a backup from its beginning to its end, passes each table's pieces and each file to `visit`, and
 * compares every byte with the sums. The data that `visit` gets is verified only once everything was read.
 * `advance` gets the number of bytes of the file that were read since its last call. Returns the description
 * that the backup has of itself.
 */
export const readArchive = Effect.fn("ArchiveReader.read")(function* <E, R>(
  path: string,
  keys: BackupKeys,
  visit: (member: ReadMember) => Effect.Effect<void, E, R>,
  advance: (bytes: number) => Effect.Effect<void> = () => Effect.void
) {
  const { bytesRead, ended, members } = yield* openArchive(path, keys)
  const damaged = damagedAt(path)
  const { compare, finish, note } = makeComparison(path)
  let header: Header | null = null
  let manifest: Manifest | null = null
  let reported = 0

  const take = Effect.fnUntraced(function* (entry: Entry) {
    const { name, size: bytes = 0 } = entry.header
    const tally = makeTally()
    const body = Stream.fromAsyncIterable<Uint8Array, BackupFailed>(entry, unreadable(path)).pipe(
      Stream.map((piece) => {
        tally.add(piece)
        return piece
      })
    )
    const member = { name, bytes, body }
    const content = contentOf(name)
    if (manifest !== null) return yield* damaged(`it goes on with ${name} after its end`)
    if (header === null) header = yield* readHeader(path, member)
    else if (name === manifestName) {
      manifest = yield* whole(path, Manifest, member)
      return
    } else if (content === null) return yield* damaged(`${name} does not belong there`)
    else if ("sums" in content) return yield* compare(member)
    else yield* visit({ header, ...member })
    yield* note(name, tally.total().sha256)
  })
  const report = Effect.suspend(() => {
    const news = bytesRead() - reported
    reported += news
    return news === 0 ? Effect.void : advance(news)
  })

  yield* Stream.runForEach(members, (entry) => Effect.andThen(take(entry), report))
  yield* ended
  yield* report
  if (header === null || manifest === null) return yield* damaged("its end is missing")
  yield* finish(manifest)
  return { header: header as Header, manifest: manifest as Manifest }
}, Effect.scoped)
