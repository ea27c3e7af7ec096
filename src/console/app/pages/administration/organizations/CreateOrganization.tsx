import { defaultPlan } from "../../../../../domain/Account.ts"
import { Button } from "../../../ui/Button.tsx"
import { Dialog } from "../../../ui/Dialog.tsx"
import { Form, FormActions } from "../../../ui/Form.tsx"
import { TextField } from "../../../ui/TextField.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { useChange } from "../change.ts"
import { PlanField } from "./PlanField.tsx"

interface Values extends Record<string, unknown> {
  readonly name: string
  readonly plan: string
}

export const CreateOrganization = ({ onClose }: { readonly onClose: () => void }) => {
  const creating = useChange(
    (payload: Values) =>
      ({ accounts }) =>
        accounts.createOrganization({ payload }),
    ({ name }) => {
      showToast(`Created the organization ${name}.`)
      onClose()
    }
  )
  return (
    <Dialog
      description="Its plan says what its users may do and spend."
      isOpen
      onOpenChange={onClose}
      title="Create an organization"
    >
      <Form<Values> failure={creating.error} onSubmit={(values) => creating.mutate(values)}>
        <TextField autoComplete="off" autoFocus label="Name" maxLength={100} name="name" required />
        <PlanField defaultValue={defaultPlan} />
        <FormActions>
          <Button isPending={creating.isPending} kind="primary" type="submit">
            Create organization
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}
