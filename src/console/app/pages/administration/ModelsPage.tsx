import { Page } from "../../ui/Page.tsx"

export const ModelsPage = () => <Page title="Models" />
