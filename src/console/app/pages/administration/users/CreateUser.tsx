import type { Role } from "../../../../../domain/Account.ts"
import { FormDialog } from "../../../ui/FormDialog.tsx"
import { TextField } from "../../../ui/TextField.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { useChange } from "../change.ts"
import { OrganizationField } from "../OrganizationField.tsx"
import { RoleField } from "../RoleField.tsx"

interface Values extends Record<string, unknown> {
  readonly email: string
  readonly organization: string
  readonly role: Role
}

/** A user without a password, who signs in through an identity provider or gets keys by the command line. */
export const CreateUser = ({ onClose }: { readonly onClose: () => void }) => {
  const creating = useChange(
    (payload: Values) =>
      ({ accounts }) =>
        accounts.createUser({ payload }),
    ({ email }) => {
      showToast(`Created ${email}.`)
      onClose()
    }
  )
  return (
    <FormDialog<Values>
      description="For a person who signs in through an identity provider. Invite the others: an invited person chooses a password."
      title="Create a user"
      onClose={onClose}
      saveLabel="Create user"
      saving={creating}
    >
      <TextField autoComplete="off" autoFocus label="E-mail address" name="email" required type="email" />
      <OrganizationField />
      <RoleField />
    </FormDialog>
  )
}
