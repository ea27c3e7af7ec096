import { Page } from "../../ui/Page.tsx"

export const PlansPage = () => <Page title="Plans & limits" />
