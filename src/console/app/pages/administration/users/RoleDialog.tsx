import type { UserBody } from "../../../../../admin/AdminBodies.ts"
import type { Role } from "../../../../../domain/Account.ts"
import { roleNames } from "../../../text/roles.ts"
import { FormDialog } from "../../../ui/FormDialog.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { useChange } from "../change.ts"
import { RoleField } from "../RoleField.tsx"

export interface UserDialogProps {
  readonly user: typeof UserBody.Type
  readonly onClose: () => void
}

interface Values extends Record<string, unknown> {
  readonly role: Role
}

export const RoleDialog = ({ onClose, user }: UserDialogProps) => {
  const changing = useChange(
    ({ role }: Values) =>
      ({ people }) =>
        people.setRole({ payload: { email: user.email, role } }),
    ({ email, role }) => {
      showToast(`${email} has the role “${roleNames[role]}” now.`)
      onClose()
    }
  )
  return (
    <FormDialog<Values>
      description={`${user.email} has to sign in again afterwards.`}
      title="Change role"
      onClose={onClose}
      saveLabel="Change role"
      saving={changing}
    >
      <RoleField defaultValue={user.role} />
    </FormDialog>
  )
}
