import { Page } from "../../ui/Page.tsx"

export const UsersPage = () => <Page title="Users" />
