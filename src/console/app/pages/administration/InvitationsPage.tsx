import { useQuery } from "@tanstack/react-query"
import { MailPlus } from "lucide-react"
import { useState } from "react"
import type { InvitationBody } from "../../../../admin/PeopleApi.ts"
import type { LinkId } from "../../../../domain/Ids.ts"
import { roleNames } from "../../text/roles.ts"
import { Button } from "../../ui/Button.tsx"
import { ConfirmDialog } from "../../ui/ConfirmDialog.tsx"
import { EmptyState } from "../../ui/EmptyState.tsx"
import { Page } from "../../ui/Page.tsx"
import { PagedTable } from "../../ui/PagedTable.tsx"
import { usePages } from "../../ui/Pagination.tsx"
import type { Column } from "../../ui/Table.tsx"
import { Time } from "../../ui/Time.tsx"
import { showToast } from "../../ui/toasts.ts"
import { useChange } from "./change.ts"
import { Invite } from "./invitations/Invite.tsx"
import { invitationsQuery } from "./lists.ts"

type Invitation = typeof InvitationBody.Type

const columns = (onRevoke: (invitation: Invitation) => void): ReadonlyArray<Column<Invitation>> => [
  { header: "E-mail address", cell: ({ email }) => <span className="font-medium">{email}</span> },
  { header: "Organization", cell: ({ organization }) => organization },
  { header: "Role", cell: ({ role }) => roleNames[role] },
  { header: "Invited", isWhole: true, cell: ({ created_at: time }) => <Time isRelative time={time} /> },
  { header: "Ends", isWhole: true, cell: ({ expires_at: time }) => <Time isRelative time={time} /> },
  {
    header: "Actions",
    isActions: true,
    cell: (invitation) => (
      <Button onClick={() => onRevoke(invitation)}>
        Revoke<span className="sr-only"> the invitation of {invitation.email}</span>
      </Button>
    )
  }
]

interface RevokeProps {
  readonly invitation: Invitation
  readonly onClose: () => void
}

const Revoke = ({ invitation, onClose }: RevokeProps) => {
  const revoking = useChange(
    () =>
      ({ people }) =>
        people.revokeInvitation({ params: { id: invitation.id } }),
    () => {
      showToast(`Revoked the invitation of ${invitation.email}.`)
      onClose()
    }
  )
  return (
    <ConfirmDialog
      confirmLabel="Revoke invitation"
      failure={revoking.error}
      isOpen
      isPending={revoking.isPending}
      onConfirm={() => revoking.mutate(undefined)}
      onOpenChange={onClose}
      title={`Revoke the invitation of ${invitation.email}?`}
    >
      Its link stops working at once. You can invite the same address again, with a new link.
    </ConfirmDialog>
  )
}

export const InvitationsPage = () => {
  const pages = usePages<LinkId>()
  const invitations = useQuery(invitationsQuery(pages.after))
  const [isInviting, setIsInviting] = useState(false)
  const [revoked, setRevoked] = useState<Invitation | null>(null)
  const invite = (
    <Button kind="primary" onClick={() => setIsInviting(true)}>
      <MailPlus aria-hidden="true" className="size-4" />
      Invite user
    </Button>
  )
  return (
    <Page
      actions={invite}
      description="Invitations that weren't used yet. The user is created when the link is used."
      title="Invitations"
    >
      <PagedTable
        caption="Open invitations"
        columns={columns(setRevoked)}
        empty={
          <EmptyState title="No invitation is open">
            Invite a user: you get a link to pass on, with which the person chooses a password.
          </EmptyState>
        }
        pages={pages}
        query={invitations}
      />
      {isInviting ? <Invite onClose={() => setIsInviting(false)} /> : null}
      {revoked === null ? null : <Revoke invitation={revoked} onClose={() => setRevoked(null)} />}
    </Page>
  )
}
