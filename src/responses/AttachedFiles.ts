import { Effect } from "effect"
import { FileNotFound, FileNotReady, FileUnreadable } from "../domain/Errors.ts"
import type { FileId, UserId } from "../domain/Ids.ts"
import { estimateTokens } from "../domain/Tokens.ts"
import { FileStore, type TextSummary } from "../files/FileStore.ts"
import { charactersPerToken, type PromptFile, type PromptFiles, sharesInOrder } from "./FileParts.ts"
import { filesOf } from "./PromptMessages.ts"
import type { GivenItem } from "./ReferencedItems.ts"

/** Where a request refers to a file. */
export interface FileReference {
  readonly id: FileId
  readonly param: string
}

/** Files that can be read, of which nothing has been read yet. */
export type UnreadFiles = ReadonlyMap<FileId, TextSummary>

const problemOf = (summary: TextSummary | undefined, param: string) => {
  if (summary === undefined) return new FileNotFound({ param })
  if (summary.status === "uploaded") return new FileNotReady({ param })
  if (summary.status === "error") return new FileUnreadable({ param, reason: summary.statusDetails ?? "" })
  return summary.textBytes === null ? new FileNotFound({ param }) : null
}

/** A file of whose text nothing is shown. */
const unread = ({ filename, textBytes, truncated }: TextSummary): PromptFile => ({
  filename,
  text: "",
  isWhole: textBytes === 0,
  isPart: truncated === true,
  characters: textBytes ?? 0,
  tokens: 0
})

export const unreadFiles = (files: UnreadFiles): PromptFiles =>
  new Map([...files].map(([id, summary]) => [id, unread(summary)]))

const withText = (summary: TextSummary, text: string, bytes: number): PromptFile => {
  const textBytes = summary.textBytes ?? 0
  const isWhole = bytes >= textBytes
  return {
    ...unread(summary),
    text,
    isWhole,
    characters: isWhole ? text.length : Math.round((textBytes * text.length) / Math.max(1, bytes)),
    tokens: estimateTokens(text)
  }
}

/** The files that a prompt needs. */
export const makeAttachedFiles = Effect.gen(function* () {
  const store = yield* FileStore

  const summariesOf = (userId: UserId, ids: ReadonlyArray<FileId>) =>
    Effect.map(store.summaries(userId, ids), (found) => new Map(found.map((one) => [one.id, one])))

  /**
   * The files of a request. Those that it names itself must be there, be the user's, and be readable; those that come by a
   * reference to an earlier item are found as far as they still are.
   */
  const find = Effect.fnUntraced(function* (
    userId: UserId,
    named: ReadonlyArray<FileReference>,
    given: ReadonlyArray<GivenItem>
  ) {
    const found = yield* summariesOf(userId, filesOf(given.map(({ item }) => item)))
    for (const { id, param } of named) {
      const problem = problemOf(found.get(id), param)
      if (problem !== null) return yield* problem
    }
    return readable(found)
  })

  /** The texts of files, of each as much as may be needed where the groups share `tokensMax` in their order. */
  const readGroups = Effect.fnUntraced(function* (
    userId: UserId,
    groups: ReadonlyArray<ReadonlyArray<TextSummary>>,
    tokensMax: number
  ) {
    const all = groups.flat()
    // A text has no more characters than bytes, so that what is read of all of them together is bounded.
    const shares = sharesInOrder(
      groups.map((files) => files.map(({ textBytes }) => textBytes ?? 0)),
      tokensMax * charactersPerToken
    ).flat()
    const wanted = all.map(({ id }, index) => ({ id, charactersMax: shares[index] ?? 0 }))
    const beginnings = yield* store.beginnings(
      userId,
      wanted.filter(({ charactersMax }) => charactersMax > 0)
    )
    const texts = new Map(beginnings.map((one) => [one.id, one]))
    return new Map(
      all.map((summary) => {
        const { bytes, text } = texts.get(summary.id) ?? { bytes: 0, text: "" }
        return [summary.id, withText(summary, text, bytes)]
      })
    ) satisfies PromptFiles
  })

  /** The texts of the turn's files, of each as much as may be needed where all of them share `tokensMax` fairly. */
  const read = (userId: UserId, files: UnreadFiles, tokensMax: number) =>
    readGroups(userId, [[...files.values()]], tokensMax)

  /** The files of earlier turns, the newest turn first, as far as they still are, where they have `tokensMax` together. */
  const remembered = Effect.fnUntraced(function* (
    userId: UserId,
    groups: ReadonlyArray<ReadonlyArray<FileId>>,
    tokensMax: number
  ) {
    const files = readable(yield* summariesOf(userId, groups.flat()))
    const found = groups.map((ids) => ids.flatMap((id) => files.get(id) ?? []))
    return yield* readGroups(userId, found, tokensMax)
  })

  return { find, read, remembered }
})

const readable = (found: UnreadFiles): UnreadFiles =>
  new Map([...found].filter(([, summary]) => problemOf(summary, "") === null))
