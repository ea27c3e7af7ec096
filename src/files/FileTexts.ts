import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type DatabaseUnavailable, FileNotFound, FileNotReady, FileUnreadable } from "../domain/Errors.ts"
import type { FileId, UserId } from "../domain/Ids.ts"
import type { PlanStorage } from "../domain/Plan.ts"
import { textPartCharactersDefault, textPartCharactersMax } from "../domain/StoredFile.ts"
import { FairPermits } from "../runtime/FairPermits.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { makeFileTable } from "./FileTable.ts"
import { quotaOf } from "./UploadLimits.ts"

/** Whole texts that are in memory at once to show parts of them: in this process, and for one user. */
const textsMax = 4
const textsPerUserMax = 1

/** Offsets in UTF-16 code units; `to` is exclusive. */
export interface TextRange {
  readonly from?: number
  readonly to?: number
}

/** A part of the text of a file. */
export interface FileTextPart {
  readonly fileId: FileId
  readonly filename: string
  readonly from: number
  readonly to: number
  readonly text: string
  /** The length of the whole text, in UTF-16 code units. */
  readonly length: number
  /** True if the text is only the beginning of the file's. */
  readonly truncated: boolean
  /** The offset in the text at which each page starts; null for a file without pages. */
  readonly pages: ReadonlyArray<number> | null
}

/** The files and bytes that a user has stored, and may store. */
interface StorageUse {
  readonly used: { readonly files: number; readonly bytes: number }
  readonly permitted: { readonly files: number; readonly bytes: number }
}

/** The same offset, or the next one if the offset would cut a character in two. */
const wholeCharacter = (text: string, at: number): number => {
  const isCut = /[\uD800-\uDBFF]/.test(text.charAt(at - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(at))
  return isCut ? at + 1 : at
}

/** The bounds of a part within the text; empty if `from` is beyond its end. */
const boundsOf = (text: string, { from = 0, to = from + textPartCharactersDefault }: TextRange) => {
  const start = wholeCharacter(text, Math.min(from, text.length))
  const end = Math.min(to, start + textPartCharactersMax, text.length)
  return { from: start, to: wholeCharacter(text, Math.max(start, end)) }
}

/** Shows the files of a user without their bytes. Another user's file is treated as missing. */
export class FileTexts extends Context.Service<
  FileTexts,
  {
    /** A part of the text that was read from a file. */
    readonly part: (
      userId: UserId,
      id: FileId,
      range: TextRange
    ) => Effect.Effect<FileTextPart, FileNotFound | FileNotReady | FileUnreadable | DatabaseUnavailable>
    /**
     * The files and bytes of a user, and their bounds. A bound in the plan's `storage` replaces that of the
     * settings.
     */
    readonly storage: (userId: UserId, storage: PlanStorage) => Effect.Effect<StorageUse, DatabaseUnavailable>
  }
>()("parley/files/FileTexts") {
  static readonly layer: Layer.Layer<FileTexts, never, SqlClient.SqlClient | AppConfig> = Layer.effect(
    FileTexts,
    Effect.gen(function* () {
      const table = yield* makeFileTable
      const { files: settings } = yield* AppConfig
      const permits = new FairPermits({ totalMax: textsMax, perKeyMax: textsPerUserMax })
      const usual = { filesMax: settings.filesPerUserMax, bytesMax: settings.bytesPerUserMax }

      const part = Effect.fn("FileTexts.part")(function* (userId: UserId, id: FileId, range: TextRange) {
        const file = yield* orUnavailable(table.find(userId, id))
        if (file === undefined) return yield* new FileNotFound({ param: "file_id" })
        if (file.status === "uploaded") return yield* new FileNotReady({ param: "file_id" })
        const found = yield* orUnavailable(table.text(userId, id))
        if (found === undefined) {
          return yield* new FileUnreadable({ param: "file_id", reason: file.statusDetails ?? "" })
        }
        const { pages, text, truncated } = found
        const bounds = boundsOf(text, range)
        const shown = text.slice(bounds.from, bounds.to)
        return {
          fileId: id,
          filename: file.filename,
          ...bounds,
          text: shown,
          length: text.length,
          truncated,
          pages
        }
      })

      const storage = Effect.fn("FileTexts.storage")(function* (userId: UserId, storage: PlanStorage) {
        const { bytesMax, filesMax } = quotaOf(usual, storage)
        const used = yield* table.usage(userId)
        return { used, permitted: { files: filesMax, bytes: bytesMax } }
      }, orUnavailable)

      return FileTexts.of({
        part: (userId, id, range) => permits.withPermit(userId)(part(userId, id, range)),
        storage
      })
    })
  )
}
