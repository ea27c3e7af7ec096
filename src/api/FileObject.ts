import { DateTime, Schema } from "effect"
import { FileId } from "../domain/Ids.ts"
import type { StoredFile } from "../domain/StoredFile.ts"

/** The schemas of files, with the form that ids of files have in a profile. */
export const fileSchemas = <Id extends Schema.Codec<FileId, string>>(id: Id) => {
  /** A file as clients see it. Source: specification, File object; wire contract, section 5. */
  const FileObject = Schema.Struct({
    id,
    object: Schema.Literal("file"),
    bytes: Schema.Int,
    /** Unix epoch in seconds. */
    created_at: Schema.Int,
    /** Unix epoch in seconds; only with `expires_after`. */
    expires_at: Schema.optionalKey(Schema.Int),
    filename: Schema.String,
    purpose: Schema.String,
    /**
     * `uploaded` while the text is being read, `processed` once it is ready, `error` when it can't be read.
     */
    status: Schema.Literals(["uploaded", "processed", "error"]),
    /** Why the text can't be read; only with `error`. */
    status_details: Schema.optionalKey(Schema.String)
  }).annotate({ identifier: "FileObject", description: "What is known of a file." })

  /** One page of a list. The next page takes `last_id` as `after`. */
  const FileList = Schema.Struct({
    object: Schema.Literal("list"),
    data: Schema.Array(FileObject),
    has_more: Schema.Boolean,
    first_id: Schema.NullOr(id),
    last_id: Schema.NullOr(id)
  }).annotate({ identifier: "FileList", description: "A page of the caller's files." })

  const FileDeleted = Schema.Struct({
    id,
    object: Schema.Literal("file"),
    deleted: Schema.Literal(true)
  }).annotate({ identifier: "FileDeleted", description: "The file is gone for good." })

  return { FileObject, FileList, FileDeleted }
}

/** With plain ids, as in `/v1`. */
export const { FileDeleted, FileList, FileObject } = fileSchemas(FileId)
export type FileObject = typeof FileObject.Type
export type FileList = typeof FileList.Type

const epochSeconds = (time: DateTime.Utc): number => Math.floor(DateTime.toEpochMillis(time) / 1000)

export const fileObject = (file: StoredFile): FileObject => ({
  id: file.id,
  object: "file",
  bytes: file.bytes,
  created_at: epochSeconds(file.createdAt),
  ...(file.expiresAt === null ? {} : { expires_at: epochSeconds(file.expiresAt) }),
  filename: file.filename,
  purpose: file.purpose,
  status: file.status,
  ...(file.statusDetails === null ? {} : { status_details: file.statusDetails })
})

export const fileList = (files: ReadonlyArray<StoredFile>, hasMore: boolean): FileList => ({
  object: "list",
  data: files.map(fileObject),
  has_more: hasMore,
  first_id: files[0]?.id ?? null,
  last_id: files.at(-1)?.id ?? null
})
