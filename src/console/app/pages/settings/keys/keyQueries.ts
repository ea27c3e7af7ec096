import { keepPreviousData, queryOptions } from "@tanstack/react-query"
import type { ApiKeyId } from "../../../../../domain/Ids.ts"
import { asking } from "../../../client/ask.ts"
import { readAgain } from "../../../client/queries.ts"

const ownKeys = "own-keys"

/** The user's keys that follow `after`; undefined: the first ones. */
export const ownKeysQuery = (after: ApiKeyId | undefined) =>
  queryOptions({
    queryKey: [ownKeys, after],
    queryFn: asking((client) => client.me.keys({ query: after === undefined ? {} : { after } })),
    placeholderData: keepPreviousData
  })

/** To be called after a change of a key. */
export const readKeysAgain = (): Promise<void> => readAgain({ queryKey: [ownKeys] })
