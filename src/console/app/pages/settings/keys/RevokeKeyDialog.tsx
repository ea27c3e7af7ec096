import { useMutation } from "@tanstack/react-query"
import { ask } from "../../../client/ask.ts"
import { ConfirmDialog } from "../../../ui/ConfirmDialog.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { readKeysAgain } from "./keyQueries.ts"
import type { OwnKey } from "./ownKey.ts"

interface RevokeKeyDialogProps {
  readonly apiKey: OwnKey
  readonly onClose: () => void
}

export const RevokeKeyDialog = ({ apiKey, onClose }: RevokeKeyDialogProps) => {
  const revoking = useMutation({
    mutationFn: () => ask((client) => client.me.revokeKey({ params: { id: apiKey.id } })),
    onSuccess: async () => {
      await readKeysAgain()
      showToast(`The key “${apiKey.name}” is revoked.`)
      onClose()
    }
  })
  return (
    <ConfirmDialog
      confirmLabel="Revoke key"
      failure={revoking.error}
      isOpen
      isPending={revoking.isPending}
      onConfirm={() => revoking.mutate()}
      onOpenChange={onClose}
      title={`Revoke “${apiKey.name}”?`}
    >
      Programs that use the key ending in {apiKey.hint} are refused within five seconds. This can’t be undone.
    </ConfirmDialog>
  )
}
