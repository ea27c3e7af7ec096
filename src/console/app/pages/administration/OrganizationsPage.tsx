import { useQuery } from "@tanstack/react-query"
import { Plus } from "lucide-react"
import { useState } from "react"
import { AdminApi } from "../../../../admin/AdminApi.ts"
import type { OrganizationBody } from "../../../../admin/AdminBodies.ts"
import type { OrganizationId } from "../../../../domain/Ids.ts"
import { Button } from "../../ui/Button.tsx"
import { EmptyState } from "../../ui/EmptyState.tsx"
import { Menu } from "../../ui/Menu.tsx"
import { Page } from "../../ui/Page.tsx"
import { PagedTable } from "../../ui/PagedTable.tsx"
import { usePages } from "../../ui/Pagination.tsx"
import type { Column } from "../../ui/Table.tsx"
import { Time } from "../../ui/Time.tsx"
import { organizationsQuery } from "./lists.ts"
import { ChangePlan } from "./organizations/ChangePlan.tsx"
import { CreateOrganization } from "./organizations/CreateOrganization.tsx"
import { DeleteOrganization, RenameOrganization } from "./organizations/DeleteOrganization.tsx"
import { useMay } from "./permission.ts"

type Organization = typeof OrganizationBody.Type

const { accounts, policy } = AdminApi.groups

const facts: ReadonlyArray<Column<Organization>> = [
  { header: "Name", cell: ({ name }) => <span className="font-medium">{name}</span> },
  { header: "Plan", cell: ({ plan }) => plan },
  { header: "Created", isWhole: true, cell: ({ created_at: time }) => <Time time={time} /> }
]

const dialogs = { plan: ChangePlan, rename: RenameOrganization, delete: DeleteOrganization }

/** A change of an organization, in a dialog over the page. */
interface Task {
  readonly kind: keyof typeof dialogs
  readonly organization: Organization
}

const actions = (onTask: (task: Task) => void): Column<Organization> => ({
  header: "Actions",
  isActions: true,
  cell: (organization) => (
    <Menu
      items={[
        { label: "Change plan…", onSelect: () => onTask({ kind: "plan", organization }) },
        { label: "Rename…", onSelect: () => onTask({ kind: "rename", organization }) },
        { label: "Delete…", isDangerous: true, onSelect: () => onTask({ kind: "delete", organization }) }
      ]}
      label={`Actions for ${organization.name}`}
    />
  )
})

const TaskDialog = ({ onClose, task }: { readonly task: Task; readonly onClose: () => void }) => {
  const Chosen = dialogs[task.kind]
  return <Chosen onClose={onClose} organization={task.organization} />
}

/** An organization's admin sees its own. */
export const OrganizationsPage = () => {
  const may = useMay()
  const pages = usePages<OrganizationId>()
  const organizations = useQuery(organizationsQuery(pages.after))
  const [isCreating, setIsCreating] = useState(false)
  const [task, setTask] = useState<Task | null>(null)
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
        columns={may(policy.endpoints.setPlan) ? [...facts, actions(setTask)] : facts}
        empty={
          <EmptyState title="There is no organization yet">Create one, then invite its users.</EmptyState>
        }
        pages={pages}
        query={organizations}
      />
      {isCreating ? <CreateOrganization onClose={() => setIsCreating(false)} /> : null}
      {task === null ? null : <TaskDialog onClose={() => setTask(null)} task={task} />}
    </Page>
  )
}
