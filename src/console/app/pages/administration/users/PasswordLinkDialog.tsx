import { useState } from "react"
import type { NewLinkBody } from "../../../../../admin/PeopleApi.ts"
import { requestFailed } from "../../../client/RequestFailed.ts"
import { Alert } from "../../../ui/Alert.tsx"
import { Button } from "../../../ui/Button.tsx"
import { Dialog } from "../../../ui/Dialog.tsx"
import { FormActions } from "../../../ui/Form.tsx"
import { useChange } from "../change.ts"
import { ShownLink } from "../ShownLink.tsx"
import type { UserDialogProps } from "./RoleDialog.tsx"

/** Creates a link for a new password, and shows it once. */
export const PasswordLinkDialog = ({ onClose, user }: UserDialogProps) => {
  const [link, setLink] = useState<typeof NewLinkBody.Type | null>(null)
  const creating = useChange(
    () =>
      ({ people }) =>
        people.resetPassword({ payload: { email: user.email } }),
    setLink
  )
  const description =
    link === null
      ? "With the link the user chooses a new password, which ends the user's sessions. The present password stays valid until then, and an earlier link stops working."
      : undefined
  return (
    <Dialog
      description={description}
      isDismissible={link === null}
      isOpen
      onOpenChange={onClose}
      title={`Password link for ${user.email}`}
    >
      {creating.error === null ? null : <Alert tone="danger">{requestFailed(creating.error).message}</Alert>}
      {link === null ? (
        <FormActions>
          <Button isPending={creating.isPending} kind="primary" onClick={() => creating.mutate(undefined)}>
            Create link
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      ) : (
        <ShownLink link={link} onDone={onClose} />
      )}
    </Dialog>
  )
}
