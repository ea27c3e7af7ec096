import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { Plus } from "lucide-react"
import { useState } from "react"
import type { ProjectBody } from "../../../../admin/AdminBodies.ts"
import type { ProjectId } from "../../../../domain/Ids.ts"
import { pagePaths } from "../../../PagePaths.ts"
import { formatNumber } from "../../text/format.ts"
import { Button } from "../../ui/Button.tsx"
import { EmptyState } from "../../ui/EmptyState.tsx"
import { Page } from "../../ui/Page.tsx"
import { PagedTable } from "../../ui/PagedTable.tsx"
import { usePages } from "../../ui/Pagination.tsx"
import type { Column } from "../../ui/Table.tsx"
import { Time } from "../../ui/Time.tsx"
import { CreateProject } from "./projects/CreateProject.tsx"
import { projectsQuery } from "./projects/projectQueries.ts"

const columns: ReadonlyArray<Column<typeof ProjectBody.Type>> = [
  {
    header: "Name",
    cell: ({ id, name }) => (
      <Link
        className="font-medium text-accent underline underline-offset-2 hover:no-underline"
        search={{ id, name }}
        to={pagePaths.project}
      >
        {name}
      </Link>
    )
  },
  { header: "Organization", cell: ({ organization }) => organization },
  { header: "Members", isNumber: true, cell: ({ members }) => formatNumber(members) },
  { header: "Files", isNumber: true, cell: ({ files }) => formatNumber(files) },
  { header: "Created", isWhole: true, cell: ({ created_at: time }) => <Time time={time} /> }
]

/** An organization's admin sees the projects of its organization. */
export const ProjectsPage = () => {
  const pages = usePages<ProjectId>()
  const projects = useQuery(projectsQuery(pages.after))
  const [isCreating, setIsCreating] = useState(false)
  const create = (
    <Button kind="primary" onClick={() => setIsCreating(true)}>
      <Plus aria-hidden="true" className="size-4" />
      Create project
    </Button>
  )
  return (
    <Page
      actions={create}
      description="Shared files, and the members whose questions may be answered from them."
      title="All projects"
    >
      <PagedTable
        caption="Projects"
        columns={columns}
        empty={
          <EmptyState title="There is no project yet">
            Create one, then add its members. Files are added by the command line: parley project add-file.
          </EmptyState>
        }
        pages={pages}
        query={projects}
      />
      {isCreating ? <CreateProject onClose={() => setIsCreating(false)} /> : null}
    </Page>
  )
}
