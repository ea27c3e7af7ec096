import { type MouseEvent, memo, useMemo } from "react"
import type { IncompleteReason } from "../../../../../domain/Conversation.ts"
import { CutNote } from "../../../ui/CutNote.tsx"
import { Markdown } from "../markdown/Markdown.tsx"
import { type Piece, type Source, sourcesOf } from "./pieces.ts"
import { SearchLine, ToolLine } from "./ToolLine.tsx"

interface AnswerViewProps {
  readonly pieces: ReadonlyArray<Piece>
  readonly cut: IncompleteReason | null
  /** True if more is to come. */
  readonly isGrowing: boolean
  readonly onOpen: (source: Source) => void
}

/** The answer of the service. */
export const AnswerView = memo(({ cut, isGrowing, onOpen, pieces }: AnswerViewProps) => {
  const searched = pieces.filter(({ kind }) => kind === "search")
  const searches =
    searched.map(({ id }) => id).join() +
    searched.some((piece) => piece.kind === "search" && piece.sources === null)
  // oxlint-disable-next-line react/exhaustive-deps -- a search changes only until it has its sources
  const sources = useMemo(() => sourcesOf(pieces), [searches])
  const citable = useMemo(() => new Set(sources.keys()), [sources])
  const openCited = ({ target }: MouseEvent) => {
    const number = target instanceof HTMLElement ? target.dataset["citation"] : undefined
    const source = number === undefined ? undefined : sources.get(Number(number))
    if (source !== undefined) onOpen(source)
  }
  return (
    // The buttons of citations are in the text, which React doesn't make.
    // oxlint-disable-next-line jsx_a11y/click-events-have-key-events, jsx_a11y/no-static-element-interactions -- they are buttons
    <div className="space-y-3" onClick={openCited}>
      {pieces.map((piece, index) => {
        const isLast = index === pieces.length - 1
        switch (piece.kind) {
          case "text":
            return (
              <Markdown citable={citable} isGrowing={isGrowing && isLast} key={piece.id} text={piece.text} />
            )
          case "tool":
            return <ToolLine key={piece.id} piece={piece} />
          case "search":
            return <SearchLine key={piece.id} onOpen={onOpen} piece={piece} />
        }
      })}
      <CutNote cut={cut} />
    </div>
  )
})
