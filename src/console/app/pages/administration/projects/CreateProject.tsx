import { FormDialog } from "../../../ui/FormDialog.tsx"
import { TextField } from "../../../ui/TextField.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { useChange } from "../change.ts"
import { OrganizationField } from "../OrganizationField.tsx"

interface Values extends Record<string, unknown> {
  readonly name: string
  readonly organization: string
}

export const CreateProject = ({ onClose }: { readonly onClose: () => void }) => {
  const creating = useChange(
    (payload: Values) =>
      ({ projects }) =>
        projects.create({ payload }),
    ({ name }) => {
      showToast(`Created the project ${name}.`)
      onClose()
    }
  )
  return (
    <FormDialog<Values>
      description="Answers to its members may draw on its files."
      title="Create a project"
      onClose={onClose}
      saveLabel="Create project"
      saving={creating}
    >
      <TextField autoComplete="off" autoFocus label="Name" maxLength={100} name="name" required />
      <OrganizationField />
    </FormDialog>
  )
}
