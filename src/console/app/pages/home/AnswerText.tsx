import { Alert } from "../../ui/Alert.tsx"
import { CutNote } from "../../ui/CutNote.tsx"
import type { Answer } from "./answer.ts"

const stateOf = ({ isComplete, model, tool }: Answer, isPending: boolean, isStopped: boolean): string => {
  if (isPending) return tool === null ? "Answering…" : `Using ${tool}…`
  if (isStopped) return "Stopped."
  return isComplete ? `Answered by ${model}.` : ""
}

interface AnswerTextProps {
  readonly answer: Answer
  readonly isPending: boolean
  readonly isStopped: boolean
}

/** The answer as plain text, which a model can't turn into anything else. */
export const AnswerText = ({ answer, isPending, isStopped }: AnswerTextProps) => {
  const state = stateOf(answer, isPending, isStopped)
  return (
    <div className="space-y-4 not-has-[>:only-child:empty]:mt-5">
      {answer.text === "" ? null : (
        <div
          aria-busy={isPending}
          aria-label="Answer"
          className="rounded-lg bg-sunken p-4 whitespace-pre-wrap"
          role="region"
        >
          {answer.text}
        </div>
      )}
      {/* Screen readers hear the state, and read the text when it is complete. */}
      <p className="text-sm text-muted" role="status">
        {state}
      </p>
      <CutNote cut={answer.cut} />
      {answer.failure === null ? null : <Alert tone="danger">{answer.failure}</Alert>}
    </div>
  )
}
