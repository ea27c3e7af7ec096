import { Page } from "../ui/Page.tsx"

export const LinkPage = () => <Page title="Link" />
