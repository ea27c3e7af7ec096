import { useQuery } from "@tanstack/react-query"
import { useSearch } from "@tanstack/react-router"
import { Schema } from "effect"
import { useState } from "react"
import type { UserBody } from "../../../../admin/AdminBodies.ts"
import { Email } from "../../../../domain/Account.ts"
import { pagePaths } from "../../../PagePaths.ts"
import { useUser } from "../../session/session.ts"
import { roleNames, rolesManagedBy } from "../../text/roles.ts"
import { BackLink } from "../../ui/BackLink.tsx"
import { Button } from "../../ui/Button.tsx"
import { Card } from "../../ui/Card.tsx"
import { EmptyState } from "../../ui/EmptyState.tsx"
import { Facts } from "../../ui/Facts.tsx"
import { Loaded } from "../../ui/Loaded.tsx"
import { Page } from "../../ui/Page.tsx"
import { Time } from "../../ui/Time.tsx"
import { ReportCard } from "../usage/ReportCard.tsx"
import { Invite } from "./invitations/Invite.tsx"
import { limitsQuery, reportOf, userQuery } from "./lists.ts"
import { UserKeys } from "./users/UserKeys.tsx"
import { UserLimits } from "./users/UserLimits.tsx"
import { UserMenu } from "./users/UserMenu.tsx"
import { UserStatus } from "./users/UserStatus.tsx"

const isEmail = Schema.is(Email)

type User = typeof UserBody.Type

const factsOf = (user: User) => [
  { label: "Organization", value: user.organization },
  { label: "Role", value: roleNames[user.role] },
  { label: "Status", value: <UserStatus user={user} /> },
  { label: "Password", value: user.has_password ? "Set" : "None: the user can't sign in with one" },
  { label: "Single sign-on", value: user.identities > 0 ? "Linked" : "Not linked" },
  {
    label: "Last sign-in",
    value: user.last_sign_in_at === null ? "Never" : <Time time={user.last_sign_in_at} />
  },
  { label: "Created", value: <Time time={user.created_at} /> }
]

const UserUsage = ({ email }: { readonly email: string }) => {
  const { data: limits } = useQuery(limitsQuery(email))
  return (
    <ReportCard
      dailyLimit={limits?.daily.limit ?? null}
      hint="Choose a longer period."
      queryOf={reportOf(email)}
    />
  )
}

const Content = ({ user }: { readonly user: User }) => {
  const isManaged = rolesManagedBy(useUser().role).includes(user.role)
  return (
    <>
      <Card title="Account">
        <div className="space-y-6">
          <Facts facts={factsOf(user)} />
          <UserMenu isSpread user={user} />
        </div>
      </Card>
      <UserLimits email={user.email} isManaged={isManaged} />
      <UserUsage email={user.email} />
      <UserKeys email={user.email} isManaged={isManaged} />
    </>
  )
}

const NotFound = ({ email }: { readonly email: string }) => {
  const [isInviting, setIsInviting] = useState(false)
  return (
    <>
      <EmptyState
        actions={
          <Button kind="primary" onClick={() => setIsInviting(true)}>
            Invite user
          </Button>
        }
        title="There is no user of this address"
      >
        Check how it is written, or invite the person.
      </EmptyState>
      {isInviting ? <Invite email={email} onClose={() => setIsInviting(false)} /> : null}
    </>
  )
}

const Found = ({ email }: { readonly email: string }) => (
  <Loaded query={useQuery(userQuery(email))}>
    {({ data: [user] }) =>
      user === undefined ? <NotFound email={email} /> : <Content key={user.id} user={user} />
    }
  </Loaded>
)

/** One user: account, limits, usage and keys. */
export const UserPage = () => {
  const { email = "" } = useSearch({ from: "/session/administration/users/details" })
  return (
    <>
      <BackLink to={pagePaths.users}>All users</BackLink>
      <Page title={email === "" ? "User" : email}>
        {isEmail(email) ? <Found email={email} /> : <NotFound email={email} />}
      </Page>
    </>
  )
}
