import { queryOptions } from "@tanstack/react-query"
import type { OwnSession as OwnSessionBody } from "../../../../ConsoleApi.ts"
import { asking } from "../../../client/ask.ts"
import { readAgain } from "../../../client/queries.ts"

export type OwnSession = typeof OwnSessionBody.Type

const key = ["own-sessions"]

export const sessionsQuery = queryOptions({
  queryKey: key,
  queryFn: asking((client) => client.me.sessions())
})

/** To be called when a session has ended. */
export const readSessionsAgain = (): Promise<void> => readAgain({ queryKey: key })
