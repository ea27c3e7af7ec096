import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Badge } from "../../../ui/Badge.tsx"
import { Checkbox } from "../../../ui/Checkbox.tsx"
import { EmptyState } from "../../../ui/EmptyState.tsx"
import { Loaded } from "../../../ui/Loaded.tsx"
import { type Column, Table } from "../../../ui/Table.tsx"
import { TextField } from "../../../ui/TextField.tsx"
import { settingsQuery } from "../lists.ts"
import { isChanged, isSecret, type Setting, settingsFor } from "./settings.ts"

const Value = ({ setting }: { readonly setting: Setting }) => {
  if (isSecret(setting)) return <span className="text-muted">Set, hidden</span>
  return setting.value === null ? (
    <span className="text-muted">Not set</span>
  ) : (
    <code className="font-mono">{setting.value}</code>
  )
}

const columns: ReadonlyArray<Column<Setting>> = [
  {
    header: "Setting",
    isProse: true,
    cell: ({ description, name }) => (
      <div>
        <code className="font-mono font-medium">{name}</code>
        <p className="mt-1 text-muted">{description}</p>
      </div>
    )
  },
  { header: "Value", cell: (setting) => <Value setting={setting} /> },
  {
    header: "Source",
    cell: (setting) =>
      isChanged(setting) ? <Badge tone="success">Environment</Badge> : <Badge>Default</Badge>
  }
]

/** The list of `parley config show`: the service reads its settings from the environment when it starts. */
export const Settings = () => {
  const settings = useQuery(settingsQuery)
  const [text, setText] = useState("")
  const [isChangedOnly, setIsChangedOnly] = useState(false)
  return (
    <div className="space-y-6">
      <p className="max-w-prose text-muted">
        The service reads its settings from its environment when it starts. To change one, set it there and
        start the service again.
      </p>
      <search className="grid items-end gap-4 sm:grid-cols-[minmax(0,24rem)_auto] sm:justify-start">
        <TextField label="Find settings" name="text" onValueChange={setText} type="search" value={text} />
        <div className="pb-2">
          <Checkbox
            checked={isChangedOnly}
            label="Only those that differ from their default"
            name="changed"
            onCheckedChange={setIsChangedOnly}
          />
        </div>
      </search>
      <Loaded query={settings}>
        {({ data }) => {
          const shown = settingsFor(data, { isChangedOnly, text })
          return shown.length === 0 ? (
            <EmptyState title="No setting matches">Enter fewer words, or show all settings.</EmptyState>
          ) : (
            <Table caption="Settings" columns={columns} keyOf={({ name }) => name} rows={shown} />
          )
        }}
      </Loaded>
    </div>
  )
}
