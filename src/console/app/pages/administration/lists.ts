import { keepPreviousData, queryOptions } from "@tanstack/react-query"
import type { AuditQuery } from "../../../../admin/AuditApi.ts"
import type { ApiKeyId, AuditEntryId, LinkId, OrganizationId, UserId } from "../../../../domain/Ids.ts"
import { asking } from "../../client/ask.ts"
import type { ReportQuery } from "../usage/usage.ts"
import { administration } from "./change.ts"

/** The query of the place after an item; undefined: the first page. */
export const afterOf = <Id>(after: Id | undefined) => (after === undefined ? {} : { after })

export const organizationsQuery = (after?: OrganizationId) =>
  queryOptions({
    queryKey: [administration, "organizations", after],
    queryFn: asking(({ accounts }) => accounts.listOrganizations({ query: afterOf(after) })),
    placeholderData: keepPreviousData
  })

export const usersQuery = (after?: UserId) =>
  queryOptions({
    queryKey: [administration, "users", after],
    queryFn: asking(({ accounts }) => accounts.listUsers({ query: afterOf(after) })),
    placeholderData: keepPreviousData
  })

export const plansQuery = queryOptions({
  queryKey: [administration, "plans"],
  queryFn: asking(({ policy }) => policy.listPlans())
})

export const licenseQuery = queryOptions({
  queryKey: [administration, "license"],
  queryFn: asking(({ policy }) => policy.license())
})

/**
 * The checks ask the model servers and store a file: they are made when the page is opened or the user asks
 * for them.
 */
export const checksQuery = queryOptions({
  queryKey: [administration, "checks"],
  queryFn: asking(({ server }) => server.doctor()),
  refetchOnMount: "always",
  refetchOnReconnect: false,
  refetchOnWindowFocus: false,
  staleTime: Infinity
})

export const settingsQuery = queryOptions({
  queryKey: [administration, "settings"],
  queryFn: asking(({ server }) => server.config())
})

/** The state of the providers changes with every request. */
const healthSeconds = 15

export const modelsQuery = queryOptions({
  queryKey: [administration, "models"],
  queryFn: asking(({ server }) => server.models()),
  refetchInterval: healthSeconds * 1_000
})

/** Entries of one page of the audit log. */
const auditEntries = 25

export const auditQuery = (filter: AuditQuery, after?: AuditEntryId) =>
  queryOptions({
    queryKey: [administration, "audit", filter, after],
    queryFn: asking(({ audit }) =>
      audit.list({ query: { ...filter, ...afterOf(after), limit: auditEntries } })
    ),
    placeholderData: keepPreviousData
  })

export const invitationsQuery = (after?: LinkId) =>
  queryOptions({
    queryKey: [administration, "invitations", after],
    queryFn: asking(({ people }) => people.listInvitations({ query: afterOf(after) })),
    placeholderData: keepPreviousData
  })

/** The user of that address as a list of at most one. */
export const userQuery = (email: string) =>
  queryOptions({
    queryKey: [administration, "user", email],
    queryFn: asking(({ accounts }) => accounts.listUsers({ query: { email } }))
  })

export const holdingsQuery = (email: string) =>
  queryOptions({
    queryKey: [administration, "holdings", email],
    queryFn: asking(({ data }) => data.userHoldings({ query: { email } }))
  })

export const limitsQuery = (email: string) =>
  queryOptions({
    queryKey: [administration, "limits", email],
    queryFn: asking(({ usage }) => usage.limits({ query: { email } }))
  })

export const reportOf =
  (email: string): ReportQuery =>
  (by, period) => ({
    queryKey: [administration, "usage", email, by, period],
    queryFn: asking(({ usage }) => usage.usage({ query: { email, by, ...period } }))
  })

export const keysQuery = (email: string, after?: ApiKeyId) =>
  queryOptions({
    queryKey: [administration, "keys", email, after],
    queryFn: asking(({ accounts }) => accounts.listKeys({ query: { email, ...afterOf(after) } })),
    placeholderData: keepPreviousData
  })
