import { keepPreviousData, queryOptions } from "@tanstack/react-query"
import type { UsageBy } from "../../../../domain/Allowance.ts"
import { asking } from "../../client/ask.ts"
import type { Period, Report } from "./report.ts"

/** Running requests change what is held by the second; the page shows it a little later. */
const limitsMilliseconds = 10_000

export const limitsQuery = queryOptions({
  queryKey: ["own-limits"],
  queryFn: asking((client) => client.me.limits()),
  refetchInterval: limitsMilliseconds,
  staleTime: 0
})

/** Whose report it is. */
export type ReportQuery = (
  by: UsageBy,
  period: Period
) => {
  readonly queryKey: ReadonlyArray<unknown>
  readonly queryFn: (context: { readonly signal: AbortSignal }) => Promise<Report>
}

export const ownReport: ReportQuery = (by, period) => ({
  queryKey: ["own-usage", by, period],
  queryFn: asking((client) => client.me.usage({ query: { by, ...period } }))
})

export const reportQuery = (queryOf: ReportQuery, by: UsageBy, period: Period) =>
  queryOptions({
    ...queryOf(by, period),
    placeholderData: keepPreviousData,
    staleTime: limitsMilliseconds
  })
