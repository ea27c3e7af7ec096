import { useQuery } from "@tanstack/react-query"
import { useNavigate, useSearch } from "@tanstack/react-router"
import { Download } from "lucide-react"
import { useState } from "react"
import { AdminApi } from "../../../../admin/AdminApi.ts"
import { type AuditEntryBody, auditFormats, type AuditQuery } from "../../../../admin/AuditApi.ts"
import type { AuditEntryId } from "../../../../domain/Ids.ts"
import { pagePaths } from "../../../PagePaths.ts"
import { serviceUrl } from "../../client/connection.ts"
import { RequestFailed } from "../../client/RequestFailed.ts"
import { Button, buttonClass } from "../../ui/Button.tsx"
import { Card } from "../../ui/Card.tsx"
import { EmptyState } from "../../ui/EmptyState.tsx"
import { Page } from "../../ui/Page.tsx"
import { PagedTable } from "../../ui/PagedTable.tsx"
import { usePages } from "../../ui/Pagination.tsx"
import type { Column } from "../../ui/Table.tsx"
import { Time } from "../../ui/Time.tsx"
import { AuditFilter } from "./audit/AuditFilter.tsx"
import { EntryDialog } from "./audit/EntryDialog.tsx"
import { actorText, targetNames } from "./audit/entryText.ts"
import { actionText, auditQueryOf, exportPath } from "./audit/filter.ts"
import { auditQuery } from "./lists.ts"
import { useMay } from "./permission.ts"

const columns = (onShow: (entry: AuditEntryBody) => void): ReadonlyArray<Column<AuditEntryBody>> => [
  { header: "Time", isWhole: true, cell: ({ at }) => <Time time={at} /> },
  { header: "Who", cell: (entry) => actorText(entry) },
  { header: "Action", cell: ({ action }) => actionText(action) },
  {
    header: "About",
    cell: ({ organization, target_name: name, target_type: type }) => (
      <div>
        <span className="font-medium">{name}</span>
        <p className="text-muted">
          {targetNames[type]}
          {organization === null || organization === name ? null : ` of ${organization}`}
        </p>
      </div>
    )
  },
  {
    header: "Actions",
    isActions: true,
    cell: (entry) => (
      <Button onClick={() => onShow(entry)}>
        Details<span className="sr-only"> of {`${entry.action} ${entry.target_name}`}</span>
      </Button>
    )
  }
]

/** Links rather than requests: the browser saves the file while it arrives. */
const Exports = ({ query }: { readonly query: AuditQuery }) =>
  auditFormats.map((format) => (
    <a
      className={buttonClass("secondary")}
      download
      href={`${serviceUrl()}${exportPath(query, format)}`}
      key={format}
    >
      <Download aria-hidden="true" className="size-4" />
      Export {format.toUpperCase()}
    </a>
  ))

/** True if a refusal is about a field of the filter. */
const isOfFilter = (failure: unknown): boolean => failure instanceof RequestFailed && failure.field !== ""

const Entries = ({ query }: { readonly query: AuditQuery }) => {
  const pages = usePages<AuditEntryId>()
  const entries = useQuery(auditQuery(query, pages.after))
  const [shown, setShown] = useState<AuditEntryBody | null>(null)
  return (
    <>
      <PagedTable
        caption="Entries, the newest first"
        columns={columns(setShown)}
        empty={
          <EmptyState title="No entry matches">Show all entries, or choose other days or actions.</EmptyState>
        }
        pages={pages}
        query={entries}
      />
      {shown === null ? null : <EntryDialog entry={shown} onClose={() => setShown(null)} />}
    </>
  )
}

/** An organization's admin sees the entries about its organization. */
export const AuditPage = () => {
  const may = useMay()
  const navigate = useNavigate()
  const search = useSearch({ from: "/session/administration/audit" })
  const query = auditQueryOf(search)
  const place = JSON.stringify(query)
  const { error } = useQuery(auditQuery(query))
  return (
    <Page
      actions={<Exports query={query} />}
      description="Who did what, newest first. Entries can't be changed or deleted. An export has all entries that the filter matches, oldest first."
      title="Audit log"
    >
      <Card title="Filter">
        <AuditFilter
          failure={isOfFilter(error) ? error : null}
          hasOrganizations={may(AdminApi.groups.accounts.endpoints.createOrganization)}
          key={place}
          onFilter={(chosen) => void navigate({ to: pagePaths.audit, search: chosen })}
          search={search}
        />
      </Card>
      <Entries key={`entries ${place}`} query={query} />
    </Page>
  )
}
