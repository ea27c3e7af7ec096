import { Page } from "../ui/Page.tsx"

export const UsagePage = () => <Page title="Usage" />
