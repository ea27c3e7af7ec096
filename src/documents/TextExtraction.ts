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

/** A file that may be a plain text. */
export type PlainFile = Omit<ExtractedFile, "user">

/** An HTML page of the web to be read. */
export interface FetchedPage extends PageOptions {
  /** On whose behalf it is read. */
  readonly user: string
  readonly bytes: Uint8Array
}

/** What a file says. */
export interface ExtractedText {
  /** Without NUL and lone surrogates; its lines end in LF. It isn't empty. */
  readonly text: string
  /** Told from the file's bytes, and for texts from the extension of its name. */
  readonly mediaType: string
  /** The file says more than fits or is read. */
  readonly truncated: boolean
  /** Where each page or slide starts in the text, in UTF-16 code units; null for what has none. */
  readonly pages: ReadonlyArray<number> | null
}

/** What a page says. */
export interface ExtractedPage {
  readonly title: string
  /** Markdown, not empty. */
  readonly text: string
  /** The page says more than fits. */
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

/** Documents whose bytes must be there as a whole may take this part of the memory. */
const documentPart = 0.25

/** The longest extension that means something. */
const extensionCharactersMax = 10

/** Readings of one user at once: where there is more than one place, another user finds one free. */
export const readingsPerUserMax = (extractionsMax: number): number => Math.max(1, extractionsMax - 1)

/** The texts of files, each read in a process of its own, so that whatever is in a file harms nothing but itself. */
export class TextExtraction extends Context.Service<
  TextExtraction,
  {
    /**
     * Reads the text. No more than some files are read at once, and fewer of one user. The others wait, of which users take
     * turns, and too many of those are refused.
     */
    readonly extract: (
      file: ExtractedFile
    ) => Effect.Effect<ExtractedText, ExtractionFailed | ExtractionBusy | StorageFailed>
    /**
     * Reads the text without a process and without waiting, where that is harmless and takes a moment: a short plain text in
     * UTF-8. Null for everything else, which `extract` reads.
     */
    readonly plainText: (file: PlainFile) => Effect.Effect<ExtractedText | null, StorageFailed>
    /** Reads a page: a short one at once, and any other as `extract` reads a file. */
    readonly page: (page: FetchedPage) => Effect.Effect<ExtractedPage, ExtractionFailed | ExtractionBusy>
    /** What the processes that read documents lack of being fully confined, each with the remedy. */
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
