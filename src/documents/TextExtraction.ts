import { Context, Effect, Layer, Stream } from "effect"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { ExtractionBusy, ExtractionFailed, type StorageFailed } from "../domain/Errors.ts"
import { confine } from "./Confinement.ts"
import { FairPermits } from "../domain/FairPermits.ts"
import { readPage, readPlainText } from "./DocumentReader.ts"
import { readInProcess, type ReaderInput, type ReaderLimits, readerProgram } from "./ReaderProcess.ts"
import { type PageOptions, Unreadable } from "./Reading.ts"

/** A file to be read. */
export interface ExtractedFile {
  /** On whose behalf it is read; users take turns. */
  readonly user: string
  readonly bytes: Stream.Stream<Uint8Array, StorageFailed>
  readonly size: number
  readonly filename: string
}

export type PlainFile = Omit<ExtractedFile, "user">

/** An HTML page of the web to be read. */
export interface FetchedPage extends PageOptions {
  /** On whose behalf it is read. */
  readonly user: string
  readonly bytes: Uint8Array
}

/** The text of a file. */
export interface ExtractedText {
  /** Without NUL and lone surrogates; its lines end in LF. It isn't empty. */
  readonly text: string
  /** By the file's bytes, and for texts by the extension of its name. */
  readonly mediaType: string
  /** The text of the file is longer. */
  readonly truncated: boolean
  /** Where each page or slide starts in the text, in UTF-16 code units; null for what has none. */
  readonly pages: ReadonlyArray<number> | null
}

/** The text of a page. */
export interface ExtractedPage {
  readonly title: string
  /** Markdown, not empty. */
  readonly text: string
  /** The text of the page is longer. */
  readonly truncated: boolean
}

/** Raised whenever another text would come out of some file. */
export const extractionVersion = "7"

/** Files that wait until fewer are being read. */
const waitingMax = 1000

/** Of a document; what is beyond is not read. */
const pagesMax = 10_000

/** A plain text or an HTML page of so many bytes takes a few milliseconds; see docs/decisions/html-reader.md. */
const inProcessBytesMax = 64 * 1024

/** The part of the memory for the bytes of a document that is read as a whole. */
const documentPart = 0.25

const extensionCharactersMax = 10

/** Readings of one user at once: one place is left for other users, where there is more than one. */
export const readingsPerUserMax = (extractionsMax: number): number => Math.max(1, extractionsMax - 1)

/** Extracts the texts of files, each in a process of its own, so that a hostile file can harm nothing else. */
export class TextExtraction extends Context.Service<
  TextExtraction,
  {
    /**
     * Reads the text. The number of files that are read at once is limited, in total and for each user. The others wait, users
     * take turns, and too many are refused.
     */
    readonly extract: (
      file: ExtractedFile
    ) => Effect.Effect<ExtractedText, ExtractionFailed | ExtractionBusy | StorageFailed>
    /**
     * Reads a short plain text in UTF-8 at once, without a process. Null for everything else, which `extract` reads.
     */
    readonly plainText: (file: PlainFile) => Effect.Effect<ExtractedText | null, StorageFailed>
    /** Reads a page: a short one at once, and any other as `extract` reads a file. */
    readonly page: (page: FetchedPage) => Effect.Effect<ExtractedPage, ExtractionFailed | ExtractionBusy>
    /** What the confinement of the reader processes lacks, each with the remedy. */
    readonly unconfined: Effect.Effect<ReadonlyArray<string>>
    /** Changes whenever the extraction would give another text. */
    readonly version: string
  }
>()("parley/files/TextExtraction") {
  static readonly layer: Layer.Layer<TextExtraction, never, AppConfig> = Layer.effect(
    TextExtraction,
    Effect.gen(function* () {
      const { dataDir, files } = yield* AppConfig
      const limits = limitsOf(files)
      const confined = yield* Effect.cached(Effect.uninterruptible(confine(readerProgram(), limits, dataDir)))
      const readers = new FairPermits({
        totalMax: files.extractionsMax,
        perKeyMax: readingsPerUserMax(files.extractionsMax)
      })
      let present = 0
      const enter = Effect.suspend(() => {
        if (present >= files.extractionsMax + waitingMax) return Effect.fail(new ExtractionBusy())
        present++
        return Effect.void
      })

      const readInTurn = Effect.fnUntraced(function* (user: string, input: ReaderInput) {
        const { program } = yield* confined
        return yield* Effect.acquireUseRelease(
          enter,
          () => readers.withPermit(user)(readInProcess(program, limits, input)),
          () => Effect.sync(() => present--)
        )
      })

      const extract = Effect.fn("TextExtraction.extract")(({ bytes, filename, user }: ExtractedFile) =>
        readInTurn(user, { bytes, extension: extensionOf(filename) })
      )

      const page = Effect.fn("TextExtraction.page")(function* ({ bytes, user, ...options }: FetchedPage) {
        const {
          text,
          title = "",
          truncated
        } = yield* bytes.length > inProcessBytesMax
          ? readInTurn(user, { bytes: Stream.make(bytes), extension: "html", page: options }).pipe(
              Effect.catchTag("StorageFailed", Effect.die)
            )
          : readShortPage(bytes, options, limits)
        return { text, title, truncated }
      })

      const plainText = Effect.fn("TextExtraction.plainText")(function* (file: PlainFile) {
        if (file.size > inProcessBytesMax) return null
        const bytes = Buffer.concat(yield* Stream.runCollect(file.bytes))
        return yield* Effect.promise(() => readPlainText(bytes, extensionOf(file.filename), limits))
      })

      const unconfined = Effect.map(confined, ({ missing }) => missing)
      return { extract, page, plainText, unconfined, version: extractionVersion }
    })
  )
}

const readShortPage = (bytes: Uint8Array, page: PageOptions, limits: ReaderLimits) =>
  Effect.try({
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

/** The extension of a name, in lower case and without its dot; empty for anything that isn't a plain word. */
const extensionOf = (filename: string): string => {
  const extension = /\.([A-Za-z0-9]+)$/.exec(filename)?.[1]?.toLowerCase() ?? ""
  return extension.length <= extensionCharactersMax ? extension : ""
}
