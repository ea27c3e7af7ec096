import { useQuery } from "@tanstack/react-query"
import { Link, useParams } from "@tanstack/react-router"
import { Schema } from "effect"
import { MessagesSquare } from "lucide-react"
import type { ProjectObject } from "../../../../api/ProjectObject.ts"
import { formatBytes } from "../../../../domain/formatBytes.ts"
import { ProjectId } from "../../../../domain/Ids.ts"
import { pagePaths } from "../../../PagePaths.ts"
import { formatCount } from "../../text/format.ts"
import { BackLink } from "../../ui/BackLink.tsx"
import { buttonClass } from "../../ui/Button.tsx"
import { Loaded } from "../../ui/Loaded.tsx"
import { Page } from "../../ui/Page.tsx"
import { Tabs } from "../../ui/Tabs.tsx"
import { NotFoundPage } from "../NotFoundPage.tsx"
import { CorpusPanel } from "./CorpusPanel.tsx"
import { MembersPanel } from "./MembersPanel.tsx"
import { OwnProjectTasks } from "./OwnProjectTasks.tsx"
import { projectRoleNames } from "./projectRoles.ts"
import { projectQuery } from "./requests.ts"
import { SearchPanel } from "./SearchPanel.tsx"

const isId = Schema.is(ProjectId)

const descriptionOf = ({ bytes, file_counts: { total }, members, role }: ProjectObject): string =>
  [
    `Your role: ${projectRoleNames[role]}`,
    formatCount(members, "member"),
    `${formatCount(total, "file")}${total === 0 ? "" : ` of ${formatBytes(bytes)}`}`
  ].join(" · ")

const Found = ({ project }: { readonly project: ProjectObject }) => (
  <Tabs
    label="Parts of the project"
    tabs={[
      { value: "files", label: "Files", content: <CorpusPanel project={project} /> },
      { value: "search", label: "Search", content: <SearchPanel id={project.id} /> },
      { value: "members", label: "Members", content: <MembersPanel project={project} /> }
    ]}
  />
)

const AskLink = ({ id }: Pick<ProjectObject, "id">) => (
  <Link className={buttonClass("primary")} search={{ project: id }} to={pagePaths.conversations}>
    <MessagesSquare aria-hidden="true" className="size-4" />
    Ask about this project
  </Link>
)

const WithId = ({ id }: Pick<ProjectObject, "id">) => {
  const query = useQuery(projectQuery(id))
  const project = query.data
  return (
    <Page
      actions={
        project === undefined ? undefined : (
          <>
            <AskLink id={id} />
            <OwnProjectTasks project={project} />
          </>
        )
      }
      description={project === undefined ? undefined : descriptionOf(project)}
      title={project?.name ?? "Project"}
    >
      <Loaded query={query}>{(found) => <Found project={found} />}</Loaded>
    </Page>
  )
}

/** One project of the user: its files, a search in them, and its members. */
export const OwnProjectPage = () => {
  const { id } = useParams({ strict: false })
  if (!isId(id)) return <NotFoundPage />
  return (
    <>
      <BackLink to={pagePaths.ownProjects}>Projects</BackLink>
      <WithId id={id} key={id} />
    </>
  )
}
