import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { ProjectObject } from "../../../../api/ProjectObject.ts"
import { pagePaths } from "../../../PagePaths.ts"
import { useUser } from "../../session/session.ts"
import { formatCount } from "../../text/format.ts"
import { ConfirmationField } from "../../ui/ConfirmationField.tsx"
import { ConfirmDialog } from "../../ui/ConfirmDialog.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { Menu } from "../../ui/Menu.tsx"
import { TextField } from "../../ui/TextField.tsx"
import { showToast } from "../../ui/toasts.ts"
import { useProjectChange } from "./requests.ts"

interface TaskProps {
  readonly project: ProjectObject
  readonly onClose: () => void
}

interface Values extends Record<string, unknown> {
  readonly name: string
}

const Rename = ({ onClose, project: { id, name: oldName } }: TaskProps) => {
  const renaming = useProjectChange(
    ({ name }: Values) =>
      (client) =>
        client.ownProjects.update({ params: { project_id: id }, payload: { name: name.trim() } }),
    ({ name }) => {
      showToast(`${oldName} is ${name} now.`)
      onClose()
    }
  )
  return (
    <FormDialog<Values> onClose={onClose} saveLabel="Rename" saving={renaming} title={`Rename ${oldName}`}>
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

/** The losses with the project, and the rest that stays. */
const Lost = ({ file_counts: { total }, members }: ProjectObject) => (
  <ul className="list-disc space-y-1 pl-5">
    <li>
      The search index of {formatCount(total, "file")} is deleted. The files themselves stay with their
      owners.
    </li>
    <li>
      {formatCount(members, "member")} can no longer ask about the files or read those of others; citations in
      earlier answers don&apos;t open them any more.
    </li>
    <li>Conversations about the project stay, without the project.</li>
    <li>This can&apos;t be undone.</li>
  </ul>
)

const Delete = ({ onClose, project }: TaskProps) => {
  const { id, name } = project
  const navigate = useNavigate()
  const deleting = useProjectChange(
    () => (client) => client.ownProjects.delete({ params: { project_id: id } }),
    () => {
      showToast(`${name} is deleted.`)
      return navigate({ to: pagePaths.ownProjects })
    }
  )
  return (
    <FormDialog
      isDangerous
      onClose={onClose}
      saveLabel="Delete project"
      saving={{ ...deleting, mutate: () => deleting.mutate(undefined) }}
      title={`Delete ${name}?`}
    >
      <Lost {...project} />
      <ConfirmationField expected={name} />
    </FormDialog>
  )
}

const Leave = ({ onClose, project: { id, name } }: TaskProps) => {
  const navigate = useNavigate()
  const user = useUser()
  const leaving = useProjectChange(
    () => (client) => client.ownProjects.removeMember({ params: { project_id: id, user_id: user.id } }),
    () => {
      showToast(`You have left ${name}.`)
      return navigate({ to: pagePaths.ownProjects })
    }
  )
  return (
    <ConfirmDialog
      confirmLabel="Leave project"
      failure={leaving.error}
      isOpen
      isPending={leaving.isPending}
      onConfirm={() => leaving.mutate(undefined)}
      onOpenChange={onClose}
      title={`Leave ${name}?`}
    >
      You can&apos;t ask about its files any more, until an owner adds you again. Files that you added stay in
      the project; take them out before, if they shouldn&apos;t.
    </ConfirmDialog>
  )
}

const tasks = { rename: Rename, delete: Delete, leave: Leave }

/** The tasks for a project, by the user's role in it. */
export const OwnProjectTasks = ({ project }: Pick<TaskProps, "project">) => {
  const [task, setTask] = useState<keyof typeof tasks | null>(null)
  const Task = task === null ? null : tasks[task]
  return (
    <>
      <Menu
        items={[
          ...(project.role === "owner" ? [{ label: "Rename…", onSelect: () => setTask("rename") }] : []),
          { label: "Leave…", onSelect: () => setTask("leave") },
          ...(project.role === "owner"
            ? [{ label: "Delete…", onSelect: () => setTask("delete"), isDangerous: true }]
            : [])
        ]}
        label="Actions for the project"
      />
      {Task === null ? null : <Task onClose={() => setTask(null)} project={project} />}
    </>
  )
}
