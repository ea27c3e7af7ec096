import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { pagePaths } from "../../../../PagePaths.ts"
import { ConfirmationField } from "../../../ui/ConfirmationField.tsx"
import { FormDialog } from "../../../ui/FormDialog.tsx"
import { Select } from "../../../ui/Select.tsx"
import { TextField } from "../../../ui/TextField.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { useChange } from "../change.ts"
import type { UserDialogProps } from "./RoleDialog.tsx"

interface Values extends Record<string, unknown> {
  readonly files: string
  readonly files_to?: string
}

const choices = [
  { value: "erase", label: "Erase them" },
  { value: "hand_over", label: "Hand them over to another user" }
]

/** What becomes of the files, as the request says it. */
const filesPayload = ({ files, files_to: to = "" }: Values) =>
  files === "erase" ? ({ files } as const) : { files_to: to.trim() }

/** Deletes a user with what it has stored, once the address was typed. */
export const DeleteDialog = ({ onClose, user: { email } }: UserDialogProps) => {
  const navigate = useNavigate()
  const [files, setFiles] = useState("erase")
  const deleting = useChange(
    (values: Values) =>
      ({ data }) =>
        data.deleteUser({ payload: { email, ...filesPayload(values) } }),
    ({ erased }) => {
      showToast(erased === null ? `${email} is deleted; its data is being erased.` : `${email} is deleted.`)
      onClose()
      return navigate({ to: pagePaths.users })
    }
  )
  return (
    <FormDialog<Values>
      description="The user is signed out and its keys are refused. Its conversations are erased, too. This can’t be undone. The audit log keeps its entries."
      isDangerous
      title={`Delete ${email}?`}
      onClose={onClose}
      saveLabel="Delete user"
      saving={deleting}
    >
      <Select
        choices={choices}
        label="Files of the user"
        name="files"
        onValueChange={setFiles}
        value={files}
      />
      {files === "hand_over" ? (
        <TextField
          autoComplete="off"
          description="A user of the same organization."
          label="New owner’s e-mail address"
          name="files_to"
          required
          type="email"
        />
      ) : null}
      <ConfirmationField expected={email} />
    </FormDialog>
  )
}
