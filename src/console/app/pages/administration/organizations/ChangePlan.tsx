import type { OrganizationBody } from "../../../../../admin/AdminBodies.ts"
import { FormDialog } from "../../../ui/FormDialog.tsx"
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
    <FormDialog<Values>
      description="The new plan holds for the next request of each of its users."
      title={`Change the plan of ${organization.name}`}
      onClose={onClose}
      saveLabel="Change plan"
      saving={changing}
    >
      <PlanField defaultValue={organization.plan} />
    </FormDialog>
  )
}
