import { Deferred, Duration, Effect, Schema } from "effect"
import { AppConfig } from "../AppConfig.ts"
import { FileId } from "../domain/Ids.ts"
import { makeJobQueue } from "../sql/JobQueue.ts"
import { BlobStore } from "./BlobStore.ts"
import type { FileTable, KeptFile } from "./FileTable.ts"
import { TextExtraction } from "./TextExtraction.ts"

/** Table of the queue; migrations make it, and the sweep looks into it. */
export const jobsTable = "file_jobs"

/** How often a job may break off, because its process died or the store was away, before the file counts as unreadable. */
export const attemptsMax = 5
/** How often an upload looks whether another process has read its text. */
const lookSeconds = 1

const gaveUp = "The text of the file could not be read, though it was tried several times."

const Job = Schema.Struct({ fileId: FileId })

/**
 * Reads the texts of files, for as long as the scope is open: in this process or, should it end, in another one or a later
 * one. A file is read by one process at a time, and counts as unreadable when that broke off `attemptsMax` times.
 */
export const makeTextJobs = Effect.fnUntraced(function* (table: FileTable) {
  const { extractionsMax } = (yield* AppConfig).files
  const blobs = yield* BlobStore
  const extraction = yield* TextExtraction
  const queue = yield* makeJobQueue({
    name: "texts",
    schema: Job,
    // The attempt after the last one only writes down that there will be no other.
    attemptsMax: attemptsMax + 1,
    brokenOff: "The text of a file could not be read yet"
  })
  const waiting = new Map<FileId, Deferred.Deferred<void>>()

  const extract = (file: KeptFile) =>
    extraction.extract({ bytes: blobs.get(file.storageKey), size: file.bytes, filename: file.filename }).pipe(
      Effect.flatMap((read) => table.keepText(file.id, { ...read, extractor: extraction.version })),
      Effect.catchTag("ExtractionFailed", ({ message }) => table.keepFailure(file.id, message))
    )

  const work = Effect.fnUntraced(function* (fileId: FileId, attempts: number) {
    const file = yield* table.unread(fileId)
    if (file === undefined) return
    yield* attempts > attemptsMax ? table.keepFailure(fileId, gaveUp) : extract(file)
    const waiter = waiting.get(fileId)
    if (waiter !== undefined) yield* Deferred.succeed(waiter, undefined)
  })

  yield* queue.work(extractionsMax, ({ fileId }, attempts) => work(fileId, attempts))

  /** Asks for a file's text, together with whatever else the current transaction does. */
  const offer = (fileId: FileId) => queue.offer(fileId, { fileId })

  /** Completes when `isDone` finds the text read, or found unreadable. */
  const wait = <E>(fileId: FileId, isDone: Effect.Effect<boolean, E>): Effect.Effect<void, E> =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const done = Deferred.makeUnsafe<void>()
        waiting.set(fileId, done)
        return done
      }),
      (done) =>
        Effect.gen(function* () {
          while (!(yield* isDone)) {
            yield* Deferred.await(done).pipe(Effect.timeoutOption(Duration.seconds(lookSeconds)))
          }
        }),
      () => Effect.sync(() => waiting.delete(fileId))
    )

  return { offer, wait }
})

export type TextJobs = Effect.Success<ReturnType<typeof makeTextJobs>>
