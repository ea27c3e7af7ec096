import type { OrganizationBody } from "../../../../../admin/AdminApi.ts"
import { Button } from "../../../ui/Button.tsx"
import { Dialog } from "../../../ui/Dialog.tsx"
import { Form, FormActions } from "../../../ui/Form.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { useChange } from "../change.ts"
import { PlanField } from "./PlanField.tsx"

interface Values extends Record<string, unknown> {
  readonly plan: string
}

interface ChangePlanProps {
  readonly organization: typeof OrganizationBody.Type
  readonly onClose: () => void
}

export const ChangePlan = ({ onClose, organization }: ChangePlanProps) => {
  const changing = useChange(
    ({ plan }: Values) =>
      ({ policy }) =>
        policy.setPlan({ payload: { organization: organization.name, plan } }),
    ({ name, plan }) => {
      showToast(`${name} has the plan ${plan} now.`)
      onClose()
    }
  )
  return (
    <Dialog
      description="The new plan holds for the next request of each of its users."
      isOpen
      onOpenChange={onClose}
      title={`Change the plan of ${organization.name}`}
    >
      <Form<Values> failure={changing.error} onSubmit={(values) => changing.mutate(values)}>
        <PlanField defaultValue={organization.plan} />
        <FormActions>
          <Button isPending={changing.isPending} kind="primary" type="submit">
            Change plan
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}
