import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Accounts } from "../auth/Accounts.ts"
import type { AllowanceState, WindowState } from "../domain/Allowance.ts"
import type { UserId } from "../domain/Ids.ts"
import { Usage } from "../usage/Usage.ts"
import { reportDays, type ReportLine } from "../usage/UsageReport.ts"
import { AdminApi } from "./AdminApi.ts"
import { answer } from "./answer.ts"
import type { LimitsBody, UsageBody } from "./UsageBody.ts"

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

const lineBody = (line: ReportLine): (typeof UsageBody.Type)["data"][number] => ({
  label: line.label,
  requests: line.requests,
  completed: line.completed,
  input_tokens: line.inputTokens,
  output_tokens: line.outputTokens,
  tool_calls: line.toolCalls,
  latency_millis: line.latencyMillis
})

export const AdminUsageHandlers = HttpApiBuilder.group(
  AdminApi,
  "usage",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const usage = yield* Usage

    const limitsOf = (email: string, id: UserId) =>
      Effect.map(usage.allowanceOf(id), (state) => limitsBody(email, state))

    return handlers.handleAll({
      limits: ({ query }) =>
        accounts.findUserByEmail(query.email).pipe(
          Effect.flatMap(({ email, id }) => limitsOf(email, id)),
          answer
        ),
      setLimits: ({ payload: { email: asked, ...changes } }) =>
        accounts.findUserByEmail(asked).pipe(
          Effect.flatMap(({ email, id }) =>
            Effect.andThen(usage.setLimits(id, changes), limitsOf(email, id))
          ),
          answer
        ),
      usage: ({ query }) =>
        Effect.gen(function* () {
          const { by = "day", email, key_id: keyId = null, organization } = query
          const userId = email === undefined ? null : (yield* accounts.findUserByEmail(email)).id
          const organizationId =
            organization === undefined ? null : yield* accounts.findOrganization(organization)
          const lines = yield* usage.report({ userId, organizationId, keyId, by })
          return { days: reportDays, data: lines.map(lineBody) }
        }).pipe(answer)
    })
  })
)
