import { Page } from "../../ui/Page.tsx"

export const OrganizationsPage = () => <Page title="Organizations" />
