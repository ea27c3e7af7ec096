import type { UnansweredQuestion } from "../../../../../api/ConversationObject.ts"
import { Alert } from "../../../ui/Alert.tsx"
import { Button } from "../../../ui/Button.tsx"
import { useReason } from "./attachmentNames.ts"
import { questionOfInput } from "./question.ts"
import { QuestionView } from "./QuestionView.tsx"

interface UnansweredViewProps {
  readonly unanswered: UnansweredQuestion
  /** True if its answer is to take the place of the last turn. */
  readonly replacesLast: boolean
  readonly onAgain: () => void
  readonly onEdit: () => void
  readonly onDiscard: () => void
}

const stopped = "response_cancelled"

const reasons: Readonly<Record<string, string>> = {
  [stopped]: "You stopped the answer. The model doesn't know of this question.",
  daily_token_limit_exceeded:
    "Your tokens of today are used up. Below stands when they are reset: then send it again.",
  monthly_token_limit_exceeded:
    "Your tokens of this month are used up. Below stands when they are reset: then send it again."
}

/** Refusals of a question for its files: to be sent again, it may have to do without one. */
const refusals = /^(file_|image_|invalid_)/

const Reason = ({ question }: { readonly question: UnansweredQuestion }) => {
  const reason = useReason(question)
  const code = question.code ?? ""
  const isOfFiles = refusals.test(code) && questionOfInput(question.input).attachments.length > 0
  return (
    <p>
      {reasons[code] ?? reason ?? "The answer failed. Ask again."}
      {isOfFiles ? " Edit the message to take a file off." : null}
    </p>
  )
}

/** A question whose answer was stopped or failed: for the model it was never asked. */
export const UnansweredView = ({
  onAgain,
  onDiscard,
  onEdit,
  replacesLast,
  unanswered
}: UnansweredViewProps) => (
  <article className="space-y-4">
    <QuestionView question={questionOfInput(unanswered.input)} />
    <Alert tone={unanswered.code === stopped ? "neutral" : "danger"}>
      <Reason question={unanswered} />
      {replacesLast ? (
        <p className="mt-1">
          Your last message and its answer stay as they are above. They are replaced once this one is
          answered.
        </p>
      ) : null}
      <div className="mt-3 flex flex-wrap gap-2">
        <Button kind="primary" onClick={onAgain}>
          Send again
        </Button>
        <Button onClick={onEdit}>Edit</Button>
        <Button kind="quiet" onClick={onDiscard}>
          Discard
        </Button>
      </div>
    </Alert>
  </article>
)
