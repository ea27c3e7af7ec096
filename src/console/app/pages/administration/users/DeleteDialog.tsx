import { useQuery } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { UserHoldingsBody } from "../../../../../admin/DataApi.ts"
import { pagePaths } from "../../../../PagePaths.ts"
import { ConfirmationField } from "../../../ui/ConfirmationField.tsx"
import { FormDialog } from "../../../ui/FormDialog.tsx"
import { Select } from "../../../ui/Select.tsx"
import { TextField } from "../../../ui/TextField.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { useChange } from "../change.ts"
import { holdingsQuery } from "../lists.ts"
import type { UserDialogProps } from "./RoleDialog.tsx"

interface Values extends Record<string, unknown> {
  readonly files: string
  readonly files_to?: string
}

const choices = [
  { value: "hand_over", label: "Hand them over to another user" },
  { value: "erase", label: "Erase them" }
]

const filesText = (files: number): string => (files === 1 ? "1 file" : `${files} files`)

/** The consequences of the deletion for others. */
const holdingsText = ({ files, projects }: UserHoldingsBody): string => {
  const shown = projects.filter((project) => project.files > 0)
  const owned = projects.filter((project) => project.is_only_owner)
  const inProjects = shown.map((project) => `${project.name} (${project.files})`).join(", ")
  return [
    `The user has ${filesText(files)}.`,
    ...(shown.length === 0 ? [] : [`In projects, where others use them: ${inProjects}.`]),
    ...(owned.length === 0
      ? []
      : [
          `Only owner of: ${owned.map(({ name }) => name).join(", ")}. Who gets the files becomes their owner.`
        ])
  ].join(" ")
}

/** The choice about the files, as the request has it. */
const filesPayload = ({ files, files_to: to = "" }: Values) =>
  files === "erase" ? ({ files } as const) : { files_to: to.trim() }

/** Deletes a user with what it has stored, once the address was typed. */
export const DeleteDialog = ({ onClose, user: { email } }: UserDialogProps) => {
  const navigate = useNavigate()
  const { data: holdings } = useQuery(holdingsQuery(email))
  const [chosen, setFiles] = useState<string | null>(null)
  const files = chosen ?? (holdings?.projects.length === 0 ? "erase" : "hand_over")
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
      {holdings === undefined ? null : <p>{holdingsText(holdings)}</p>}
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
