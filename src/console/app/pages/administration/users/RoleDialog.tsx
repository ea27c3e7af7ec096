import type { UserBody } from "../../../../../admin/PeopleApi.ts"
import type { Role } from "../../../../../domain/Account.ts"
import { roleNames } from "../../../text/roles.ts"
import { Button } from "../../../ui/Button.tsx"
import { Dialog } from "../../../ui/Dialog.tsx"
import { Form, FormActions } from "../../../ui/Form.tsx"
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
    <Dialog
      description={`${user.email} has to sign in again afterwards.`}
      isOpen
      onOpenChange={onClose}
      title="Change role"
    >
      <Form<Values> failure={changing.error} onSubmit={(values) => changing.mutate(values)}>
        <RoleField defaultValue={user.role} />
        <FormActions>
          <Button isPending={changing.isPending} kind="primary" type="submit">
            Change role
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}
