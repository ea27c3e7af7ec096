import type { AuditEntryBody } from "../../../../../admin/AuditApi.ts"
import { formatUtc } from "../../../text/format.ts"
import { Dialog } from "../../../ui/Dialog.tsx"
import { Facts } from "../../../ui/Facts.tsx"
import { Time } from "../../../ui/Time.tsx"
import { actorText, detailName, detailText, originNames, targetNames } from "./entryText.ts"
import { actionText } from "./filter.ts"

interface EntryDialogProps {
  readonly entry: AuditEntryBody
  readonly onClose: () => void
}

const factsOf = (entry: AuditEntryBody) => [
  { label: "Time", value: <Time time={entry.at} /> },
  { label: "Time in UTC", value: formatUtc(entry.at) },
  { label: "Who", value: actorText(entry) },
  {
    label: "From",
    value: `${originNames[entry.origin]}${entry.address === null ? "" : `, ${entry.address}`}`
  },
  { label: "Action", value: <code className="font-mono">{entry.action}</code> },
  { label: targetNames[entry.target_type], value: entry.target_name },
  ...(entry.target_id === null
    ? []
    : [{ label: "Its id", value: <code className="font-mono">{entry.target_id}</code> }]),
  { label: "Organization", value: entry.organization ?? "None" },
  ...Object.entries(entry.details).map(([name, detail]) => ({
    label: detailName(name),
    value: detailText(detail)
  }))
]

/** Everything that is recorded of an entry. */
export const EntryDialog = ({ entry, onClose }: EntryDialogProps) => (
  <Dialog isOpen onOpenChange={onClose} title={actionText(entry.action)}>
    <Facts facts={factsOf(entry)} />
  </Dialog>
)
