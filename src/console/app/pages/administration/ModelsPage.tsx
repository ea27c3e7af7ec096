import { Page } from "../../ui/Page.tsx"
import { Tabs } from "../../ui/Tabs.tsx"
import { Explain } from "./models/Explain.tsx"
import { ModelTables } from "./models/ModelTables.tsx"

export const ModelsPage = () => (
  <Page
    description="The models that answer, how their providers do, and why one would be chosen for a message."
    title="Models"
  >
    <Tabs
      label="Parts of this page"
      tabs={[
        { value: "models", label: "Models", content: <ModelTables /> },
        { value: "explain", label: "Why one is chosen", content: <Explain /> }
      ]}
    />
  </Page>
)
