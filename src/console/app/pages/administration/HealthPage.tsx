import { Page } from "../../ui/Page.tsx"

export const HealthPage = () => <Page title="Health" />
