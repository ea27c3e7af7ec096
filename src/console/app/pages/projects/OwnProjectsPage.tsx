import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { Plus } from "lucide-react"
import { useState } from "react"
import type { ProjectObject } from "../../../../api/ProjectObject.ts"
import type { ProjectId } from "../../../../domain/Ids.ts"
import { pagePaths } from "../../../PagePaths.ts"
import { useUser } from "../../session/session.ts"
import { formatNumber } from "../../text/format.ts"
import { Alert } from "../../ui/Alert.tsx"
import { Button } from "../../ui/Button.tsx"
import { EmptyState } from "../../ui/EmptyState.tsx"
import { Page } from "../../ui/Page.tsx"
import { PagedTable } from "../../ui/PagedTable.tsx"
import { usePages } from "../../ui/Pagination.tsx"
import type { Column } from "../../ui/Table.tsx"
import { Time } from "../../ui/Time.tsx"
import { NewProject } from "./NewProject.tsx"
import { projectRoleNames } from "./projectRoles.ts"
import { permittedQuery, projectsQuery } from "./requests.ts"

const Files = ({ file_counts: { failed, pending, total } }: ProjectObject) => (
  <>
    {formatNumber(total)}
    {pending > 0 ? <p className="text-muted">{formatNumber(pending)} pending</p> : null}
    {failed > 0 ? <p className="text-danger">{formatNumber(failed)} failed</p> : null}
  </>
)

const columns: ReadonlyArray<Column<ProjectObject>> = [
  {
    header: "Name",
    cell: ({ id, name }) => (
      <Link
        className="font-medium text-accent underline underline-offset-2 hover:no-underline"
        params={{ id }}
        to={pagePaths.ownProject}
      >
        {name}
      </Link>
    )
  },
  { header: "Your role", cell: ({ role }) => projectRoleNames[role] },
  { header: "Files", isNumber: true, cell: (project) => <Files {...project} /> },
  { header: "Members", isNumber: true, cell: ({ members }) => formatNumber(members) },
  {
    header: "Created",
    isWhole: true,
    cell: ({ created_at: time }) => <Time time={{ epochMilliseconds: time }} />
  }
]

/** Why the user can't create a project: what the service would answer, before it is asked. */
const NotPermitted = ({ projects }: { readonly projects: boolean }) => {
  const isAdministrator = useUser().role !== "member"
  return (
    <Alert>
      {!projects
        ? "Your plan doesn't permit projects. Ask an administrator to change it."
        : isAdministrator
          ? "Your plan doesn't permit creating projects. It can be changed under Administration."
          : "You can't create projects: your plan doesn't permit it, or it is left to administrators. Ask one of them to create " +
            "the project and to make you its owner."}
    </Alert>
  )
}

/** The projects that the user is a member of. */
export const OwnProjectsPage = () => {
  const pages = usePages<ProjectId>()
  const projects = useQuery(projectsQuery(pages.after))
  const { data: permitted } = useQuery(permittedQuery)
  const [isCreating, setIsCreating] = useState(false)
  const mayCreate = permitted?.create_projects === true
  return (
    <Page
      actions={
        mayCreate ? (
          <Button kind="primary" onClick={() => setIsCreating(true)}>
            <Plus aria-hidden="true" className="size-4" />
            Create project
          </Button>
        ) : undefined
      }
      description="Shared files, and the people whose questions are answered from them."
      title="Projects"
    >
      {permitted === undefined || mayCreate ? null : <NotPermitted projects={permitted.projects} />}
      <PagedTable
        caption="Projects"
        columns={columns}
        empty={
          <EmptyState title="You are in no project yet">
            {mayCreate
              ? "Create one, add files to it, and ask questions that are answered from them."
              : "Once an owner of a project adds you, it is listed here."}
          </EmptyState>
        }
        pages={pages}
        query={projects}
      />
      {isCreating ? <NewProject onClose={() => setIsCreating(false)} /> : null}
    </Page>
  )
}
