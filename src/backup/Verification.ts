import { stat } from "node:fs/promises"
import { Effect, Stream } from "effect"
import { failureReason } from "../runtime/failureReason.ts"
import { rowsIn } from "../sql/TableCopy.ts"
import { BackupFailed, contentOf, type Header, type Manifest } from "./ArchiveFormat.ts"
import { readArchive, type ReadMember } from "./ArchiveReader.ts"
import type { BackupKeys } from "./Encryption.ts"
import type { Progress } from "./Progress.ts"

/** The contents of a backup, once every byte of it was compared with its sums. */
export interface VerifiedBackup {
  readonly header: Header
  readonly manifest: Manifest
}

interface Count {
  rows: number
  bytes: number
}

/** The length of the file of a backup. */
export const lengthOf = (path: string) =>
  Effect.tryPromise({
    try: async () => (await stat(path)).size,
    catch: (error) =>
      new BackupFailed({
        message:
          (error as NodeJS.ErrnoException).code === "ENOENT"
            ? `${path} does not exist.`
            : `${path} can't be read: ${failureReason(error)}.`
      })
  })

const readAll = Effect.fnUntraced(function* (
  path: string,
  keys: BackupKeys,
  advance: (bytes: number) => Effect.Effect<void>
) {
  const tables = new Map<string, Count>()
  const files = { count: 0, bytes: 0 }
  const visit = ({ body, bytes, name }: ReadMember) => {
    const content = contentOf(name)
    const table = content !== null && "table" in content ? content.table : null
    const count = table === null ? null : (tables.get(table) ?? { rows: 0, bytes: 0 })
    if (table === null || count === null) {
      files.count++
      files.bytes += bytes
    } else tables.set(table, count)
    return Stream.runForEach(body, (piece) =>
      Effect.sync(() => {
        if (count === null) return
        count.rows += rowsIn(piece)
        count.bytes += piece.length
      })
    )
  }
  const verified: VerifiedBackup = yield* readArchive(path, keys, visit, advance)
  const { manifest } = verified
  const wrong = manifest.tables.find(({ bytes, name, rows }) => {
    const found = tables.get(name) ?? { rows: 0, bytes: 0 }
    return found.rows !== rows || found.bytes !== bytes
  })
  const areFilesWrong = manifest.files.count !== files.count || manifest.files.bytes !== files.bytes
  if (wrong === undefined && !areFilesWrong && tables.size <= manifest.tables.length) return verified
  return yield* new BackupFailed({
    message: `${path} is damaged: it holds other ${wrong === undefined ? "files" : `rows of ${wrong.name}`} than it says. Take another backup, or another copy of this one.`
  })
})

/** Reads a whole backup, and compares sums, rows and bytes with its own description. */
export const verifyBackup = Effect.fn("Backup.verify")(function* (
  path: string,
  keys: BackupKeys,
  progress: Progress
) {
  const total = yield* lengthOf(path)
  const work = { title: `Verifying ${path}`, total, unit: "byte", done: "It is whole." } as const
  return yield* progress(work, (advance) => readAll(path, keys, advance))
})
