import type { Role } from "../../../../../domain/Account.ts"
import { Button } from "../../../ui/Button.tsx"
import { Dialog } from "../../../ui/Dialog.tsx"
import { Form, FormActions } from "../../../ui/Form.tsx"
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
    <Dialog
      description="For a person who signs in through an identity provider. Invite the others: an invited person chooses a password."
      isOpen
      onOpenChange={onClose}
      title="Create a user"
    >
      <Form<Values> failure={creating.error} onSubmit={(values) => creating.mutate(values)}>
        <TextField autoComplete="off" autoFocus label="E-mail address" name="email" required type="email" />
        <OrganizationField />
        <RoleField />
        <FormActions>
          <Button isPending={creating.isPending} kind="primary" type="submit">
            Create user
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}
