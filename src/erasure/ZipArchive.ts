import { makeZip } from "client-zip"
import { type DateTime, DateTime as Time, Effect, Stream } from "effect"

/** A file of an archive. */
export interface ArchiveEntry<E, R> {
  /** With slashes between directories; never what another person chose, as a path. */
  readonly name: string
  readonly modifiedAt: DateTime.Utc
  readonly bytes: Stream.Stream<Uint8Array, E, R>
}

/** How an archive failed that was not a failure of one of its files. */
const brokenArchive = (error: unknown): Error =>
  error instanceof Error ? error : new Error("The archive could not be written", { cause: error })

/**
 * A ZIP archive, made while it is read: no file of it is held in memory, nor is the number or the size of files bounded by the
 * format (ZIP64). What fails while a file is read fails the stream, so that no broken archive looks complete.
 */
export const zipArchive = <E, R, E2, R2>(
  entries: Stream.Stream<ArchiveEntry<E, R>, E2, R2>
): Stream.Stream<Uint8Array, Error, R | R2> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const context = yield* Effect.context<R | R2>()
      const open = new Set<AsyncIterator<unknown>>()

      /** client-zip doesn't end what it reads from when it is canceled itself. */
      const iterate = <A, E3>(stream: Stream.Stream<A, E3, R | R2>): AsyncIterable<A> => ({
        [Symbol.asyncIterator]: () => {
          const iterator = Stream.toAsyncIterableWith(stream, context)[Symbol.asyncIterator]()
          open.add(iterator)
          return {
            next: async () => {
              const result = await iterator.next()
              if (result.done === true) open.delete(iterator)
              return result
            }
          }
        }
      })
      yield* Effect.addFinalizer(() =>
        Effect.promise(() => Promise.all([...open].map((iterator) => iterator.return?.())))
      )
      const files = Stream.map(entries, ({ bytes, modifiedAt, name }) => ({
        name,
        lastModified: Time.toDateUtc(modifiedAt),
        input: iterate(bytes)
      }))
      return Stream.fromReadableStream({ evaluate: () => makeZip(iterate(files)), onError: brokenArchive })
    })
  )
