import { keepPreviousData, queryOptions } from "@tanstack/react-query"
import type { FileId, ProjectId, UserId } from "../../../../../domain/Ids.ts"
import type { CorpusStatus } from "../../../../../domain/Project.ts"
import { asking } from "../../../client/ask.ts"
import { administration } from "../change.ts"
import { afterOf } from "../lists.ts"

export const projectsQuery = (after?: ProjectId) =>
  queryOptions({
    queryKey: [administration, "projects", after],
    queryFn: asking(({ projects }) => projects.list({ query: afterOf(after) })),
    placeholderData: keepPreviousData
  })

/** The projects of that name, of which each organization has at most one. */
export const namedProjectsQuery = (name: string) =>
  queryOptions({
    queryKey: [administration, "projects named", name],
    queryFn: asking(({ projects }) => projects.list({ query: { name } }))
  })

export const membersQuery = (id: ProjectId, after?: UserId) =>
  queryOptions({
    queryKey: [administration, "members", id, after],
    queryFn: asking(({ projects }) =>
      projects.listMembers({ params: { project_id: id }, query: afterOf(after) })
    ),
    placeholderData: keepPreviousData
  })

/** While files are indexed, their state changes by itself. */
const filesSeconds = 15

export const filesQuery = (id: ProjectId, status: CorpusStatus | undefined, after?: FileId) =>
  queryOptions({
    queryKey: [administration, "files", id, status, after],
    queryFn: asking(({ projects }) =>
      projects.listFiles({
        params: { project_id: id },
        query: { ...afterOf(after), ...(status === undefined ? {} : { status }) }
      })
    ),
    placeholderData: keepPreviousData,
    refetchInterval: filesSeconds * 1_000
  })
