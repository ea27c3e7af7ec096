import { useMutation } from "@tanstack/react-query"
import type { ConversationObject } from "../../../../../api/ConversationObject.ts"
import { ConfirmDialog } from "../../../ui/ConfirmDialog.tsx"
import { titleOf } from "./ConversationRow.tsx"
import { remove } from "./requests.ts"

interface DeleteDialogProps {
  readonly conversation: Pick<ConversationObject, "id" | "title">
  readonly onClose: () => void
  readonly onDeleted: () => void
}

export const DeleteDialog = ({ conversation, onClose, onDeleted }: DeleteDialogProps) => {
  const deleting = useMutation({ mutationFn: () => remove(conversation.id), onSuccess: onDeleted })
  return (
    <ConfirmDialog
      confirmLabel="Delete"
      failure={deleting.error}
      isOpen
      isPending={deleting.isPending}
      onConfirm={() => deleting.mutate()}
      onOpenChange={onClose}
      title="Delete conversation?"
    >
      “{titleOf(conversation)}” is deleted with all its messages. This can't be undone.
    </ConfirmDialog>
  )
}
