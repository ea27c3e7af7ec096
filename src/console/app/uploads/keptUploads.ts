import { Schema } from "effect"
import { FileObject } from "../../../api/FileObject.ts"
import { tabStorage } from "../client/tabStorage.ts"

/** The state of an upload after its page was left or loaded again. */
export interface KeptUpload {
  readonly isDone: boolean
  /** Why it failed, and what to do; null otherwise. */
  readonly problem: string | null
  /** True if trying again may help. */
  readonly canRetry: boolean
  readonly name: string
  readonly bytes: number
  readonly isImage: boolean
  /** Once it has been sent. */
  readonly file: FileObject | null
}

const kept = tabStorage(
  "parley-uploads-",
  Schema.Array(
    Schema.Struct({
      name: Schema.String,
      bytes: Schema.Finite,
      isImage: Schema.Boolean,
      isDone: Schema.Boolean,
      problem: Schema.NullOr(Schema.String),
      canRetry: Schema.Boolean,
      file: Schema.NullOr(FileObject)
    })
  )
)

/** Reads the uploads of a list that were kept. */
export const keptUploads = (list: string): ReadonlyArray<KeptUpload> => kept.read(list) ?? []

export const keepUploads = (list: string, uploads: ReadonlyArray<KeptUpload>): void => {
  if (uploads.length === 0) return kept.drop(list)
  kept.keep(
    list,
    uploads.map(({ bytes, canRetry, file, isDone, isImage, name, problem }) => ({
      name,
      bytes,
      isImage,
      isDone,
      problem,
      canRetry,
      file
    }))
  )
}
