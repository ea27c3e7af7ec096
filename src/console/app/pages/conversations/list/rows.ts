import type { ConversationList, ConversationObject } from "../../../../../api/ConversationObject.ts"

/** The rows of all pages; one that was used meanwhile may be in two of them, of which the first counts. */
export const rowsOfPages = (pages: ReadonlyArray<ConversationList>): ReadonlyArray<ConversationObject> => {
  const seen = new Set<string>()
  return pages
    .flatMap(({ data }) => data)
    .filter(({ id }) => {
      const isNew = !seen.has(id)
      seen.add(id)
      return isNew
    })
}

/** The page with what was read again; rows that new ones have pushed out of it stay. */
export const mergedPage = (old: ConversationList, fresh: ConversationList): ConversationList => {
  const ids = new Set(fresh.data.map(({ id }) => id))
  const end = fresh.data.at(-1)?.updated_at ?? 0
  const pushedOut = old.data.filter(({ id, updated_at }) => !ids.has(id) && updated_at <= end)
  return { ...old, data: [...fresh.data, ...pushedOut] }
}
