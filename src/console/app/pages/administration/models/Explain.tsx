import { useMutation, useQuery } from "@tanstack/react-query"
import { documentsMax, textCharactersMax } from "../../../../../admin/AdminBodies.ts"
import { ask } from "../../../client/ask.ts"
import { Button } from "../../../ui/Button.tsx"
import { Card } from "../../../ui/Card.tsx"
import { Form, FormActions } from "../../../ui/Form.tsx"
import { NumberField } from "../../../ui/NumberField.tsx"
import { Select } from "../../../ui/Select.tsx"
import { TextArea } from "../../../ui/TextArea.tsx"
import { plansQuery } from "../lists.ts"
import { explainPayload, type ExplainValues } from "./explaining.ts"
import { Explanation } from "./Explanation.tsx"

const toolChoices = [
  { value: "", label: "As the settings and the plan say" },
  { value: "offered", label: "Offered" },
  { value: "none", label: "Not offered" }
]

const PlanChoice = () => {
  const { data } = useQuery(plansQuery)
  const plans = data?.data.map(({ name }) => ({ value: name, label: name })) ?? []
  return <Select choices={[{ value: "", label: "Default" }, ...plans]} label="Plan of the user" name="plan" />
}

/** Which model would answer a message, and why. No model is asked. */
export const Explain = () => {
  const explaining = useMutation({
    mutationFn: (values: ExplainValues) =>
      ask(({ server }) => server.explainModels({ payload: explainPayload(values) }))
  })
  return (
    <div className="space-y-6">
      <Card
        description="The message is taken as the first of a conversation, and no model is asked."
        title="Which model would answer?"
      >
        <Form<ExplainValues> failure={explaining.error} onSubmit={(values) => explaining.mutate(values)}>
          <TextArea label="Message" maxLength={textCharactersMax} name="text" required />
          <div className="grid gap-5 sm:grid-cols-2">
            <PlanChoice />
            <Select choices={toolChoices} label="Tools" name="tools" />
            <NumberField label="Documents" max={documentsMax} min={0} name="documents" placeholder="None" />
            <NumberField
              label="Tokens of the answer, at most"
              min={1}
              name="max_output_tokens"
              placeholder="As the model permits"
            />
          </div>
          <FormActions>
            <Button isPending={explaining.isPending} kind="primary" type="submit">
              Explain
            </Button>
          </FormActions>
        </Form>
      </Card>
      <div aria-live="polite">
        {explaining.data === undefined ? null : <Explanation explained={explaining.data} />}
      </div>
    </div>
  )
}
