import { Effect } from "effect"
import { FileNotFound, FileNotReady, FileUnreadable } from "../domain/Errors.ts"
import type { FileId, UserId } from "../domain/Ids.ts"
import { FileStore } from "../files/FileStore.ts"
import { type PromptFile, promptFile, type PromptFiles } from "./FileParts.ts"

/** Texts that are fetched at the same time. */
const fetchesMax = 4

/** Where a request refers to a file. */
export interface FileReference {
  readonly id: FileId
  readonly param: string
}

const gone: PromptFile = { filename: "", text: null, isPart: false, tokens: 0 }

/** The texts of the files that a prompt needs. */
export const makeAttachedFiles = Effect.gen(function* () {
  const store = yield* FileStore

  const load = Effect.fnUntraced(function* (userId: UserId, id: FileId) {
    const { file, text, truncated } = yield* store.text(userId, id)
    return promptFile(file.filename, text, truncated)
  })

  /** The files that a request names: each must be there, be the user's, and be readable. */
  const named = Effect.fnUntraced(function* (userId: UserId, references: ReadonlyArray<FileReference>) {
    const first = new Map(references.toReversed().map((reference) => [reference.id, reference]))
    const loaded = yield* Effect.forEach(
      first.values(),
      ({ id, param }) =>
        load(userId, id).pipe(
          Effect.catchTags({
            FileNotFound: () => Effect.fail(new FileNotFound({ param })),
            FileNotReady: () => Effect.fail(new FileNotReady({ param })),
            FileUnreadable: ({ reason }) => Effect.fail(new FileUnreadable({ param, reason }))
          }),
          Effect.map((file) => [id, file] as const)
        ),
      { concurrency: fetchesMax }
    )
    return new Map(loaded) satisfies PromptFiles
  })

  /** The files of earlier items: one that was deleted meanwhile is shown as gone. */
  const remembered = Effect.fnUntraced(function* (userId: UserId, ids: ReadonlyArray<FileId>) {
    const loaded = yield* Effect.forEach(
      ids,
      (id) =>
        load(userId, id).pipe(
          Effect.catchTag(["FileNotFound", "FileNotReady", "FileUnreadable"], () => Effect.succeed(gone)),
          Effect.map((file) => [id, file] as const)
        ),
      { concurrency: fetchesMax }
    )
    return new Map(loaded) satisfies PromptFiles
  })

  return { named, remembered }
})
