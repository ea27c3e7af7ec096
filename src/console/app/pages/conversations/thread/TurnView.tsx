import { Code, Pencil, RefreshCw } from "lucide-react"
import { memo, useMemo } from "react"
import type { ConversationTurn } from "../../../../../api/ConversationObject.ts"
import { Button } from "../../../ui/Button.tsx"
import { CopyButton } from "../../../ui/CopyButton.tsx"
import { AnswerView } from "./AnswerView.tsx"
import { piecesOf, type Source, textOf } from "./pieces.ts"
import { type Question, questionOfTurn } from "./question.ts"
import { QuestionView } from "./QuestionView.tsx"

interface TurnViewProps {
  readonly turn: ConversationTurn
  /** Only the last turn can be asked again. */
  readonly isLast: boolean
  readonly onOpen: (source: Source) => void
  readonly onRetry: (turn: ConversationTurn) => void
  readonly onEdit: (turn: ConversationTurn) => void
  readonly onRequest: (question: Question) => void
}

/** A question and its answer. */
export const TurnView = memo(({ isLast, onEdit, onOpen, onRequest, onRetry, turn }: TurnViewProps) => {
  const question = useMemo(() => questionOfTurn(turn), [turn])
  const pieces = useMemo(() => piecesOf(turn.output), [turn])
  return (
    <article className="turn space-y-4">
      <QuestionView question={question} />
      <AnswerView
        cut={turn.incomplete_details?.reason ?? null}
        isGrowing={false}
        onOpen={onOpen}
        pieces={pieces}
      />
      <div className="flex flex-wrap items-center gap-1 text-muted">
        <CopyButton isQuiet text={textOf(pieces)} what="answer" />
        {isLast ? (
          <>
            <Button kind="quiet" onClick={() => onRetry(turn)}>
              <RefreshCw aria-hidden="true" className="size-4" />
              Retry
            </Button>
            <Button kind="quiet" onClick={() => onEdit(turn)}>
              <Pencil aria-hidden="true" className="size-4" />
              Edit
            </Button>
          </>
        ) : null}
        <Button kind="quiet" onClick={() => onRequest(question)}>
          <Code aria-hidden="true" className="size-4" />
          View as API request
        </Button>
        {turn.model === "" ? null : <span className="px-2 text-sm">{turn.model}</span>}
      </div>
    </article>
  )
})
