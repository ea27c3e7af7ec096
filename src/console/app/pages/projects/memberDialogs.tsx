import { useNavigate } from "@tanstack/react-router"
import type { ProjectMemberObject } from "../../../../api/ProjectObject.ts"
import type { ProjectId } from "../../../../domain/Ids.ts"
import type { ProjectRole } from "../../../../domain/Project.ts"
import { pagePaths } from "../../../PagePaths.ts"
import { useUser } from "../../session/session.ts"
import { ConfirmDialog } from "../../ui/ConfirmDialog.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { Select } from "../../ui/Select.tsx"
import { showToast } from "../../ui/toasts.ts"
import { MemberFields } from "./MemberFields.tsx"
import { projectRoleChoices, projectRoleNames } from "./projectRoles.ts"
import { useProjectChange } from "./requests.ts"

interface PartProps {
  readonly id: ProjectId
  readonly onClose: () => void
}

interface MemberProps extends PartProps {
  readonly member: ProjectMemberObject
}

interface Values extends Record<string, unknown> {
  readonly email: string
  readonly role: ProjectRole
}

export const AddMember = ({ id, onClose }: PartProps) => {
  const adding = useProjectChange(
    ({ email, role }: Values) =>
      (client) =>
        client.ownProjects.addMember({ params: { project_id: id }, payload: { email: email.trim(), role } }),
    ({ email }) => {
      showToast(`${email} is a member of the project.`)
      onClose()
    }
  )
  return (
    <FormDialog<Values>
      description="A user of your organization, by e-mail address. The files of the project become readable for them."
      onClose={onClose}
      saveLabel="Add member"
      saving={adding}
      title="Add a member"
    >
      <MemberFields />
    </FormDialog>
  )
}

export const ChangeRole = ({ id, member, onClose }: MemberProps) => {
  const changing = useProjectChange(
    ({ role }: Pick<Values, "role">) =>
      (client) =>
        client.ownProjects.updateMember({
          params: { project_id: id, user_id: member.id },
          payload: { role }
        }),
    ({ email, role }) => {
      showToast(`The role of ${email} is ${projectRoleNames[role]} now.`)
      onClose()
    }
  )
  return (
    <FormDialog<Pick<Values, "role">>
      onClose={onClose}
      saveLabel="Change role"
      saving={changing}
      title={`Role of ${member.email}`}
    >
      <Select
        choices={projectRoleChoices}
        defaultValue={member.role}
        description="A project has at least one owner."
        label="Role in the project"
        name="role"
      />
    </FormDialog>
  )
}

export const RemoveMember = ({ id, member, onClose }: MemberProps) => {
  const navigate = useNavigate()
  const isOneself = useUser().id === member.id
  const removing = useProjectChange(
    () => (client) => client.ownProjects.removeMember({ params: { project_id: id, user_id: member.id } }),
    () => {
      showToast(
        isOneself ? "You have left the project." : `${member.email} is no longer a member of the project.`
      )
      onClose()
      return isOneself ? navigate({ to: pagePaths.ownProjects }) : undefined
    }
  )
  return (
    <ConfirmDialog
      confirmLabel="Remove member"
      failure={removing.error}
      isOpen
      isPending={removing.isPending}
      onConfirm={() => removing.mutate(undefined)}
      onOpenChange={onClose}
      title={isOneself ? "Leave the project?" : `Remove ${member.email} from the project?`}
    >
      Questions are not answered from the files of the project any more, and files of others can&apos;t be
      read. Files that {isOneself ? "you" : "the user"} added stay in the project.
    </ConfirmDialog>
  )
}
