// oxlint-disable-next-line no-restricted-imports -- Effect has no interface to the garbage collector
import { setFlagsFromString } from "node:v8"
// oxlint-disable-next-line no-restricted-imports -- the collector that the flag shows is a global of new contexts only
import { runInNewContext } from "node:vm"
import { Predicate, Stream } from "effect"

/**
 * Bytes of all transfers between two collections of their buffers. After V8 has collected the whole heap on a busy machine, it does so
 * again as soon as little more than this has come; see docs/decisions/uploads.md.
 */
export const collectEveryBytes = 2 * 1024 * 1024

/** To collect what became garbage soon after it was made, which takes about a millisecond. */
const makeCollectYoung = (): (() => void) => {
  setFlagsFromString("--expose-gc")
  const gc: unknown = runInNewContext("gc")
  setFlagsFromString("--no-expose-gc")
  return Predicate.isFunction(gc) ? () => void gc({ type: "minor" }) : () => {}
}

/** Of all transfers, because they fill one heap. */
const passed: { bytes: number; collect: (() => void) | null } = { bytes: 0, collect: null }

/**
 * The bytes of a long transfer, whose buffers are freed as it goes on. V8 sees only the small objects that stand for buffers: it
 * would free them too late, by full collections of the heap, which cost more than the transfer itself.
 */
export const freed = <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E, R> =>
  Stream.mapArray(bytes, (pieces) => {
    for (const piece of pieces) passed.bytes += piece.length
    if (passed.bytes >= collectEveryBytes) {
      passed.bytes = 0
      passed.collect ??= makeCollectYoung()
      passed.collect()
    }
    return pieces
  })
