// oxlint-disable-next-line no-restricted-imports -- Effect has no interface to the garbage collector
import { setFlagsFromString } from "node:v8"
// oxlint-disable-next-line no-restricted-imports -- the collector that the flag shows is a global of new contexts only
import { runInNewContext } from "node:vm"
import { Predicate, Stream } from "effect"

/** Bytes of a transfer between two collections of its buffers. */
export const collectEveryBytes = 16 * 1024 * 1024

/** Collects what became garbage soon after it was made, which takes about a millisecond. */
const collectYoung = ((): (() => void) => {
  setFlagsFromString("--expose-gc")
  const gc: unknown = runInNewContext("gc")
  setFlagsFromString("--no-expose-gc")
  return Predicate.isFunction(gc) ? () => void gc({ type: "minor" }) : () => {}
})()

/**
 * The bytes of a long transfer, whose buffers are freed as it goes on. V8 sees only the small objects that stand for buffers: it
 * would free them too late, by full collections of the heap, which cost more than the transfer itself.
 */
export const freed = <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E, R> =>
  Stream.suspend(() => {
    let passed = 0
    return Stream.mapArray(bytes, (pieces) => {
      for (const piece of pieces) passed += piece.length
      if (passed >= collectEveryBytes) {
        passed = 0
        collectYoung()
      }
      return pieces
    })
  })
