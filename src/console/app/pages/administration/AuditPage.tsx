import { Page } from "../../ui/Page.tsx"

export const AuditPage = () => <Page title="Audit log" />
