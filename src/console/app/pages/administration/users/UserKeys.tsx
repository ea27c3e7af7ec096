import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { KeyBody } from "../../../../../admin/AdminApi.ts"
import type { ApiKeyId } from "../../../../../domain/Ids.ts"
import { Button } from "../../../ui/Button.tsx"
import { ConfirmDialog } from "../../../ui/ConfirmDialog.tsx"
import { EmptyState } from "../../../ui/EmptyState.tsx"
import { PagedTable } from "../../../ui/PagedTable.tsx"
import { usePages } from "../../../ui/Pagination.tsx"
import type { Column } from "../../../ui/Table.tsx"
import { showToast } from "../../../ui/toasts.ts"
import { keyColumns } from "../../settings/keys/KeyTable.tsx"
import { useChange } from "../change.ts"
import { keysQuery } from "../lists.ts"
import type { UserPartProps } from "./UserLimits.tsx"

type Key = typeof KeyBody.Type

const actions = (onRevoke: (key: Key) => void): Column<Key> => ({
  header: "Actions",
  isActions: true,
  cell: (key) =>
    key.status === "revoked" ? null : (
      <Button onClick={() => onRevoke(key)}>
        Revoke<span className="sr-only"> {key.name}</span>
      </Button>
    )
})

interface RevokeKeyProps {
  readonly apiKey: Key
  readonly email: string
  readonly onClose: () => void
}

const RevokeKey = ({ apiKey, email, onClose }: RevokeKeyProps) => {
  const revoking = useChange(
    () =>
      ({ accounts }) =>
        accounts.revokeKey({ params: { id: apiKey.id } }),
    ({ name }) => {
      showToast(`Revoked the key “${name}”.`)
      onClose()
    }
  )
  return (
    <ConfirmDialog
      confirmLabel="Revoke key"
      failure={revoking.error}
      isOpen
      isPending={revoking.isPending}
      onConfirm={() => revoking.mutate(undefined)}
      onOpenChange={onClose}
      title={`Revoke the key “${apiKey.name}”?`}
    >
      Programs of {email} that use this key are refused within five seconds. This can&apos;t be undone.
    </ConfirmDialog>
  )
}

/** The keys of a user, to be revoked; only their user sees and creates them. */
export const UserKeys = ({ email, isManaged }: UserPartProps) => {
  const pages = usePages<ApiKeyId>()
  const keys = useQuery(keysQuery(email, pages.after))
  const [revoked, setRevoked] = useState<Key | null>(null)
  return (
    <section className="space-y-4">
      <h2 className="text-lg font-semibold">API keys</h2>
      <PagedTable
        caption={`API keys of ${email}`}
        columns={isManaged ? [...keyColumns, actions(setRevoked)] : keyColumns}
        empty={
          <EmptyState title="This user has no API key">
            Users create their own keys in Settings → API keys.
          </EmptyState>
        }
        pages={pages}
        query={keys}
      />
      {revoked === null ? null : (
        <RevokeKey apiKey={revoked} email={email} onClose={() => setRevoked(null)} />
      )}
    </section>
  )
}
