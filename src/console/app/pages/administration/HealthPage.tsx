import { Page } from "../../ui/Page.tsx"
import { Tabs } from "../../ui/Tabs.tsx"
import { Checks } from "./health/Checks.tsx"
import { Settings } from "./health/Settings.tsx"

export const HealthPage = () => (
  <Page
    description="Whether the installation is in order, what to do where it isn't, and with which settings it runs."
    title="Health"
  >
    <Tabs
      label="Parts of this page"
      tabs={[
        { value: "checks", label: "Checks", content: <Checks /> },
        { value: "settings", label: "Settings", content: <Settings /> }
      ]}
    />
  </Page>
)
