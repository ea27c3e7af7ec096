import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { MailPlus } from "lucide-react"
import { useState } from "react"
import { AdminApi } from "../../../../admin/AdminApi.ts"
import type { UserBody } from "../../../../admin/AdminBodies.ts"
import type { UserId } from "../../../../domain/Ids.ts"
import { pagePaths } from "../../../PagePaths.ts"
import { roleNames } from "../../text/roles.ts"
import { Button } from "../../ui/Button.tsx"
import { EmptyState } from "../../ui/EmptyState.tsx"
import { Page } from "../../ui/Page.tsx"
import { PagedTable } from "../../ui/PagedTable.tsx"
import { usePages } from "../../ui/Pagination.tsx"
import type { Column } from "../../ui/Table.tsx"
import { Time } from "../../ui/Time.tsx"
import { Invite } from "./invitations/Invite.tsx"
import { usersQuery } from "./lists.ts"
import { useMay } from "./permission.ts"
import { CreateUser } from "./users/CreateUser.tsx"
import { FindUser } from "./users/FindUser.tsx"
import { UserMenu } from "./users/UserMenu.tsx"
import { UserStatus } from "./users/UserStatus.tsx"

type User = typeof UserBody.Type

const columns: ReadonlyArray<Column<User>> = [
  {
    header: "E-mail address",
    cell: ({ email }) => (
      <Link
        className="font-medium text-accent underline underline-offset-2 hover:no-underline"
        search={{ email }}
        to={pagePaths.user}
      >
        {email}
      </Link>
    )
  },
  { header: "Organization", cell: ({ organization }) => organization },
  { header: "Role", cell: ({ role }) => roleNames[role] },
  { header: "Status", cell: (user) => <UserStatus user={user} /> },
  {
    header: "Last sign-in",
    isWhole: true,
    cell: ({ last_sign_in_at: time }) => (time === null ? "Never" : <Time isRelative time={time} />)
  },
  { header: "Actions", isActions: true, cell: (user) => <UserMenu user={user} /> }
]

/** An organization's admin sees the users of its organization. */
export const UsersPage = () => {
  const may = useMay()
  const pages = usePages<UserId>()
  const users = useQuery(usersQuery(pages.after))
  const [dialog, setDialog] = useState<"invite" | "create" | null>(null)
  const actions = (
    <>
      {may(AdminApi.groups.accounts.endpoints.createUser) ? (
        <Button onClick={() => setDialog("create")}>Create user</Button>
      ) : null}
      <Button kind="primary" onClick={() => setDialog("invite")}>
        <MailPlus aria-hidden="true" className="size-4" />
        Invite user
      </Button>
    </>
  )
  return (
    <Page
      actions={actions}
      description="Oldest first. A user's page has its limits, usage and keys."
      title="Users"
    >
      <FindUser />
      <PagedTable
        caption="Users"
        columns={columns}
        empty={<EmptyState title="There is no user">Invite the first one.</EmptyState>}
        pages={pages}
        query={users}
      />
      {dialog === "invite" ? <Invite onClose={() => setDialog(null)} /> : null}
      {dialog === "create" ? <CreateUser onClose={() => setDialog(null)} /> : null}
    </Page>
  )
}
