import { Alert } from "../../ui/Alert.tsx"
import type { Answer } from "./answer.ts"

const cuts = {
  max_output_tokens: "The answer was cut off at the longest that the model may write.",
  content_filter: "The model's provider cut the answer off.",
  token_limit: "The answer was cut off because your token limit is reached. Usage shows when it resets."
}

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
      {answer.cut === null ? null : <Alert tone="warning">{cuts[answer.cut]}</Alert>}
      {answer.failure === null ? null : <Alert tone="danger">{answer.failure}</Alert>}
    </div>
  )
}
