import { Button } from "../../ui/Button.tsx"
import { Card } from "../../ui/Card.tsx"
import { ErrorState } from "../../ui/ErrorState.tsx"
import { Form, FormActions } from "../../ui/Form.tsx"
import { TextArea } from "../../ui/TextArea.tsx"
import { AnswerText } from "./AnswerText.tsx"
import { useAnswer } from "./useAnswer.ts"

const firstQuestion = "Hello! What are you, and what can you do?"
const questionCharactersMax = 20_000

interface Values extends Record<string, unknown> {
  readonly question: string
}

/** A question that is there already, so that one click shows an answer. */
export const AskCard = () => {
  const { answer, ask, failure, isPending, isStopped, stop } = useAnswer()
  return (
    <Card
      description="The answer appears while it is written. Nothing of it is stored."
      title="Ask a question"
    >
      <Form<Values> onSubmit={({ question }) => ask(question)}>
        <TextArea
          defaultValue={firstQuestion}
          label="Question"
          maxLength={questionCharactersMax}
          name="question"
          required
        />
        <FormActions>
          <Button isPending={isPending} kind="primary" type="submit">
            Ask
          </Button>
          {isPending ? <Button onClick={stop}>Stop</Button> : null}
        </FormActions>
      </Form>
      <AnswerText answer={answer} isPending={isPending} isStopped={isStopped} />
      {failure === null ? null : (
        <div className="mt-4">
          <ErrorState failure={failure} />
        </div>
      )}
    </Card>
  )
}
