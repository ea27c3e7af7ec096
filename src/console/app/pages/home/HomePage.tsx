import { Link } from "@tanstack/react-router"
import { KeyRound } from "lucide-react"
import { pagePaths } from "../../../PagePaths.ts"
import { useUser } from "../../session/session.ts"
import { buttonClass } from "../../ui/Button.tsx"
import { Card } from "../../ui/Card.tsx"
import { Page } from "../../ui/Page.tsx"
import { AskCard } from "./AskCard.tsx"
import { ConnectModelCard } from "./ConnectModelCard.tsx"

const ApiKeyCard = () => (
  <Card
    actions={
      <Link className={buttonClass("secondary")} to={pagePaths.apiKeys}>
        <KeyRound aria-hidden="true" className="size-4" />
        Create an API key
      </Link>
    }
    description="With a key of yours, programs get the same answers: OpenAI-style client libraries work as they are."
    title="Use it from your programs"
  />
)

/** From the first answer to an own program with a real model. */
export const HomePage = () => {
  const { role } = useUser()
  const isOperator = role === "owner" || role === "admin"
  return (
    <Page title="Home">
      <AskCard />
      <ApiKeyCard />
      {isOperator ? <ConnectModelCard /> : null}
    </Page>
  )
}
