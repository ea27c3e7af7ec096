import type { Transform } from "node:stream"
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress
} from "node:zlib"

/** Most encodings of one body. */
const encodingsMax = 2

/** The window of zstd that every decoder must support, as a power of two: 8 MiB. */
const zstdWindowLog = 23

/** Decompressed at a time. */
const chunkBytes = 64 * 1024

interface Body {
  readonly bytes: Uint8Array
  readonly isCut: boolean
}

/**
 * The decompressors of a content-encoding, the last applied first; null if one is unknown, or there are too
 * many.
 */
export const decompressorsOf = (header: string): ReadonlyArray<Decompressor> | null => {
  const names = header
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "" && name !== "identity")
  const known = names.flatMap((name) => encodings.get(name) ?? [])
  return known.length === names.length && known.length <= encodingsMax ? known.toReversed() : null
}

/**
 * Decompresses a body that begins with this byte. A body that was cut off is decompressed as far as it goes.
 */
type Decompressor = (first: number) => Transform

const gunzip: Decompressor = () =>
  createGunzip({ chunkSize: chunkBytes, finishFlush: constants.Z_SYNC_FLUSH })

/** Some servers leave out the zlib frame of "deflate". */
const inflate: Decompressor = (first) => {
  const options = { chunkSize: chunkBytes, finishFlush: constants.Z_SYNC_FLUSH }
  return (first & 0x0f) === 8 ? createInflate(options) : createInflateRaw(options)
}

const encodings: ReadonlyMap<string, Decompressor> = new Map<string, Decompressor>([
  ["gzip", gunzip],
  ["x-gzip", gunzip],
  ["deflate", inflate],
  [
    "br",
    () => createBrotliDecompress({ chunkSize: chunkBytes, finishFlush: constants.BROTLI_OPERATION_FLUSH })
  ],
  [
    "zstd",
    () =>
      createZstdDecompress({
        chunkSize: chunkBytes,
        finishFlush: constants.ZSTD_e_flush,
        params: { [constants.ZSTD_d_windowLogMax]: zstdWindowLog }
      })
  ]
])

/** Reads a stream up to `bytesMax`; the rest is never produced. */
export const readUpTo = async (stream: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Body> => {
  const pieces: Array<Uint8Array> = []
  let size = 0
  for await (const piece of stream) {
    pieces.push(piece)
    size += piece.byteLength
    // Leaving the loop ends the stream.
    if (size > bytesMax) break
  }
  return { bytes: Buffer.concat(pieces, Math.min(size, bytesMax)), isCut: size > bytesMax }
}

/** Decompresses a body; the output of each step is bounded. Rejects when the body is malformed. */
export const decompress = async (
  compressed: Body,
  steps: ReadonlyArray<Decompressor>,
  bytesMax: number
): Promise<Body> => {
  let { bytes, isCut } = compressed
  for (const decompressor of steps) {
    const [first] = bytes
    if (first === undefined) break
    const transform = decompressor(first)
    transform.end(bytes)
    const out = await readUpTo(transform, bytesMax)
    bytes = out.bytes
    isCut ||= out.isCut
  }
  return { bytes, isCut }
}
