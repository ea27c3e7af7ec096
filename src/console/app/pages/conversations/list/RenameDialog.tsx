import { useMutation } from "@tanstack/react-query"
import type { ConversationObject } from "../../../../../api/ConversationObject.ts"
import { titleCharactersMax } from "../../../../../domain/ConversationTitle.ts"
import { FormDialog } from "../../../ui/FormDialog.tsx"
import { TextField } from "../../../ui/TextField.tsx"
import { titleOf } from "./ConversationRow.tsx"
import { rename } from "./requests.ts"

interface Values extends Record<string, unknown> {
  readonly title: string
}

interface RenameDialogProps {
  readonly conversation: Pick<ConversationObject, "id" | "title">
  readonly onClose: () => void
}

export const RenameDialog = ({ conversation, onClose }: RenameDialogProps) => {
  const saving = useMutation({
    mutationFn: ({ title }: Values) => rename(conversation.id, title),
    onSuccess: onClose
  })
  return (
    <FormDialog<Values> onClose={onClose} saveLabel="Rename" saving={saving} title="Rename conversation">
      <TextField
        defaultValue={titleOf(conversation)}
        label="Title"
        maxLength={titleCharactersMax}
        name="title"
        required
      />
    </FormDialog>
  )
}
