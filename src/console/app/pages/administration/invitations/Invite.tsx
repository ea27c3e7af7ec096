import { useState } from "react"
import type { NewLinkBody } from "../../../../../admin/PeopleApi.ts"
import type { Role } from "../../../../../domain/Account.ts"
import { Dialog } from "../../../ui/Dialog.tsx"
import { Form, FormButtons } from "../../../ui/Form.tsx"
import { TextField } from "../../../ui/TextField.tsx"
import { useChange } from "../change.ts"
import { OrganizationField } from "../OrganizationField.tsx"
import { RoleField } from "../RoleField.tsx"
import { ShownLink } from "../ShownLink.tsx"

type NewLink = typeof NewLinkBody.Type

interface Values extends Record<string, unknown> {
  readonly email: string
  readonly organization: string
  readonly role: Role
}

interface InviteFormProps {
  readonly email: string
  readonly onInvited: (link: NewLink) => void
  readonly onClose: () => void
}

const InviteForm = ({ email, onClose, onInvited }: InviteFormProps) => {
  const inviting = useChange(
    (payload: Values) =>
      ({ people }) =>
        people.invite({ payload }),
    onInvited
  )
  return (
    <Form<Values> failure={inviting.error} onSubmit={(values) => inviting.mutate(values)}>
      <TextField
        autoComplete="off"
        autoFocus
        defaultValue={email}
        label="E-mail address"
        name="email"
        required
        type="email"
      />
      <OrganizationField />
      <RoleField />
      <FormButtons isPending={inviting.isPending} onCancel={onClose} saveLabel="Create invitation" />
    </Form>
  )
}

interface InviteProps {
  /** The first value of the field for the address. */
  readonly email?: string
  readonly onClose: () => void
}

/** Invites a user, and then shows the link, which is not sent by the service. */
export const Invite = ({ email = "", onClose }: InviteProps) => {
  const [link, setLink] = useState<NewLink | null>(null)
  return (
    <Dialog
      description={
        link === null
          ? "The invited person chooses a password by a link that you pass on. An earlier invitation to the same address is replaced."
          : undefined
      }
      isDismissible={link === null}
      isOpen
      onOpenChange={onClose}
      title={link === null ? "Invite a user" : `Invitation for ${link.email}`}
    >
      {link === null ? (
        <InviteForm email={email} onClose={onClose} onInvited={setLink} />
      ) : (
        <ShownLink link={link} onDone={onClose} />
      )}
    </Dialog>
  )
}
