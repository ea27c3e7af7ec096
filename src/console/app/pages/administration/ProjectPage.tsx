import { useQuery } from "@tanstack/react-query"
import { useSearch } from "@tanstack/react-router"
import { Schema } from "effect"
import type { ProjectBody } from "../../../../admin/AdminBodies.ts"
import { ProjectName } from "../../../../domain/Project.ts"
import { pagePaths } from "../../../PagePaths.ts"
import { BackLink } from "../../ui/BackLink.tsx"
import { EmptyState } from "../../ui/EmptyState.tsx"
import { Loaded } from "../../ui/Loaded.tsx"
import { Page } from "../../ui/Page.tsx"
import { Members } from "./projects/Members.tsx"
import { ProjectFiles } from "./projects/ProjectFiles.tsx"
import { namedProjectsQuery } from "./projects/projectQueries.ts"
import { ProjectTasks } from "./projects/ProjectTasks.tsx"

const isName = Schema.is(ProjectName)

const NotFound = () => (
  <EmptyState title="There is no such project">Look for it in the list of all projects.</EmptyState>
)

const Content = ({ project, project: { id } }: { readonly project: typeof ProjectBody.Type }) => (
  <>
    <ProjectTasks project={project} />
    <Members id={id} />
    <ProjectFiles id={id} />
  </>
)

interface FoundProps {
  readonly id: string
  readonly name: string
}

const Found = ({ id, name }: FoundProps) => (
  <Loaded query={useQuery(namedProjectsQuery(name))}>
    {({ data }) => {
      const project = data.find((one) => one.id === id)
      return project === undefined ? <NotFound /> : <Content key={id} project={project} />
    }}
  </Loaded>
)

/** One project: its members and its files. */
export const ProjectPage = () => {
  const { id = "", name = "" } = useSearch({ from: "/session/administration/projects/details" })
  return (
    <>
      <BackLink to={pagePaths.projects}>All projects</BackLink>
      <Page title={name === "" ? "Project" : name}>
        {isName(name) ? <Found id={id} name={name} /> : <NotFound />}
      </Page>
    </>
  )
}
