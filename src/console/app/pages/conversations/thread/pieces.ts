import type { AnswerEvent } from "../../../../../api/ResponseEvent.ts"
import type { ShownOutputItem } from "../../../../../api/ShownItem.ts"
import type { IncompleteReason } from "../../../../../domain/Conversation.ts"
import type { ResponseId } from "../../../../../domain/Ids.ts"

/** The parts of an answer, in its order. */
export type Piece =
  | { readonly kind: "text"; readonly id: string; readonly text: string }
  | {
      readonly kind: "tool"
      readonly id: string
      readonly name: string
      /** JSON as text; empty until the call is complete. */
      readonly arguments: string
      /** Null while the tool runs. */
      readonly result: string | null
      readonly hasFailed: boolean
    }
  | {
      readonly kind: "search"
      readonly id: string
      readonly queries: ReadonlyArray<string>
      /** Null while the search runs. */
      readonly sources: ReadonlyArray<Source> | null
    }

/** A passage that a search of a project's files found. */
export interface Source {
  /** Answers cite it by this number. */
  readonly number: number
  readonly fileId: string
  readonly filename: string
  readonly page: number | null
  readonly section: string | null
  /** UTF-16 offsets of the passage in the text of the file; null where they aren't known. */
  readonly start: number | null
  readonly end: number | null
  /** Empty in stored conversations. */
  readonly text: string
}

const numberOr = <Other>(value: unknown, other: Other): number | Other =>
  typeof value === "number" ? value : other

type OutputItem = typeof ShownOutputItem.Type

type FoundResults = NonNullable<Extract<OutputItem, { readonly type: "file_search_call" }>["results"]>

const sourceOf = (result: FoundResults[number], index: number): Source => {
  const { end, number, page, section, start } = result.attributes
  return {
    number: numberOr(number, index + 1),
    fileId: result.file_id,
    filename: result.filename,
    page: numberOr(page, null),
    section: typeof section === "string" ? section : null,
    start: numberOr(start, null),
    end: numberOr(end, null),
    text: result.text
  }
}

/** Null for what the page doesn't show: what the model thought. */
export const pieceOf = (item: OutputItem): Piece | null => {
  switch (item.type) {
    case "message":
      return { kind: "text", id: item.id, text: item.content.map(({ text }) => text).join("") }
    case "mcp_call":
      return {
        kind: "tool",
        id: item.id,
        name: item.name,
        arguments: item.arguments,
        result: item.error ?? item.output,
        hasFailed: item.error !== null
      }
    case "file_search_call":
      return {
        kind: "search",
        id: item.id,
        queries: item.queries,
        sources: item.results === null ? null : item.results.map(sourceOf)
      }
    case "function_call":
      return {
        kind: "tool",
        id: item.id,
        name: item.name,
        arguments: item.arguments,
        result: "",
        hasFailed: false
      }
    case "reasoning":
      return null
  }
}

const isPiece = (piece: Piece | null): piece is Piece => piece !== null

export const piecesOf = (items: ReadonlyArray<OutputItem>): ReadonlyArray<Piece> =>
  items.map(pieceOf).filter(isPiece)

/** The passages that the answer may cite, by number. */
export const sourcesOf = (pieces: ReadonlyArray<Piece>): ReadonlyMap<number, Source> =>
  new Map(
    pieces.flatMap((piece) =>
      piece.kind === "search" ? (piece.sources ?? []).map((source) => [source.number, source] as const) : []
    )
  )

/** The whole text of an answer, as it is copied. */
export const textOf = (pieces: ReadonlyArray<Piece>): string =>
  pieces.flatMap((piece) => (piece.kind === "text" ? [piece.text] : [])).join("\n\n")

/** An answer, as far as it has arrived. */
export interface Answer {
  /** Null until the service has named it. */
  readonly id: ResponseId | null
  /** Empty until the service has chosen it. */
  readonly model: string
  readonly pieces: ReadonlyArray<Piece>
  readonly isComplete: boolean
  readonly cut: IncompleteReason | null
  /** Why it failed after it had begun. */
  readonly failure: { readonly code: string; readonly message: string } | null
}

export const noAnswer: Answer = {
  id: null,
  model: "",
  pieces: [],
  isComplete: false,
  cut: null,
  failure: null
}

/** With the piece in the place of the one of its id, or at the end. */
const withPiece = (pieces: ReadonlyArray<Piece>, piece: Piece | null): ReadonlyArray<Piece> => {
  if (piece === null) return pieces
  const index = pieces.findIndex(({ id }) => id === piece.id)
  return index < 0 ? [...pieces, piece] : pieces.with(index, piece)
}

const withText = (pieces: ReadonlyArray<Piece>, id: string, delta: string): ReadonlyArray<Piece> => {
  const index = pieces.findLastIndex((piece) => piece.id === id)
  const piece = pieces[index]
  return piece?.kind === "text" ? pieces.with(index, { ...piece, text: piece.text + delta }) : pieces
}

/** The answer after one more event of its stream. */
export const answerAfter = (answer: Answer, event: AnswerEvent): Answer => {
  switch (event.type) {
    case "response.created":
      return { ...noAnswer, id: event.response.id, model: event.response.model }
    case "response.output_item.added":
    case "response.output_item.done":
      return { ...answer, pieces: withPiece(answer.pieces, pieceOf(event.item)) }
    case "response.output_text.delta":
      return { ...answer, pieces: withText(answer.pieces, event.item_id, event.delta) }
    case "response.completed": {
      const { id, incomplete_details: details, model, output } = event.response
      return {
        id,
        model,
        pieces: piecesOf(output),
        isComplete: true,
        cut: details?.reason ?? null,
        failure: null
      }
    }
    case "error":
      return { ...answer, failure: { code: event.code, message: event.message } }
    default:
      return answer
  }
}
