import { type InfiniteData, infiniteQueryOptions, keepPreviousData } from "@tanstack/react-query"
import { Schema } from "effect"
import type { ConversationList, ConversationObject } from "../../../../../api/ConversationObject.ts"
import { type ConversationId, ProjectId } from "../../../../../domain/Ids.ts"
import { ask, asking } from "../../../client/ask.ts"
import { queries, readAgain } from "../../../client/queries.ts"
import { tellTabs } from "../tabs.ts"
import { conversationKey } from "../thread/requests.ts"
import { mergedPage } from "./rows.ts"

/** Conversations that are read at once. */
const conversationsRead = 100

const isProjectId = Schema.is(ProjectId)

export const listKey = ["conversations"]

interface Wanted {
  readonly search: string
  readonly hidden: boolean
  readonly project: string
}

const readPage = ({ hidden, project, search }: Wanted, after: ConversationId | null) =>
  asking((client) =>
    client.conversations.list({
      query: {
        limit: conversationsRead,
        ...(after === null ? {} : { after }),
        ...(search === "" ? {} : { search }),
        ...(hidden ? { hidden: "true" as const } : {}),
        ...(isProjectId(project) ? { project_id: project } : {})
      }
    })
  )

type Pages = InfiniteData<ConversationList, ConversationId | null>

/**
 * Conversations of the user with all words of the search. `hidden`: those of requests with a key; `project`:
 * those about it, by its id.
 */
export const listQuery = (search: string, hidden: boolean, project: string) =>
  infiniteQueryOptions({
    queryKey: [...listKey, search, hidden, project],
    queryFn: ({ pageParam, signal }): Promise<ConversationList> =>
      readPage({ search, hidden, project }, pageParam)({ signal }),
    initialPageParam: null as ConversationId | null,
    getNextPageParam: ({ has_more, last_id }: ConversationList) => (has_more ? last_id : null),
    placeholderData: keepPreviousData,
    // All pages would be read again; `refreshList` reads the first one.
    refetchOnWindowFocus: ({ state }) => (state.data?.pages.length ?? 0) <= 1,
    refetchOnReconnect: ({ state }) => (state.data?.pages.length ?? 0) <= 1
  })

/** Shows the conversations that were used last, however many pages of older ones there are. */
export const refreshList = async (): Promise<void> => {
  queries.removeQueries({ queryKey: listKey, type: "inactive" })
  await Promise.all(
    queries
      .getQueryCache()
      .findAll({ queryKey: listKey })
      .map(async ({ queryKey, state }) => {
        const pages = (state.data as Pages | undefined)?.pages ?? []
        const [, search, hidden, project] = queryKey as unknown as readonly [string, string, boolean, string]
        // Results of a search are read again by the search.
        if (pages.length <= 1 || search !== "") return readAgain({ queryKey, exact: true })
        const fresh = await queries.fetchQuery({
          queryKey: ["newest-conversations", hidden, project],
          queryFn: readPage({ search, hidden, project }, null),
          staleTime: 0
        })
        queries.setQueryData<Pages>(queryKey, (data) => {
          const [first, ...others] = data?.pages ?? []
          return data === undefined || first === undefined
            ? data
            : { ...data, pages: [mergedPage(first, fresh), ...others] }
        })
      })
  )
}

const changeRows = (
  change: (rows: ReadonlyArray<ConversationObject>) => ReadonlyArray<ConversationObject>
): void => {
  queries.setQueriesData<Pages>({ queryKey: listKey }, (data) =>
    data === undefined
      ? data
      : { ...data, pages: data.pages.map((page) => ({ ...page, data: change(page.data) })) }
  )
}

/** Reads again what another tab has changed. */
export const readChanged = (id: ConversationId) =>
  Promise.all([readAgain({ queryKey: conversationKey(id) }), refreshList()])

export const rename = async (id: ConversationId, title: string): Promise<ConversationObject> => {
  const renamed = await ask((client) =>
    client.conversations.update({ params: { conversation_id: id }, payload: { title } })
  )
  changeRows((rows) => rows.map((row) => (row.id === id ? { ...row, title: renamed.title } : row)))
  await readAgain({ queryKey: conversationKey(id) })
  tellTabs(id)
  return renamed
}

export const remove = async (id: ConversationId): Promise<void> => {
  await ask((client) => client.conversations.delete({ params: { conversation_id: id } }))
  queries.removeQueries({ queryKey: conversationKey(id) })
  tellTabs(id)
  changeRows((rows) => rows.filter((row) => row.id !== id))
}

/** `project`: its id, or nothing for none. */
export const create = (instructions: string, project: string): Promise<ConversationObject> =>
  ask((client) =>
    client.conversations.create({
      payload: {
        ...(instructions === "" ? {} : { instructions }),
        ...(project === "" ? {} : { project_id: ProjectId.make(project) })
      }
    })
  )
