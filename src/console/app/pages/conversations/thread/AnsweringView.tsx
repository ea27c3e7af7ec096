import { Spinner } from "../../../ui/Spinner.tsx"
import { AnswerView } from "./AnswerView.tsx"
import type { Source } from "./pieces.ts"
import { QuestionView } from "./QuestionView.tsx"
import type { Answering } from "./useAnswering.ts"

const stateOf = ({ answer, isReconnecting }: Answering): string => {
  if (isReconnecting) return "The connection is lost. Trying again…"
  if (answer.isComplete) return `Answered by ${answer.model}.`
  return "Answering…"
}

interface AnsweringViewProps {
  readonly answering: Answering
  readonly onOpen: (source: Source) => void
}

/** A question, and its answer while it is written. */
export const AnsweringView = ({ answering, onOpen }: AnsweringViewProps) => {
  const { answer, question } = answering
  return (
    <article className="space-y-4">
      <QuestionView question={question} />
      <AnswerView cut={answer.cut} isGrowing={!answer.isComplete} onOpen={onOpen} pieces={answer.pieces} />
      {/* Screen readers hear the state, and read the text when it is complete. */}
      <p className="flex items-center gap-2 text-sm text-muted" role="status">
        {answer.isComplete ? null : <Spinner />}
        {stateOf(answering)}
      </p>
    </article>
  )
}
