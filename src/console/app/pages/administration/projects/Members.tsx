import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { MemberBody } from "../../../../../admin/AdminBodies.ts"
import type { ProjectId, UserId } from "../../../../../domain/Ids.ts"
import type { ProjectRole } from "../../../../../domain/Project.ts"
import { Button } from "../../../ui/Button.tsx"
import { ConfirmDialog } from "../../../ui/ConfirmDialog.tsx"
import { EmptyState } from "../../../ui/EmptyState.tsx"
import { FormDialog } from "../../../ui/FormDialog.tsx"
import { PagedTable } from "../../../ui/PagedTable.tsx"
import { usePages } from "../../../ui/Pagination.tsx"
import type { Column } from "../../../ui/Table.tsx"
import { Time } from "../../../ui/Time.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { MemberFields } from "../../projects/MemberFields.tsx"
import { projectRoleNames } from "../../projects/projectRoles.ts"
import { useChange } from "../change.ts"
import { membersQuery } from "./projectQueries.ts"

type Member = typeof MemberBody.Type

interface PartProps {
  readonly id: ProjectId
  readonly onClose: () => void
}

interface Values extends Record<string, unknown> {
  readonly email: string
  readonly role: ProjectRole
}

const AddMember = ({ id, onClose }: PartProps) => {
  const adding = useChange(
    (payload: Values) =>
      ({ projects }) =>
        projects.addMember({ params: { project_id: id }, payload }),
    ({ email }) => {
      showToast(`${email} is a member of the project.`)
      onClose()
    }
  )
  return (
    <FormDialog<Values>
      description="A user of the project's organization. For a member, this changes the role."
      title="Add a member"
      onClose={onClose}
      saveLabel="Add member"
      saving={adding}
    >
      <MemberFields />
    </FormDialog>
  )
}

const RemoveMember = ({ id, member, onClose }: PartProps & { readonly member: Member }) => {
  const removing = useChange(
    () =>
      ({ projects }) =>
        projects.removeMember({ params: { project_id: id }, query: { email: member.email } }),
    () => {
      showToast(`${member.email} is no longer a member of the project.`)
      onClose()
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
      title={`Remove ${member.email} from the project?`}
    >
      The user&apos;s questions are not answered from the files of the project any more. Files that the user
      added stay.
    </ConfirmDialog>
  )
}

const columns = (onRemove: (member: Member) => void): ReadonlyArray<Column<Member>> => [
  { header: "E-mail address", cell: ({ email }) => <span className="font-medium">{email}</span> },
  { header: "Role", cell: ({ role }) => projectRoleNames[role] },
  { header: "Added", isWhole: true, cell: ({ added_at: time }) => <Time time={time} /> },
  {
    header: "Actions",
    isActions: true,
    cell: (member) => (
      <Button onClick={() => onRemove(member)}>
        Remove<span className="sr-only"> {member.email}</span>
      </Button>
    )
  }
]

export const Members = ({ id }: { readonly id: ProjectId }) => {
  const pages = usePages<UserId>()
  const members = useQuery(membersQuery(id, pages.after))
  const [isAdding, setIsAdding] = useState(false)
  const [removed, setRemoved] = useState<Member | null>(null)
  return (
    <section className="space-y-4">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-lg font-semibold">Members</h2>
        <Button onClick={() => setIsAdding(true)}>Add member</Button>
      </div>
      <PagedTable
        caption="Members"
        columns={columns(setRemoved)}
        empty={<EmptyState title="The project has no member">Add the first one.</EmptyState>}
        pages={pages}
        query={members}
      />
      {isAdding ? <AddMember id={id} onClose={() => setIsAdding(false)} /> : null}
      {removed === null ? null : <RemoveMember id={id} member={removed} onClose={() => setRemoved(null)} />}
    </section>
  )
}
