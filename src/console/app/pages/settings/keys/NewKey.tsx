import { Alert } from "../../../ui/Alert.tsx"
import { Button } from "../../../ui/Button.tsx"
import { CodeBlock } from "../../../ui/CodeBlock.tsx"
import { exportCommand } from "./snippets.ts"
import { Snippets } from "./Snippets.tsx"

interface NewKeyProps {
  readonly apiKey: string
  readonly onDone: () => void
}

/** A key that was just created, and how to use it. */
export const NewKey = ({ apiKey, onDone }: NewKeyProps) => (
  <div className="space-y-5">
    <CodeBlock code={apiKey} label="API key" />
    <Alert tone="warning">
      Anyone who has the key can spend your tokens. Keep it in a password manager or a secret store, never in
      the code of a program.
    </Alert>
    <h3 className="font-semibold">Use it</h3>
    <CodeBlock code={exportCommand(apiKey)} label="Environment variable" />
    <Snippets />
    <Button kind="primary" onClick={onDone}>
      I have saved the key
    </Button>
  </div>
)
