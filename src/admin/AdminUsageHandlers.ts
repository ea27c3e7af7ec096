import { DateTime, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Accounts } from "../auth/Accounts.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import { type AllowanceState, daysBetween, reportDaysMax, type WindowState } from "../domain/Allowance.ts"
import { ApiKeyNotFound, InvalidRequest } from "../domain/Errors.ts"
import type { UserId } from "../domain/Ids.ts"
import { Usage } from "../usage/Usage.ts"
import type { Report, ReportLine } from "../usage/UsageReport.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { AdminApi } from "./AdminApi.ts"
import type { LimitsBody, UsageBody } from "./AdminBodies.ts"

const windowBody = ({ limit, reserved, resetsAt, source, used }: WindowState) => ({
  limit,
  source,
  used,
  reserved,
  resets_at: resetsAt
})

const limitsBody = (email: string, { daily, monthly }: AllowanceState): typeof LimitsBody.Type => ({
  email,
  daily: windowBody(daily),
  monthly: windowBody(monthly)
})

const sumsBody = (sums: Report["total"]): (typeof UsageBody.Type)["total"] => ({
  requests: sums.requests,
  completed: sums.completed,
  tokenizer_counted: sums.tokenizerCounted,
  input_tokens: sums.inputTokens,
  output_tokens: sums.outputTokens,
  tool_calls: sums.toolCalls,
  latency_millis: sums.latencyMillis
})

const lineBody = (line: ReportLine): (typeof UsageBody.Type)["data"][number] => ({
  label: line.label,
  ...sumsBody(line),
  key: line.key
})

/** Days that a report covers, the last one included, unless the first one is named. */
const reportDays = 30

/** The days that are asked for. */
const span = Effect.fnUntraced(function* (query: { readonly since?: string; readonly until?: string }) {
  const until = query.until ?? DateTime.formatIsoDateUtc(yield* DateTime.now)
  const since =
    query.since ??
    DateTime.formatIsoDateUtc(DateTime.subtract(DateTime.makeUnsafe(until), { days: reportDays - 1 }))
  const days = daysBetween(since, until)
  if (days < 1) {
    const message = `The first day, ${since}, comes after the last one, ${until}.`
    return yield* new InvalidRequest({ param: "since", message })
  }
  if (days > reportDaysMax) {
    const message = `From ${since} to ${until} are ${days} days; a report covers at most ${reportDaysMax}.`
    return yield* new InvalidRequest({ param: "since", message })
  }
  return { since, until, days }
})

export const AdminUsageHandlers = HttpApiBuilder.group(
  AdminApi,
  "usage",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const apiKeys = yield* ApiKeys
    const usage = yield* Usage

    const limitsOf = (email: string, id: UserId) =>
      Effect.map(usage.allowanceOf(id), (state) => limitsBody(email, state))

    return handlers.handleAll({
      limits: ({ query }) =>
        accounts.findUserByEmail(query.email).pipe(
          Effect.flatMap(({ email, id }) => limitsOf(email, id)),
          enveloped
        ),
      setLimits: ({ payload: { email: asked, ...changes } }) =>
        accounts.findUserByEmail(asked).pipe(
          Effect.flatMap(({ email, id }) =>
            Effect.andThen(usage.setLimits(id, changes), limitsOf(email, id))
          ),
          enveloped
        ),
      usage: ({ query }) =>
        Effect.gen(function* () {
          const { by = "day", email, key_id: keyId = null, organization } = query
          const userId = email === undefined ? null : (yield* accounts.findUserByEmail(email)).id
          const organizationId =
            organization === undefined ? null : yield* accounts.findOrganization(organization)
          const { days, since, until } = yield* span(query)
          const { lines, total } = yield* usage.report({ userId, organizationId, keyId, by, since, until })
          // Records may outlive their key, but an id that nobody ever had is a mistake.
          if (keyId !== null && total.requests === 0 && !(yield* apiKeys.exists(keyId))) {
            return yield* new ApiKeyNotFound()
          }
          return { since, until, days, data: lines.map(lineBody), total: sumsBody(total) }
        }).pipe(enveloped)
    })
  })
)
