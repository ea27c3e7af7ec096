import { serviceUrl } from "../../../client/connection.ts"
import { CodeBlock } from "../../../ui/CodeBlock.tsx"
import { Dialog } from "../../../ui/Dialog.tsx"
import { Tabs } from "../../../ui/Tabs.tsx"
import { type Request, requestSnippets } from "./requestSnippets.ts"

interface RequestDialogProps {
  readonly request: Request
  readonly onClose: () => void
}

/** Shows how a program asks the same. */
export const RequestDialog = ({ onClose, request }: RequestDialogProps) => (
  <Dialog
    description="Without the messages before it, and with an API key of yours in the variable PARLEY_API_KEY."
    isOpen
    onOpenChange={onClose}
    title="As an API request"
  >
    <Tabs
      label="Languages"
      tabs={requestSnippets(serviceUrl(), request).map(({ code, name }) => ({
        value: name,
        label: name,
        content: <CodeBlock code={code} label={name} />
      }))}
    />
  </Dialog>
)
