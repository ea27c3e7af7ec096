import { Schema } from "effect"
import { CopiedSequence, CopiedTable } from "../sql/TableCopy.ts"

/**
 * A backup is a tar archive, compressed by Zstandard, and encrypted as age does it where the settings say so.
 * Its members, in this order: the header; `tables/NAME/000001` and so on, the rows of a table as COPY's text,
 * in pieces; `files/ID`, the bytes of a file; after each thousand members and at the end `sums/000001`, their
 * sums as `sha256sum` writes them; the manifest.
 */
export const formatVersion = 1

export const headerName = "parley-backup.json"
export const manifestName = "manifest.json"

const digits = 6
const numbered = (number: number): string => String(number).padStart(digits, "0")

export const tableMember = (table: string, piece: number): string => `tables/${table}/${numbered(piece)}`
export const fileMember = (id: string): string => `files/${id}`
export const sumsMember = (number: number): string => `sums/${numbered(number)}`

/** The content of a member; null for a name that no archive has. */
export const contentOf = (
  name: string
): { readonly table: string } | { readonly file: string } | { readonly sums: true } | null => {
  const [, table] = /^tables\/(.+)\/\d{6,}$/.exec(name) ?? []
  if (table !== undefined) return { table }
  const [, file] = /^files\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(name) ?? []
  if (file !== undefined) return { file }
  return /^sums\/\d{6,}$/.test(name) ? { sums: true } : null
}

/** One line of a member of sums. */
export const sumLine = (sha256: string, name: string): string => `${sha256}  ${name}\n`

/** Members between two members of sums. */
export const membersPerSums = 1_000

/** Bytes of a header, a manifest or a member of sums; a longer one is none. */
export const textBytesMax = 4 * 1024 * 1024

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const Header = Schema.Struct({
  /** The version of this format. */
  format: Schema.Int,
  createdAt: Schema.DateTimeUtcFromString,
  /** The version of the program that wrote it. */
  version: Schema.String,
  /** The commit of that program. Older ones do not write it. */
  build: Schema.optionalKey(Schema.String),
  /** The number of the newest migration of the database. */
  schema: Schema.Int,
  databaseId: Schema.NullOr(Schema.String),
  postgres: Schema.String,
  tables: Schema.Array(CopiedTable)
})
export type Header = typeof Header.Type

export const Manifest = Schema.Struct({
  tables: Schema.Array(Schema.Struct({ name: Schema.String, rows: Count, bytes: Count })),
  sequences: Schema.Array(CopiedSequence),
  files: Schema.Struct({
    count: Count,
    bytes: Count,
    /** Files whose bytes the store did not have. */
    missing: Schema.Array(Schema.String),
    /** Files whose bytes were not those that were uploaded. */
    damaged: Schema.Array(Schema.String)
  }),
  /** The number of all members but those of sums and this one. */
  members: Count,
  /** The SHA-256 of all members of sums, one after the other. */
  sums: Schema.String
})
export type Manifest = typeof Manifest.Type

/**
 * A backup could not be created, read or restored. `message` is for the operator, states the remedy, and
 * holds no secret.
 */
export class BackupFailed extends Schema.TaggedError<BackupFailed>()("BackupFailed", {
  message: Schema.String
}) {}
