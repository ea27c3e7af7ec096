import { Badge } from "../../../ui/Badge.tsx"
import { Menu } from "../../../ui/Menu.tsx"
import { type Column, Table } from "../../../ui/Table.tsx"
import { Time } from "../../../ui/Time.tsx"
import { limitTexts, type OwnKey } from "./ownKey.ts"

const tones = { active: "success", expired: "warning", revoked: "neutral" } as const
const statusNames = { active: "Active", expired: "Expired", revoked: "Revoked" }

const Limits = ({ apiKey }: { readonly apiKey: OwnKey }) => {
  const texts = limitTexts(apiKey)
  return texts.length === 0 ? "Those of the account" : texts.map((text) => <div key={text}>{text}</div>)
}

/** The columns of a list of keys. */
export const keyColumns: ReadonlyArray<Column<OwnKey>> = [
  {
    header: "Key",
    cell: ({ hint, name }) => (
      <>
        <div className="font-medium">{name}</div>
        <div className="font-mono text-muted">…{hint}</div>
      </>
    )
  },
  { header: "Status", cell: ({ status }) => <Badge tone={tones[status]}>{statusNames[status]}</Badge> },
  {
    header: "Last used",
    isWhole: true,
    cell: ({ last_used_at: time }) => (time === null ? "Never" : <Time isRelative time={time} />)
  },
  {
    header: "Expires",
    isWhole: true,
    cell: ({ expires_at: time }) => (time === null ? "Never" : <Time time={time} />)
  },
  { header: "Limits", cell: (apiKey) => <Limits apiKey={apiKey} /> },
  { header: "Created", cell: ({ created_at: time }) => <Time time={time} /> }
]

interface KeyTasks {
  readonly onLimits: (key: OwnKey) => void
  readonly onRevoke: (key: OwnKey) => void
}

const actions = ({ onLimits, onRevoke }: KeyTasks): Column<OwnKey> => ({
  header: "Actions",
  isActions: true,
  cell: (key) =>
    key.status === "revoked" ? null : (
      <Menu
        items={[
          { label: "Change limits…", onSelect: () => onLimits(key) },
          { label: "Revoke…", isDangerous: true, onSelect: () => onRevoke(key) }
        ]}
        label={`Actions for ${key.name}`}
      />
    )
})

interface KeyTableProps extends KeyTasks {
  readonly keys: ReadonlyArray<OwnKey>
}

export const KeyTable = ({ keys, ...tasks }: KeyTableProps) => (
  <Table
    caption="Your API keys"
    columns={[...keyColumns, actions(tasks)]}
    keyOf={({ id }) => id}
    rows={keys}
  />
)
