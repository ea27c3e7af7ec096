import { Context, Duration, Effect, Layer, Option, Stream } from "effect"
import { confine } from "../confinement/Confinement.ts"
import { ExtractionBusy, ExtractionFailed, type StorageFailed } from "../domain/Errors.ts"
import { FairPermits } from "../runtime/FairPermits.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { readPage, readPlainText } from "./DocumentReader.ts"
import { isForeign } from "./Kind.ts"
import {
  CurrentReaderProgram,
  readInProcess,
  type ReaderInput,
  type ReaderLimits,
  works
} from "./ReaderProcess.ts"
import { type PageOptions, type Reading, Unreadable } from "./Reading.ts"

/** A file to be read. */
interface ExtractedFile {
  /** The user on whose behalf the file is read; users take turns. */
  readonly user: string
  readonly bytes: Stream.Stream<Uint8Array, StorageFailed>
  readonly size: number
  readonly filename: string
}

type PlainFile = Omit<ExtractedFile, "user">

/** A web page to be read. */
interface FetchedPage extends PageOptions {
  /** The user on whose behalf the page is read. */
  readonly user: string
  readonly bytes: Uint8Array
}

export type ExtractedText = Omit<Reading, "title">

/** The text of a web page, as Markdown. */
export type ExtractedPage = Pick<Reading, "text" | "truncated"> & { readonly title: string }

/** Raised whenever the text of some file would change. */
export const extractionVersion = "9"

/** Files that wait until fewer are being read. */
const waitingMax = 1000

/** Most pages of a document; later pages are not read. */
const pagesMax = 10_000

/** An HTML page of so many bytes takes a few milliseconds; see docs/decisions/html-reader.md. */
const pageBytesMax = 64 * 1024
/**
 * A plain text in UTF-8 of so many bytes takes 4 to 10 ms of processor time, and 20 ms if all of it is line
 * ends. Guessing the charset of another one takes up to 60 ms from the first 64 KiB on, which is left to a
 * process.
 */
const plainTextBytesMax = 512 * 1024

/** The part of the memory for the bytes of a document. */
const documentPart = 0.25

const extensionCharactersMax = 10

/** Concurrent readings of one user: one place is left for other users, if there is more than one. */
export const readingsPerUserMax = (extractionsMax: number): number => Math.max(1, extractionsMax - 1)

/**
 * Extracts the texts of files, each in a process of its own, so that a hostile file can harm nothing else.
 */
export class TextExtraction extends Context.Service<
  TextExtraction,
  {
    /**
     * Reads the text. The number of concurrent readings is limited, in total and per user. Others wait in
     * fair order up to a limit.
     */
    readonly extract: (
      file: ExtractedFile
    ) => Effect.Effect<ExtractedText, ExtractionFailed | ExtractionBusy | StorageFailed>
    /**
     * Reads a plain text in UTF-8 of up to 512 KiB without a process; null for everything else, which
     * `extract` reads.
     */
    readonly plainText: (file: PlainFile) => Effect.Effect<ExtractedText | null, StorageFailed>
    /**
     * Why a file of a kind that can't be read fails, by its first 64 KiB, whatever follows; null where the
     * rest has to be known, and where the reading would have to wait for others.
     */
    readonly unsupported: (
      file: Pick<ExtractedFile, "user"> & { readonly head: Uint8Array }
    ) => Effect.Effect<ExtractionFailed | null>
    /** Reads a page: a short one without a process, and any other like a file. */
    readonly page: (page: FetchedPage) => Effect.Effect<ExtractedPage, ExtractionFailed | ExtractionBusy>
    /** The lacks of the confinement of the reader processes, each with the remedy. */
    readonly unconfined: Effect.Effect<ReadonlyArray<string>>
    readonly version: string
  }
>()("parley/documents/TextExtraction") {
  static readonly layer: Layer.Layer<TextExtraction, never, AppConfig> = Layer.effect(
    TextExtraction,
    Effect.gen(function* () {
      const { dataDir, files } = yield* AppConfig
      const limits = limitsOf(files)
      const confined = yield* Effect.cached(
        Effect.uninterruptible(
          confine({
            program: yield* CurrentReaderProgram,
            processes: "Processes that read documents",
            dataDirectory: dataDir,
            works: (program) => works(program, limits)
          })
        )
      )
      const readers = new FairPermits({
        totalMax: files.extractionsMax,
        perKeyMax: readingsPerUserMax(files.extractionsMax)
      })

      const readInTurn = Effect.fnUntraced(function* (user: string, input: ReaderInput) {
        const { program } = yield* confined
        const { held, waiting } = readers.all
        if (held + waiting >= files.extractionsMax + waitingMax) return yield* new ExtractionBusy()
        return yield* readers.withPermit(user)(readInProcess(program, limits, input))
      })

      const extract = Effect.fn("TextExtraction.extract")(({ bytes, filename, user }: ExtractedFile) =>
        readInTurn(user, { bytes, extension: extensionOf(filename) })
      )

      // The reader looks at no more than the head of such a file, so that it says the same of the head alone.
      const unsupported = Effect.fn("TextExtraction.unsupported")(
        function* ({ head, user }: { readonly user: string; readonly head: Uint8Array }) {
          if (!isForeign(Buffer.from(head.buffer, head.byteOffset, head.byteLength))) return null
          const permits = yield* readers.acquireWithin(user, 1, Duration.zero)
          if (Option.isNone(permits)) return null
          const { program } = yield* confined
          const failure = yield* readInProcess(program, limits, {
            bytes: Stream.make(head),
            extension: ""
          }).pipe(
            Effect.as(null),
            Effect.catchTag("ExtractionFailed", (error) => Effect.succeed(error)),
            Effect.catchTag("StorageFailed", Effect.die)
          )
          return failure?.reason === "unsupported" ? failure : null
        },
        (effect) => Effect.scoped(effect)
      )

      const page = Effect.fn("TextExtraction.page")(function* ({ bytes, user, ...options }: FetchedPage) {
        const read = yield* bytes.length > pageBytesMax
          ? readInTurn(user, { bytes: Stream.make(bytes), extension: "html", page: options }).pipe(
              Effect.catchTag("StorageFailed", Effect.die)
            )
          : readShortPage(bytes, options, limits)
        return { text: read.text, title: read.title ?? "", truncated: read.truncated }
      })

      const plainText = Effect.fn("TextExtraction.plainText")(function* (file: PlainFile) {
        if (file.size > plainTextBytesMax) return null
        const bytes = Buffer.concat(yield* Stream.runCollect(file.bytes))
        return yield* Effect.promise(() => readPlainText(bytes, extensionOf(file.filename), limits))
      })

      const unconfined = Effect.map(confined, ({ missing }) => missing)
      return { extract, page, plainText, unsupported, unconfined, version: extractionVersion }
    })
  )
}

const readShortPage = (bytes: Uint8Array, page: PageOptions, limits: ReaderLimits) =>
  Effect.tryPromise({
    try: () => readPage(bytes, page, limits),
    catch: (error) => {
      if (!(error instanceof Unreadable)) throw error
      return new ExtractionFailed({ reason: error.reason, message: error.message })
    }
  })

const limitsOf = (files: Settings["files"]): ReaderLimits => ({
  seconds: files.extractionSeconds,
  memoryBytes: files.extractionMemoryBytes,
  textBytesMax: files.textBytesMax,
  documentBytesMax: Math.floor(files.extractionMemoryBytes * documentPart),
  pagesMax
})

/** The extension in lower case, without its dot; empty for anything but a plain word. */
const extensionOf = (filename: string): string => {
  const extension = /\.([A-Za-z0-9]+)$/.exec(filename)?.[1]?.toLowerCase() ?? ""
  return extension.length <= extensionCharactersMax ? extension : ""
}
