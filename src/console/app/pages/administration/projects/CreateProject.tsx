import { Button } from "../../../ui/Button.tsx"
import { Dialog } from "../../../ui/Dialog.tsx"
import { Form, FormActions } from "../../../ui/Form.tsx"
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
    <Dialog
      description="Answers to its members may draw on its files."
      isOpen
      onOpenChange={onClose}
      title="Create a project"
    >
      <Form<Values> failure={creating.error} onSubmit={(values) => creating.mutate(values)}>
        <TextField autoComplete="off" autoFocus label="Name" maxLength={100} name="name" required />
        <OrganizationField />
        <FormActions>
          <Button isPending={creating.isPending} kind="primary" type="submit">
            Create project
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}
