import { infiniteQueryOptions, keepPreviousData } from "@tanstack/react-query"
import { Schema } from "effect"
import type { ConversationList, ConversationObject } from "../../../../../api/ConversationObject.ts"
import { type ConversationId, ProjectId } from "../../../../../domain/Ids.ts"
import { ask, asking } from "../../../client/ask.ts"
import { queries } from "../../../client/queries.ts"
import { conversationKey } from "../thread/requests.ts"

/** Conversations that are read at once. */
const conversationsRead = 100

const isProjectId = Schema.is(ProjectId)

export const listKey = ["conversations"]

/** Of the user: those that have all words of the search. `hidden`: those of requests with a key; `project`: those about it, by its id. */
export const listQuery = (search: string, hidden: boolean, project: string) =>
  infiniteQueryOptions({
    queryKey: [...listKey, search, hidden, project],
    queryFn: ({ pageParam, signal }): Promise<ConversationList> =>
      asking((client) =>
        client.conversations.list({
          query: {
            limit: conversationsRead,
            ...(pageParam === null ? {} : { after: pageParam }),
            ...(search === "" ? {} : { search }),
            ...(hidden ? { hidden: "true" as const } : {}),
            ...(isProjectId(project) ? { project_id: project } : {})
          }
        })
      )({ signal }),
    initialPageParam: null as ConversationId | null,
    getNextPageParam: ({ has_more, last_id }: ConversationList) => (has_more ? last_id : null),
    placeholderData: keepPreviousData
  })

const changed = (id: ConversationId) =>
  Promise.all([
    queries.invalidateQueries({ queryKey: listKey }),
    queries.invalidateQueries({ queryKey: conversationKey(id) })
  ])

export const rename = async (id: ConversationId, title: string): Promise<ConversationObject> => {
  const renamed = await ask((client) =>
    client.conversations.update({ params: { conversation_id: id }, payload: { title } })
  )
  await changed(id)
  return renamed
}

export const remove = async (id: ConversationId): Promise<void> => {
  await ask((client) => client.conversations.delete({ params: { conversation_id: id } }))
  queries.removeQueries({ queryKey: conversationKey(id) })
  await queries.invalidateQueries({ queryKey: listKey })
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
