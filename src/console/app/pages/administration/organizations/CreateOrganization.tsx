import { defaultPlan } from "../../../../../domain/Account.ts"
import { FormDialog } from "../../../ui/FormDialog.tsx"
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
    <FormDialog<Values>
      description="Its plan says what its users may do and spend."
      title="Create an organization"
      onClose={onClose}
      saveLabel="Create organization"
      saving={creating}
    >
      <TextField autoComplete="off" autoFocus label="Name" maxLength={100} name="name" required />
      <PlanField defaultValue={defaultPlan} />
    </FormDialog>
  )
}
