import { Tabs as BaseTabs } from "@base-ui/react/tabs"
import type { ReactNode } from "react"

export interface Tab {
  readonly value: string
  readonly label: string
  readonly content: ReactNode
}

interface TabsProps {
  /** The subject of the choice, for screen readers. */
  readonly label: string
  readonly tabs: ReadonlyArray<Tab>
  readonly value?: string
  readonly onValueChange?: (value: string) => void
}

export const Tabs = ({ label, onValueChange, tabs, value }: TabsProps) => (
  <BaseTabs.Root
    {...(value === undefined ? { defaultValue: tabs[0]?.value } : { value })}
    onValueChange={(chosen: string) => onValueChange?.(chosen)}
  >
    <BaseTabs.List aria-label={label} className="mb-4 flex gap-1 overflow-x-auto border-b border-line">
      {tabs.map((tab) => (
        <BaseTabs.Tab
          className="-mb-px min-h-10 border-b-2 border-transparent px-3 text-sm font-medium whitespace-nowrap text-muted hover:text-ink focus-visible:-outline-offset-2 data-active:border-accent data-active:text-ink"
          key={tab.value}
          value={tab.value}
        >
          {tab.label}
        </BaseTabs.Tab>
      ))}
    </BaseTabs.List>
    {tabs.map((tab) => (
      <BaseTabs.Panel key={tab.value} value={tab.value}>
        {tab.content}
      </BaseTabs.Panel>
    ))}
  </BaseTabs.Root>
)
