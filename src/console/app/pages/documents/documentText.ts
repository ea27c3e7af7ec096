import { infiniteQueryOptions } from "@tanstack/react-query"
import type { FileTextObject } from "../../../../api/ProjectObject.ts"
import type { FileId, ProjectId } from "../../../../domain/Ids.ts"
import { asking } from "../../client/ask.ts"

/** A document that is to be shown, perhaps at a passage; offsets are in UTF-16 code units of its text. */
export interface ShownDocument {
  readonly fileId: FileId
  readonly filename: string
  /** The project that has the file; null for a file of the user. */
  readonly projectId: ProjectId | null
  readonly passage?: { readonly start: number; readonly end: number }
  /** The place of the passage, such as "page 3". */
  readonly place?: string
}

/** UTF-16 units that are read at once, and those before a passage. */
const partUnits = 20_000
const beforeUnits = 2_000

interface Range {
  readonly from: number
  readonly to: number
}

const firstRange = ({ passage }: ShownDocument): Range => {
  const from = Math.max(0, (passage?.start ?? 0) - beforeUnits)
  return { from, to: Math.max(passage?.end ?? 0, from) + partUnits }
}

/** The text that was read from the file: what models see. It is read part by part, in both directions. */
export const textQuery = (document: ShownDocument) => {
  const { fileId: file_id, projectId } = document
  return infiniteQueryOptions({
    queryKey: ["document", projectId, file_id, document.passage ?? null],
    queryFn: ({ pageParam, signal }): Promise<FileTextObject> =>
      asking((client) =>
        projectId === null
          ? client.ownFiles.text({ params: { file_id }, query: pageParam })
          : client.ownProjects.text({ params: { project_id: projectId, file_id }, query: pageParam })
      )({ signal }),
    initialPageParam: firstRange(document),
    getNextPageParam: ({ length, to }: FileTextObject): Range | null =>
      to < length ? { from: to, to: to + partUnits } : null,
    getPreviousPageParam: ({ from }: FileTextObject): Range | null =>
      from > 0 ? { from: Math.max(0, from - partUnits), to: from } : null
  })
}

/** A piece of one page of a text. */
export interface TextPiece {
  readonly text: string
  readonly isMarked: boolean
}

export interface TextPage {
  /** Counted from one; null for a text without pages. */
  readonly page: number | null
  readonly pieces: ReadonlyArray<TextPiece>
}

/** The text between two offsets in pieces, cut where the passage begins and ends. */
const piecesOf = (text: string, at: number, passage: ShownDocument["passage"]): ReadonlyArray<TextPiece> => {
  const start = Math.max(0, (passage?.start ?? 0) - at)
  const end = Math.max(start, (passage?.end ?? 0) - at)
  return [
    { text: text.slice(0, start), isMarked: false },
    { text: text.slice(start, end), isMarked: true },
    { text: text.slice(end), isMarked: false }
  ].filter(({ text }) => text !== "")
}

/** Parts of a text, in their order and without a gap, by the pages of the document. */
export const pagesOf = (
  parts: ReadonlyArray<Pick<FileTextObject, "from" | "text" | "pages">>,
  passage: ShownDocument["passage"]
): ReadonlyArray<TextPage> => {
  const from = parts[0]?.from ?? 0
  const text = parts.map((part) => part.text).join("")
  const pages = parts[0]?.pages ?? null
  if (pages === null) return [{ page: null, pieces: piecesOf(text, from, passage) }]
  return pages.flatMap((start, index) => {
    const first = Math.max(0, start - from)
    const own = text.slice(first, Math.max(first, (pages[index + 1] ?? Infinity) - from))
    return own === "" ? [] : [{ page: index + 1, pieces: piecesOf(own, from + first, passage) }]
  })
}
