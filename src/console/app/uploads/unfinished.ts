import { Option, Schema } from "effect"
import { FileObject } from "../../../api/FileObject.ts"

/** What can be said of an upload after its page was left or loaded again. */
export interface Unfinished {
  readonly name: string
  readonly bytes: number
  readonly isImage: boolean
  /** Once it has been sent. */
  readonly file: FileObject | null
}

const decode = Schema.decodeUnknownOption(
  Schema.fromJsonString(
    Schema.Array(
      Schema.Struct({
        name: Schema.String,
        bytes: Schema.Finite,
        isImage: Schema.Boolean,
        file: Schema.NullOr(FileObject)
      })
    )
  )
)

const keyOf = (list: string): string => `parley-uploads-${list}`

/** Of a list, those that were not done. */
export const unfinished = (list: string): ReadonlyArray<Unfinished> =>
  Option.getOrElse(decode(sessionStorage.getItem(keyOf(list)) ?? ""), () => [])

export const keepUnfinished = (list: string, uploads: ReadonlyArray<Unfinished>): void => {
  if (uploads.length === 0) return sessionStorage.removeItem(keyOf(list))
  const kept = uploads.map(({ bytes, file, isImage, name }) => ({ name, bytes, isImage, file }))
  sessionStorage.setItem(keyOf(list), JSON.stringify(kept))
}
