import type { ProjectSearchResults } from "../../../../api/ProjectObject.ts"
import { Badge } from "../../ui/Badge.tsx"
import { Button } from "../../ui/Button.tsx"
import { formatScore } from "./formatScore.ts"
import { markedPieces } from "./markedPieces.ts"

interface SearchHitProps {
  readonly hit: ProjectSearchResults["data"][number]
  readonly terms: ProjectSearchResults["terms"]
  readonly number: number
  readonly place: string
  readonly onOpen: () => void
}

/** Words of a passage that are named, the weightiest first. */
const wordsShown = 8

/** A passage that was found, the words by which it was found, and what each adds to its score. */
export const SearchHit = ({ hit, number, onOpen, place, terms }: SearchHitProps) => (
  <li className="space-y-2 rounded-xl border border-line bg-surface p-4">
    <div className="flex flex-wrap items-start justify-between gap-3">
      <div className="min-w-0">
        <p className="font-medium wrap-break-word">
          {number}. {hit.filename}
        </p>
        {place === "" ? null : <p className="text-sm wrap-break-word text-muted">{place}</p>}
      </div>
      <Button onClick={onOpen}>
        Open<span className="sr-only"> {hit.filename} at this passage</span>
      </Button>
    </div>
    <p className="line-clamp-6 text-sm wrap-break-word whitespace-pre-wrap">
      {markedPieces(hit.text, terms).map(({ isMarked, start, text }) =>
        isMarked ? (
          <mark className="rounded bg-accent-soft text-ink" key={start}>
            {text}
          </mark>
        ) : (
          text
        )
      )}
    </p>
    <p className="flex flex-wrap items-center gap-2 text-sm text-muted">
      Score {formatScore(hit.score)}:{hit.words.length === 0 ? " found by its meaning" : null}
      {hit.words.slice(0, wordsShown).map(({ score, word }) => (
        <Badge key={word}>
          {word} {formatScore(score)}
        </Badge>
      ))}
    </p>
  </li>
)
