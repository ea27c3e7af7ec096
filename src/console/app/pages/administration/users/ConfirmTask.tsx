import { ConfirmDialog } from "../../../ui/ConfirmDialog.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { useChange } from "../change.ts"
import type { UserDialogProps } from "./RoleDialog.tsx"

export const EndSessionsDialog = ({ onClose, user }: UserDialogProps) => {
  const ending = useChange(
    () =>
      ({ people }) =>
        people.endSessions({ payload: { email: user.email } }),
    ({ ended }) => {
      showToast(ended === 1 ? "1 session has ended." : `${ended} sessions have ended.`)
      onClose()
    }
  )
  return (
    <ConfirmDialog
      confirmLabel="End sessions"
      failure={ending.error}
      isOpen
      isPending={ending.isPending}
      onConfirm={() => ending.mutate(undefined)}
      onOpenChange={onClose}
      title={`End all sessions of ${user.email}?`}
    >
      The user is signed out in every browser at once, and can sign in again. API keys go on working.
    </ConfirmDialog>
  )
}

export const UnlinkDialog = ({ onClose, user }: UserDialogProps) => {
  const unlinking = useChange(
    () =>
      ({ people }) =>
        people.unlink({ payload: { email: user.email } }),
    () => {
      showToast(`${user.email} is no longer linked to an account of the identity provider.`)
      onClose()
    }
  )
  return (
    <ConfirmDialog
      confirmLabel="Unlink"
      failure={unlinking.error}
      isOpen
      isPending={unlinking.isPending}
      onConfirm={() => unlinking.mutate(undefined)}
      onOpenChange={onClose}
      title={`Unlink ${user.email} from single sign-on?`}
    >
      The user is signed out in every browser at once. The next account of the identity provider that signs in
      with this address is linked to the user. To lock the user out, disable the user.
    </ConfirmDialog>
  )
}

export const DisableDialog = ({ onClose, user }: UserDialogProps) => {
  const disabling = useChange(
    () =>
      ({ policy }) =>
        policy.disableUser({ payload: { email: user.email } }),
    ({ email }) => {
      showToast(`${email} is disabled.`)
      onClose()
    }
  )
  return (
    <ConfirmDialog
      confirmLabel="Disable user"
      failure={disabling.error}
      isOpen
      isPending={disabling.isPending}
      onConfirm={() => disabling.mutate(undefined)}
      onOpenChange={onClose}
      title={`Disable ${user.email}?`}
    >
      The user is signed out, and its API keys are refused. Its data stays, and enabling the user again makes
      the keys work again.
    </ConfirmDialog>
  )
}

export const EnableDialog = ({ onClose, user }: UserDialogProps) => {
  const enabling = useChange(
    () =>
      ({ policy }) =>
        policy.enableUser({ payload: { email: user.email } }),
    ({ email }) => {
      showToast(`${email} is enabled.`)
      onClose()
    }
  )
  return (
    <ConfirmDialog
      confirmLabel="Enable user"
      failure={enabling.error}
      isDangerous={false}
      isOpen
      isPending={enabling.isPending}
      onConfirm={() => enabling.mutate(undefined)}
      onOpenChange={onClose}
      title={`Enable ${user.email}?`}
    >
      The user can sign in again, and its API keys that are not revoked work again.
    </ConfirmDialog>
  )
}
