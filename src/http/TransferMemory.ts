import { Stream } from "effect"

/**
 * Bytes of all transfers between two collections of their buffers. After V8 has collected the whole heap on a
 * busy machine, it does so again as soon as little more than this has come; see docs/decisions/uploads.md.
 */
export const collectEveryBytes = 2 * 1024 * 1024

/** The bytes of all transfers since the last collection: they fill one heap. */
const passed = { bytes: 0 }

/**
 * The bytes of a long transfer, whose buffers are freed as it goes on. V8 sees only the small objects that
 * stand for buffers: it would free them too late, by full collections of the heap, which cost more than the
 * transfer itself. A minor collection takes about a millisecond. Node has it where it was started with
 * `--expose-gc`, as by `npm start`.
 */
export const freed = <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E, R> =>
  Stream.mapArray(bytes, (pieces) => {
    for (const piece of pieces) passed.bytes += piece.length
    if (passed.bytes >= collectEveryBytes) {
      passed.bytes = 0
      globalThis.gc?.({ type: "minor" })
    }
    return pieces
  })
