// oxlint-disable-next-line no-restricted-imports -- Effect's Digest takes only bytes that are whole in memory
import { createHash } from "node:crypto"
import { Effect, Fiber, Stream } from "effect"
import { StorageFailed } from "../../domain/Errors.ts"

/** A range of bytes from `start` (inclusive) to `end` (exclusive). */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

interface Filling {
  buffer: Uint8Array
  filled: number
}

const nothing = new Uint8Array(0)

/**
 * Cuts bytes into pieces of exactly `pieceBytes`, except the last. A piece is a copy of the input, and no
 * view.
 */
export const inPieces =
  (pieceBytes: number) =>
  <E, R>(bytes: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E, R> =>
    Stream.mapAccum(
      bytes,
      (): Filling => ({ buffer: nothing, filled: 0 }),
      (filling, incoming) => [filling, fill(filling, incoming, pieceBytes)],
      { onHalt: ({ buffer, filled }) => (filled === 0 ? [] : [buffer.subarray(0, filled)]) }
    )

const fill = (filling: Filling, incoming: Uint8Array, pieceBytes: number): ReadonlyArray<Uint8Array> => {
  const whole: Array<Uint8Array> = []
  for (let from = 0; from < incoming.length;) {
    if (filling.filled === 0) filling.buffer = new Uint8Array(pieceBytes)
    const taken = incoming.subarray(from, from + pieceBytes - filling.filled)
    filling.buffer.set(taken, filling.filled)
    filling.filled += taken.length
    from += taken.length
    if (filling.filled === pieceBytes) {
      whole.push(filling.buffer)
      filling.filled = 0
    }
  }
  return whole
}

/**
 * Runs `write` with pieces of exactly `pieceBytes`, except the last, one after the other. During a write the
 * next piece is collected, and then waits: memory holds two pieces.
 *
 * A piece is valid only until its `write` is done, because creating a new buffer for each costs more than
 * filling it. No `write` outlasts this effect.
 */
export const writeInPieces = <E, R, E2, R2>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  pieceBytes: number,
  write: (piece: Uint8Array) => Effect.Effect<void, E2, R2>
): Effect.Effect<void, E | E2, R | R2> =>
  Effect.suspend(() => {
    let buffer = new Uint8Array(pieceBytes)
    let spare: Uint8Array<ArrayBuffer> | null = null
    let filled = 0
    let writing: Fiber.Fiber<void, E2> | null = null
    const flush = Effect.gen(function* () {
      if (writing !== null) yield* Fiber.join(writing)
      const piece = buffer.subarray(0, filled)
      writing = yield* Effect.forkChild(write(piece), { startImmediately: true })
      // A short file needs no second buffer.
      const next: Uint8Array<ArrayBuffer> = spare ?? new Uint8Array(pieceBytes)
      spare = buffer
      buffer = next
      filled = 0
    })
    const take = Effect.fnUntraced(function* (incoming: Uint8Array) {
      for (let from = 0; from < incoming.length;) {
        const taken = incoming.subarray(from, from + pieceBytes - filled)
        buffer.set(taken, filled)
        filled += taken.length
        from += taken.length
        if (filled === pieceBytes) yield* flush
      }
    })
    const rest = Effect.suspend(() => (filled === 0 ? Effect.void : flush))
    const last = Effect.suspend(() => (writing === null ? Effect.void : Fiber.join(writing)))
    const stop = Effect.suspend(() => (writing === null ? Effect.void : Fiber.interrupt(writing)))
    return Stream.runForEach(bytes, take).pipe(
      Effect.andThen(rest),
      Effect.andThen(last),
      Effect.ensuring(stop)
    )
  })

/** Fails at the end if the store returned other than `length` bytes, because some were lost there. */
export const ofLength =
  (length: number) =>
  (bytes: Stream.Stream<Uint8Array, StorageFailed>): Stream.Stream<Uint8Array, StorageFailed> =>
    Stream.suspend(() => {
      let seen = 0
      const check = Stream.suspend(() =>
        seen === length
          ? Stream.empty
          : Stream.fail(
              new StorageFailed({
                operation: "get",
                cause: new Error(`The store holds ${seen} of ${length} bytes`)
              })
            )
      )
      const counted = Stream.map(bytes, (piece) => {
        seen += piece.length
        return piece
      })
      return Stream.concat(counted, check)
    })

/** Length and SHA-256 of bytes that pass in pieces. */
interface Tally {
  readonly add: (piece: Uint8Array) => void
  /** The length and the hash. Call it once, after the last piece. */
  readonly total: () => { readonly bytes: number; readonly sha256: Uint8Array }
}

export const makeTally = (): Tally => {
  const hash = createHash("sha256")
  let bytes = 0
  return {
    add: (piece) => {
      hash.update(piece)
      bytes += piece.length
    },
    total: () => ({ bytes, sha256: new Uint8Array(hash.digest()) })
  }
}
