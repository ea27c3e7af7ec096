import { type User, useUser } from "../../session/session.ts"
import { Card } from "../../ui/Card.tsx"
import { Page } from "../../ui/Page.tsx"
import { PasswordCard } from "./account/PasswordCard.tsx"
import { SessionsCard } from "./account/SessionsCard.tsx"

const roleNames: Readonly<Record<User["role"], string>> = {
  owner: "Owner of the installation",
  admin: "Administrator of the installation",
  organization_admin: "Administrator of the organization",
  member: "Member"
}

const Profile = () => {
  const { email, organization, role } = useUser()
  const facts = [
    ["E-mail address", email],
    ["Organization", organization],
    ["Role", roleNames[role]]
  ] as const
  return (
    <Card title="You">
      <dl className="grid gap-x-8 gap-y-3 sm:grid-cols-[max-content_1fr]">
        {facts.map(([name, value]) => (
          <div className="contents" key={name}>
            <dt className="text-muted">{name}</dt>
            <dd className="max-sm:mb-2">{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}

export const AccountPage = () => (
  <Page title="Account">
    <Profile />
    <SessionsCard />
    <PasswordCard />
  </Page>
)
