import { Page } from "../../ui/Page.tsx"

export const InvitationsPage = () => <Page title="Invitations" />
