import { serviceUrl } from "../../../client/connection.ts"
import { CodeBlock } from "../../../ui/CodeBlock.tsx"
import { Tabs } from "../../../ui/Tabs.tsx"
import { snippets } from "./snippets.ts"

/** Code by which programs use a key, to be copied. */
export const Snippets = () => (
  <Tabs
    label="Client"
    tabs={snippets(serviceUrl()).map(({ code, name }) => ({
      value: name,
      label: name,
      content: <CodeBlock code={code} label={`${name} example`} />
    }))}
  />
)
