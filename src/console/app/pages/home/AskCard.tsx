import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { pagePaths } from "../../../PagePaths.ts"
import { Button } from "../../ui/Button.tsx"
import { Card } from "../../ui/Card.tsx"
import { ErrorState } from "../../ui/ErrorState.tsx"
import { Form, FormActions } from "../../ui/Form.tsx"
import { TextArea } from "../../ui/TextArea.tsx"
import { create, refreshList } from "../conversations/list/requests.ts"
import { keepUnsent } from "../conversations/thread/unsentQuestions.ts"

const firstQuestion = "Hello! What are you, and what can you do?"
const questionCharactersMax = 20_000

interface Values extends Record<string, unknown> {
  readonly question: string
}

/** A question that is there already, so that one click begins a conversation. */
export const AskCard = () => {
  const navigate = useNavigate()
  const asking = useMutation({
    mutationFn: ({ question }: Values) => create("", "").then(({ id }) => ({ id, question })),
    onSuccess: ({ id, question }) => {
      keepUnsent(id, { input: question })
      void refreshList()
      void navigate({ to: pagePaths.conversation, params: { id } })
    }
  })
  return (
    <Card description="It begins a conversation, which is kept until you delete it." title="Ask a question">
      <Form<Values> onSubmit={(values) => asking.mutate(values)}>
        <TextArea
          defaultValue={firstQuestion}
          label="Question"
          maxLength={questionCharactersMax}
          name="question"
          required
        />
        <FormActions>
          <Button isPending={asking.isPending} kind="primary" type="submit">
            Ask
          </Button>
        </FormActions>
      </Form>
      {asking.error === null ? null : (
        <div className="mt-4">
          <ErrorState failure={asking.error} />
        </div>
      )}
    </Card>
  )
}
