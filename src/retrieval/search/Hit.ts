import type { FileAttributes } from "../../domain/FileAttributes.ts"
import type { FileId } from "../../domain/Ids.ts"
import type { Joined } from "./Ranking.ts"
import type { Passage } from "./SearchTable.ts"

/** A passage of a file that answers a query. Offsets are in UTF-16 code units of the file's text. */
export interface Hit {
  readonly fileId: FileId
  readonly filename: string
  readonly start: number
  readonly end: number
  /** Counted from one; null for a file without pages. */
  readonly page: number | null
  /** The headings above the passage, outermost first. */
  readonly headings: ReadonlyArray<string>
  /**
   * The first row of the table that the passage is from, unless the passage begins with it; null outside of
   * tables.
   */
  readonly tableHeader: string | null
  /** The file's text from `start` to `end`, unchanged. */
  readonly text: string
  readonly score: number
  /** Attributes of the file, if the search asks for them. */
  readonly attributes?: FileAttributes
}

/** A passage from its parts, whose texts may stand in several rows. */
export const hitOf = ({ parts, score }: Joined, passages: ReadonlyArray<Passage>): Hit => {
  const [{ fileId, filename, headings, page, start, tableHeader }] = parts
  let text = ""
  for (const part of parts) {
    const passage = passages.find(({ base }) => base === part.base)
    const from = start + text.length
    if (passage !== undefined)
      text += passage.text.slice(from - passage.textStart, part.end - passage.textStart)
  }
  return { fileId, filename, start, end: start + text.length, page, headings, tableHeader, text, score }
}
