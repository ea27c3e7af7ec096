import type { OrganizationBody } from "../../../../../admin/AdminBodies.ts"
import { ConfirmationField } from "../../../ui/ConfirmationField.tsx"
import { FormDialog } from "../../../ui/FormDialog.tsx"
import { Select } from "../../../ui/Select.tsx"
import { TextField } from "../../../ui/TextField.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { useChange } from "../change.ts"

interface OrganizationDialogProps {
  readonly organization: typeof OrganizationBody.Type
  readonly onClose: () => void
}

interface DeleteValues extends Record<string, unknown> {
  readonly contents: string
}

const choices = [
  { value: "keep", label: "Only if it has none" },
  { value: "delete", label: "With them and all they have stored" }
]

/** Deletes an organization, once its name was typed. */
export const DeleteOrganization = ({ onClose, organization: { name } }: OrganizationDialogProps) => {
  const deleting = useChange(
    ({ contents }: DeleteValues) =>
      ({ data }) =>
        data.deleteOrganization({ payload: { organization: name, with_contents: contents === "delete" } }),
    ({ projects, users }) => {
      showToast(`Deleted ${name}, ${users} of its users and ${projects} projects.`)
      onClose()
    }
  )
  return (
    <FormDialog<DeleteValues>
      description="This can’t be undone. The audit log keeps its entries."
      isDangerous
      title={`Delete ${name}?`}
      onClose={onClose}
      saveLabel="Delete organization"
      saving={deleting}
    >
      <Select choices={choices} defaultValue="keep" label="Users and projects" name="contents" />
      <ConfirmationField expected={name} />
    </FormDialog>
  )
}

interface RenameValues extends Record<string, unknown> {
  readonly name: string
}

export const RenameOrganization = ({ onClose, organization }: OrganizationDialogProps) => {
  const renaming = useChange(
    ({ name }: RenameValues) =>
      ({ data }) =>
        data.renameOrganization({ payload: { organization: organization.name, name: name.trim() } }),
    ({ name }) => {
      showToast(`${organization.name} is ${name} now.`)
      onClose()
    }
  )
  return (
    <FormDialog<RenameValues>
      description="Settings that name the organization don’t change with it."
      title={`Rename ${organization.name}`}
      onClose={onClose}
      saveLabel="Rename"
      saving={renaming}
    >
      <TextField
        autoComplete="off"
        autoFocus
        defaultValue={organization.name}
        label="Name"
        maxLength={100}
        name="name"
        required
      />
    </FormDialog>
  )
}
