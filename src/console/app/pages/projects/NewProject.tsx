import { useNavigate } from "@tanstack/react-router"
import { pagePaths } from "../../../PagePaths.ts"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { TextField } from "../../ui/TextField.tsx"
import { showToast } from "../../ui/toasts.ts"
import { useProjectChange } from "./requests.ts"

interface Values extends Record<string, unknown> {
  readonly name: string
}

/** Creates a project, and opens it. */
export const NewProject = ({ onClose }: { readonly onClose: () => void }) => {
  const navigate = useNavigate()
  const creating = useProjectChange(
    ({ name }: Values) =>
      (client) =>
        client.ownProjects.create({ payload: { name: name.trim() } }),
    ({ id, name }) => {
      showToast(`Created the project ${name}.`)
      onClose()
      return navigate({ to: pagePaths.ownProject, params: { id } })
    }
  )
  return (
    <FormDialog<Values>
      description="You become its owner. Add files and members afterwards."
      onClose={onClose}
      saveLabel="Create project"
      saving={creating}
      title="Create a project"
    >
      <TextField autoComplete="off" autoFocus label="Name" maxLength={100} name="name" required />
    </FormDialog>
  )
}
