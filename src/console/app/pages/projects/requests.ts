import { keepPreviousData, queryOptions } from "@tanstack/react-query"
import type { ProjectFileList, ProjectObject } from "../../../../api/ProjectObject.ts"
import type { FileId, ProjectId, UserId } from "../../../../domain/Ids.ts"
import type { CorpusStatus } from "../../../../domain/Project.ts"
import { asking } from "../../client/ask.ts"
import { changing } from "../../client/change.ts"
import { readAgain } from "../../client/queries.ts"

/** The beginning of the keys of all queries of the user's projects. */
const ownProjects = "own projects"

/** A change of the user's projects; afterwards, all that is shown of them is read again. */
export const useProjectChange = changing(ownProjects)

export const readProjectsAgain = () => readAgain({ queryKey: [ownProjects] })

/** Projects that are read at once. */
const projectsRead = 100

/** While files are indexed, their state changes by itself; and other members add files. */
const indexingSeconds = 2
const idleSeconds = 30

const secondsBetween = (isIndexing: boolean): number => (isIndexing ? indexingSeconds : idleSeconds) * 1_000

const isIndexing = (project: ProjectObject | undefined): boolean => (project?.file_counts.pending ?? 0) > 0

const afterOf = <Id>(after: Id | undefined) => (after === undefined ? {} : { after })

export const projectsQuery = (after?: ProjectId) =>
  queryOptions({
    queryKey: [ownProjects, "list", after],
    queryFn: asking((client) =>
      client.ownProjects.list({ query: { limit: projectsRead, ...afterOf(after) } })
    ),
    placeholderData: keepPreviousData
  })

/** The permissions of the user by plan, license and settings, to show what would be refused as such. */
export const permittedQuery = queryOptions({
  queryKey: ["permitted"],
  queryFn: asking(({ ownFiles }) => ownFiles.permitted())
})

export const projectQuery = (id: ProjectId) =>
  queryOptions({
    queryKey: [ownProjects, "project", id],
    queryFn: ({ signal }): Promise<ProjectObject> =>
      asking((client) => client.ownProjects.get({ params: { project_id: id } }))({ signal }),
    refetchInterval: ({ state }) => secondsBetween(isIndexing(state.data))
  })

export const membersQuery = (id: ProjectId, after?: UserId) =>
  queryOptions({
    queryKey: [ownProjects, "members", id, after],
    queryFn: asking((client) =>
      client.ownProjects.listMembers({ params: { project_id: id }, query: afterOf(after) })
    ),
    placeholderData: keepPreviousData
  })

export const filesQuery = (id: ProjectId, status: CorpusStatus | undefined, after?: FileId) =>
  queryOptions({
    queryKey: [ownProjects, "files", id, status, after],
    queryFn: ({ signal }): Promise<typeof ProjectFileList.Type> =>
      asking((client) =>
        client.ownProjects.listFiles({
          params: { project_id: id },
          query: { ...afterOf(after), ...(status === undefined ? {} : { status }) }
        })
      )({ signal }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      secondsBetween(state.data?.data.some((file) => file.status === "pending") === true)
  })

/** Files of one page of the user's own. */
const ownFilesRead = 100

/** The user's own files, the newest first, to add them to a project. */
export const addableQuery = (after?: FileId) =>
  queryOptions({
    queryKey: [ownProjects, "own files", after],
    queryFn: asking(({ ownFiles }) => ownFiles.list({ query: { limit: ownFilesRead, ...afterOf(after) } })),
    placeholderData: keepPreviousData
  })
