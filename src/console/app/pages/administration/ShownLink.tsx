import type { NewLinkBody } from "../../../../admin/PeopleApi.ts"
import { Alert } from "../../ui/Alert.tsx"
import { Button } from "../../ui/Button.tsx"
import { CodeBlock } from "../../ui/CodeBlock.tsx"
import { Time } from "../../ui/Time.tsx"

interface ShownLinkProps {
  readonly link: typeof NewLinkBody.Type
  readonly onDone: () => void
}

/** A new link, which is never shown again. */
export const ShownLink = ({ link, onDone }: ShownLinkProps) => (
  <div className="space-y-5">
    <Alert title="Copy the link now" tone="warning">
      It is not shown again. Send it to {link.email} by a way that only this person reads: who has the link
      chooses the password. It can be used once, until <Time time={link.expires_at} />.
    </Alert>
    <CodeBlock code={link.url} label="Link" />
    <Button kind="primary" onClick={onDone}>
      Done
    </Button>
  </div>
)
