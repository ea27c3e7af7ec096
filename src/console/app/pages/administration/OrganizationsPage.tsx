import { useQuery } from "@tanstack/react-query"
import { Plus } from "lucide-react"
import { useState } from "react"
import { AdminApi, type OrganizationBody } from "../../../../admin/AdminApi.ts"
import type { OrganizationId } from "../../../../domain/Ids.ts"
import { Button } from "../../ui/Button.tsx"
import { EmptyState } from "../../ui/EmptyState.tsx"
import { Page } from "../../ui/Page.tsx"
import { PagedTable } from "../../ui/PagedTable.tsx"
import { usePages } from "../../ui/Pagination.tsx"
import type { Column } from "../../ui/Table.tsx"
import { Time } from "../../ui/Time.tsx"
import { organizationsQuery } from "./lists.ts"
import { ChangePlan } from "./organizations/ChangePlan.tsx"
import { CreateOrganization } from "./organizations/CreateOrganization.tsx"
import { useMay } from "./permission.ts"

type Organization = typeof OrganizationBody.Type

const { accounts, policy } = AdminApi.groups

const facts: ReadonlyArray<Column<Organization>> = [
  { header: "Name", cell: ({ name }) => <span className="font-medium">{name}</span> },
  { header: "Plan", cell: ({ plan }) => plan },
  { header: "Created", isWhole: true, cell: ({ created_at: time }) => <Time time={time} /> }
]

const actions = (onChange: (organization: Organization) => void): Column<Organization> => ({
  header: "Actions",
  isActions: true,
  cell: (organization) => (
    <Button onClick={() => onChange(organization)}>
      Change plan<span className="sr-only"> of {organization.name}</span>
    </Button>
  )
})

/** An organization's admin sees its own. */
export const OrganizationsPage = () => {
  const may = useMay()
  const pages = usePages<OrganizationId>()
  const organizations = useQuery(organizationsQuery(pages.after))
  const [isCreating, setIsCreating] = useState(false)
  const [changed, setChanged] = useState<Organization | null>(null)
  const create = may(accounts.endpoints.createOrganization) ? (
    <Button kind="primary" onClick={() => setIsCreating(true)}>
      <Plus aria-hidden="true" className="size-4" />
      Create organization
    </Button>
  ) : null
  return (
    <Page
      actions={create}
      description="Every user belongs to one organization, whose plan bounds what its users may do and spend."
      title="Organizations"
    >
      <PagedTable
        caption="Organizations"
        columns={may(policy.endpoints.setPlan) ? [...facts, actions(setChanged)] : facts}
        empty={
          <EmptyState title="There is no organization yet">Create one, then invite its users.</EmptyState>
        }
        pages={pages}
        query={organizations}
      />
      {isCreating ? <CreateOrganization onClose={() => setIsCreating(false)} /> : null}
      {changed === null ? null : <ChangePlan onClose={() => setChanged(null)} organization={changed} />}
    </Page>
  )
}
