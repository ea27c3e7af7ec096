import { useQuery } from "@tanstack/react-query"
import { Plus } from "lucide-react"
import { useState } from "react"
import type { ApiKeyId } from "../../../../domain/Ids.ts"
import { Button } from "../../ui/Button.tsx"
import { Card } from "../../ui/Card.tsx"
import { EmptyState } from "../../ui/EmptyState.tsx"
import { Loaded } from "../../ui/Loaded.tsx"
import { Page } from "../../ui/Page.tsx"
import { Pagination, usePages } from "../../ui/Pagination.tsx"
import { KeyLimitsDialog } from "./keys/KeyLimitsDialog.tsx"
import { ownKeysQuery } from "./keys/keyQueries.ts"
import { KeyTable } from "./keys/KeyTable.tsx"
import { NewKeyDialog } from "./keys/NewKeyDialog.tsx"
import { type OwnKey, sorted } from "./keys/ownKey.ts"
import { RevokeKeyDialog } from "./keys/RevokeKeyDialog.tsx"
import { Snippets } from "./keys/Snippets.tsx"

/** A change of a key, in a dialog over the page. */
type Task = { readonly kind: "create" } | { readonly kind: "revoke" | "limits"; readonly key: OwnKey }

const TaskDialogs = ({ onClose, task }: { readonly task: Task | null; readonly onClose: () => void }) => (
  <>
    <NewKeyDialog isOpen={task?.kind === "create"} onClose={onClose} />
    {task?.kind === "revoke" ? <RevokeKeyDialog apiKey={task.key} onClose={onClose} /> : null}
    {task?.kind === "limits" ? <KeyLimitsDialog apiKey={task.key} onClose={onClose} /> : null}
  </>
)

export const ApiKeysPage = () => {
  const pages = usePages<ApiKeyId>()
  const keys = useQuery(ownKeysQuery(pages.after))
  const [task, setTask] = useState<Task | null>(null)
  const createButton = (
    <Button kind="primary" onClick={() => setTask({ kind: "create" })}>
      <Plus aria-hidden="true" className="size-4" />
      Create key
    </Button>
  )
  return (
    <Page
      actions={createButton}
      description="Programs use the service in your name with an API key. What they use counts against your limits."
      title="API keys"
    >
      <Loaded query={keys}>
        {(page) =>
          page.data.length === 0 && pages.number === 1 ? (
            <EmptyState title="You have no API key yet">
              Create one, and copy it into the program that is to use the service.
            </EmptyState>
          ) : (
            <>
              <KeyTable
                keys={sorted(page.data)}
                onLimits={(key) => setTask({ kind: "limits", key })}
                onRevoke={(key) => setTask({ kind: "revoke", key })}
              />
              <Pagination page={page} pages={pages} />
            </>
          )
        }
      </Loaded>
      <Card
        description="Set PARLEY_API_KEY to your key first. Any library for the Responses API of OpenAI works."
        title="Connect a program"
      >
        <Snippets />
      </Card>
      <TaskDialogs onClose={() => setTask(null)} task={task} />
    </Page>
  )
}
