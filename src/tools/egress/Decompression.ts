import type { Transform } from "node:stream"
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress
} from "node:zlib"

/** A server that packs more than twice does it for no good. */
const encodingsMax = 2

/** The window of zstd that everybody must be able to unpack, as a power of two: 8 MiB. */
const zstdWindowLog = 23

/** What is unpacked at a time. */
const chunkBytes = 64 * 1024

/** A body as it was meant. */
export interface Unpacked {
  readonly bytes: Uint8Array
  readonly isCut: boolean
}

/** The encodings of a body, the last applied first; null if one of them is unknown, or if there are too many. */
export const encodingsOf = (header: string): ReadonlyArray<Encoding> | null => {
  const names = header
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "" && name !== "identity")
  const known = names.flatMap((name) => encodings.get(name) ?? [])
  return known.length === names.length && known.length <= encodingsMax ? known.toReversed() : null
}

/** Makes what unpacks a body that begins so. A body that was cut off is unpacked as far as it goes. */
export type Encoding = (first: number) => Transform

const gunzip: Encoding = () => createGunzip({ chunkSize: chunkBytes, finishFlush: constants.Z_SYNC_FLUSH })

/** Some servers leave out the frame that "deflate" should have. */
const inflate: Encoding = (first) => {
  const options = { chunkSize: chunkBytes, finishFlush: constants.Z_SYNC_FLUSH }
  return (first & 0x0f) === 8 ? createInflate(options) : createInflateRaw(options)
}

const encodings: ReadonlyMap<string, Encoding> = new Map<string, Encoding>([
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

/** No more than this is taken of a stream; the rest is never made. */
export const readUpTo = async (stream: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Unpacked> => {
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

/** Undoes the encodings of a body; what comes out of each is bounded. Rejects when the body isn't what they say. */
export const unpack = async (
  packed: Unpacked,
  undo: ReadonlyArray<Encoding>,
  bytesMax: number
): Promise<Unpacked> => {
  let { bytes, isCut } = packed
  for (const encoding of undo) {
    const [first] = bytes
    if (first === undefined) break
    const transform = encoding(first)
    transform.end(bytes)
    const out = await readUpTo(transform, bytesMax)
    bytes = out.bytes
    isCut ||= out.isCut
  }
  return { bytes, isCut }
}
