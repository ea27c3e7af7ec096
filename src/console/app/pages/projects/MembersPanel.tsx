import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { ProjectMemberObject, ProjectObject } from "../../../../api/ProjectObject.ts"
import type { UserId } from "../../../../domain/Ids.ts"
import { useUser } from "../../session/session.ts"
import { Button } from "../../ui/Button.tsx"
import { Menu } from "../../ui/Menu.tsx"
import { PagedTable } from "../../ui/PagedTable.tsx"
import { usePages } from "../../ui/Pagination.tsx"
import type { Column } from "../../ui/Table.tsx"
import { Time } from "../../ui/Time.tsx"
import { AddMember, ChangeRole, RemoveMember } from "./memberDialogs.tsx"
import { projectRoleNames } from "./projectRoles.ts"
import { membersQuery } from "./requests.ts"

type Member = ProjectMemberObject

interface Task {
  readonly kind: "role" | "remove"
  readonly member: Member
}

interface Viewer {
  readonly id: UserId
  readonly isOwner: boolean
}

const columns = (viewer: Viewer, onTask: (task: Task) => void): ReadonlyArray<Column<Member>> => [
  {
    header: "E-mail address",
    cell: ({ email, id }) => (
      <>
        <span className="font-medium">{email}</span>
        {id === viewer.id ? <span className="text-muted"> (you)</span> : null}
      </>
    )
  },
  { header: "Role", cell: ({ role }) => projectRoleNames[role] },
  {
    header: "Added",
    isWhole: true,
    cell: ({ added_at: time }) => <Time time={{ epochMilliseconds: time }} />
  },
  ...(viewer.isOwner
    ? [
        {
          header: "Actions",
          isActions: true,
          cell: (member: Member) => (
            <Menu
              items={[
                { label: "Change role…", onSelect: () => onTask({ kind: "role", member }) },
                { label: "Remove…", onSelect: () => onTask({ kind: "remove", member }), isDangerous: true }
              ]}
              label={`Actions for ${member.email}`}
            />
          )
        }
      ]
    : [])
]

/** Who is in the project, and, for owners, changes of that. */
export const MembersPanel = ({ project: { id, role } }: { readonly project: ProjectObject }) => {
  const pages = usePages<UserId>()
  const members = useQuery(membersQuery(id, pages.after))
  const { id: ownId } = useUser()
  const [isAdding, setIsAdding] = useState(false)
  const [task, setTask] = useState<Task | null>(null)
  const isOwner = role === "owner"
  const onClose = () => setTask(null)
  return (
    <div className="space-y-4">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-prose text-muted">
          Members ask, search and add files of their own. Owners also change members, files and the name.
        </p>
        {isOwner ? <Button onClick={() => setIsAdding(true)}>Add member</Button> : null}
      </div>
      <PagedTable
        caption="Members"
        columns={columns({ id: ownId, isOwner }, setTask)}
        empty={null}
        pages={pages}
        query={members}
      />
      {isAdding ? <AddMember id={id} onClose={() => setIsAdding(false)} /> : null}
      {task?.kind === "role" ? <ChangeRole id={id} member={task.member} onClose={onClose} /> : null}
      {task?.kind === "remove" ? <RemoveMember id={id} member={task.member} onClose={onClose} /> : null}
    </div>
  )
}
