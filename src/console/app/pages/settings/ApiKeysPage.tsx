import { Page } from "../../ui/Page.tsx"

export const ApiKeysPage = () => <Page title="API keys" />
