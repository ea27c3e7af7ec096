import { useUser } from "../../session/session.ts"
import { roleNames } from "../../text/roles.ts"
import { Card } from "../../ui/Card.tsx"
import { Facts } from "../../ui/Facts.tsx"
import { Page } from "../../ui/Page.tsx"
import { PasswordCard } from "./account/PasswordCard.tsx"
import { SessionsCard } from "./account/SessionsCard.tsx"

const Profile = () => {
  const { email, organization, role } = useUser()
  return (
    <Card title="You">
      <Facts
        facts={[
          { label: "E-mail address", value: email },
          { label: "Organization", value: organization },
          { label: "Role", value: roleNames[role] }
        ]}
      />
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
