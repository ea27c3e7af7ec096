import { keepPreviousData, queryOptions } from "@tanstack/react-query"
import type { UsageBy } from "../../../../domain/Allowance.ts"
import { asking } from "../../client/ask.ts"
import type { Period } from "./report.ts"

/** Running requests change what is held by the second; the page shows it a little later. */
const limitsMilliseconds = 10_000

export const limitsQuery = queryOptions({
  queryKey: ["own-limits"],
  queryFn: asking((client) => client.me.limits()),
  refetchInterval: limitsMilliseconds,
  staleTime: 0
})

export const reportQuery = (by: UsageBy, period: Period) =>
  queryOptions({
    queryKey: ["own-usage", by, period],
    queryFn: asking((client) => client.me.usage({ query: { by, ...period } })),
    placeholderData: keepPreviousData,
    staleTime: limitsMilliseconds
  })
