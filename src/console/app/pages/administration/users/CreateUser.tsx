import { useState } from "react"
import type { NewUserBody } from "../../../../../admin/AdminApi.ts"
import type { Role } from "../../../../../domain/Account.ts"
import { Alert } from "../../../ui/Alert.tsx"
import { Button } from "../../../ui/Button.tsx"
import { Checkbox } from "../../../ui/Checkbox.tsx"
import { CodeBlock } from "../../../ui/CodeBlock.tsx"
import { Dialog } from "../../../ui/Dialog.tsx"
import { Form, FormActions } from "../../../ui/Form.tsx"
import { TextField } from "../../../ui/TextField.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { useChange } from "../change.ts"
import { OrganizationField } from "../OrganizationField.tsx"
import { RoleField } from "../RoleField.tsx"

type NewUser = typeof NewUserBody.Type

interface Values extends Record<string, unknown> {
  readonly email: string
  readonly organization: string
  readonly role: Role
  readonly with_key: boolean
}

interface CreateFormProps {
  readonly onCreated: (user: NewUser) => void
  readonly onClose: () => void
}

const CreateForm = ({ onClose, onCreated }: CreateFormProps) => {
  const creating = useChange(
    (payload: Values) =>
      ({ accounts }) =>
        accounts.createUser({ payload }),
    onCreated
  )
  return (
    <Form<Values> failure={creating.error} onSubmit={(values) => creating.mutate(values)}>
      <TextField autoComplete="off" autoFocus label="E-mail address" name="email" required type="email" />
      <OrganizationField />
      <RoleField />
      <Checkbox label="Create an API key, which is shown once" name="with_key" />
      <FormActions>
        <Button isPending={creating.isPending} kind="primary" type="submit">
          Create user
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </FormActions>
    </Form>
  )
}

/** A user without a password, who uses keys or signs in through an identity provider. */
export const CreateUser = ({ onClose }: { readonly onClose: () => void }) => {
  const [key, setKey] = useState<string | null>(null)
  const onCreated = (user: NewUser) => {
    showToast(`Created ${user.email}.`)
    if (user.key === null) onClose()
    else setKey(user.key)
  }
  return (
    <Dialog
      description={
        key === null
          ? "For a program, or for a person who signs in through an identity provider. Invite the others: an invited person chooses a password."
          : undefined
      }
      isDismissible={key === null}
      isOpen
      onOpenChange={onClose}
      title={key === null ? "Create a user" : "The user's API key"}
    >
      {key === null ? (
        <CreateForm onClose={onClose} onCreated={onCreated} />
      ) : (
        <div className="space-y-5">
          <Alert title="Copy the key now" tone="warning">
            It is not shown again.
          </Alert>
          <CodeBlock code={key} label="API key" />
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      )}
    </Dialog>
  )
}
