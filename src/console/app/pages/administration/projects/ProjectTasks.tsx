import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { ProjectBody } from "../../../../../admin/AdminBodies.ts"
import { pagePaths } from "../../../../PagePaths.ts"
import { Button } from "../../../ui/Button.tsx"
import { ConfirmationField } from "../../../ui/ConfirmationField.tsx"
import { FormDialog } from "../../../ui/FormDialog.tsx"
import { TextField } from "../../../ui/TextField.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { useChange } from "../change.ts"

interface TaskProps {
  readonly project: typeof ProjectBody.Type
  readonly onClose: () => void
}

interface Values extends Record<string, unknown> {
  readonly name: string
}

const RenameProject = ({ onClose, project: { id, name: oldName } }: TaskProps) => {
  const navigate = useNavigate()
  const renaming = useChange(
    ({ name }: Values) =>
      ({ data }) =>
        data.renameProject({ params: { project_id: id }, payload: { name: name.trim() } }),
    ({ name }) => {
      showToast(`${oldName} is ${name} now.`)
      onClose()
      // The address of the page has the name.
      return navigate({ to: pagePaths.project, search: { id, name }, replace: true })
    }
  )
  return (
    <FormDialog<Values> title={`Rename ${oldName}`} onClose={onClose} saveLabel="Rename" saving={renaming}>
      <TextField
        autoComplete="off"
        autoFocus
        defaultValue={oldName}
        label="Name"
        maxLength={100}
        name="name"
        required
      />
    </FormDialog>
  )
}

const DeleteProject = ({ onClose, project: { id, name } }: TaskProps) => {
  const navigate = useNavigate()
  const deleting = useChange(
    () =>
      ({ data }) =>
        data.deleteProject({ params: { project_id: id } }),
    () => {
      showToast(`${name} is deleted.`)
      return navigate({ to: pagePaths.projects })
    }
  )
  return (
    <FormDialog
      description="Its members can’t ask about its files any more. The files stay with their owners. This can’t be undone."
      isDangerous
      title={`Delete ${name}?`}
      onClose={onClose}
      saveLabel="Delete project"
      saving={{ ...deleting, mutate: () => deleting.mutate(undefined) }}
    >
      <ConfirmationField expected={name} />
    </FormDialog>
  )
}

/** The buttons of a project. */
export const ProjectTasks = ({ project }: Pick<TaskProps, "project">) => {
  const [task, setTask] = useState<"rename" | "delete" | null>(null)
  const onClose = () => setTask(null)
  return (
    <div className="flex flex-wrap gap-3">
      <Button onClick={() => setTask("rename")}>Rename…</Button>
      <Button onClick={() => setTask("delete")}>Delete…</Button>
      {task === "rename" ? <RenameProject onClose={onClose} project={project} /> : null}
      {task === "delete" ? <DeleteProject onClose={onClose} project={project} /> : null}
    </div>
  )
}
