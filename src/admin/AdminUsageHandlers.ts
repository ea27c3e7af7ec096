import { DateTime, Effect, Struct } from "effect"
import { type HttpApi, HttpApiBuilder } from "effect/http-api"
import { Accounts } from "../auth/Accounts.ts"
import { ApiKeys } from "../auth/ApiKeys.ts"
import { requireRole } from "../auth/ManagedUser.ts"
import type { User } from "../domain/Account.ts"
import { actorsOrganization } from "../domain/Actor.ts"
import {
  type AllowanceState,
  daysBetween,
  reportDaysMax,
  type ReportBy,
  type UsageSums,
  type WindowState
} from "../domain/Allowance.ts"
import { ApiKeyNotFound, InvalidRequest } from "../domain/Errors.ts"
import { type ModelSpec, wholePrice } from "../domain/Model.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import { Router } from "../routing/Router.ts"
import { Usage } from "../usage/Usage.ts"
import type { ModelPriceOf, ReportRequest } from "../usage/UsageReport.ts"
import type { AdminGroups } from "./AdminApi.ts"
import { wireNames } from "./AdminBodies.ts"

const windowBody = (window: WindowState) => Struct.renameKeys(window, wireNames)

/** The cost is left out where no prices are known. */
const sumsBody = <Sums extends UsageSums>({ cost, ...sums }: Sums) => ({
  ...(cost === null ? {} : { cost }),
  ...Struct.renameKeys(sums, wireNames)
})

/** Days that a report covers, the last one included, unless the first one is named. */
const reportDays = 30

interface Days {
  readonly since?: string
  readonly until?: string
}

/** The days that are asked for. */
const daysOf = Effect.fnUntraced(function* (query: Days) {
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

export const limitsBody = (email: string, { daily, monthly }: AllowanceState) => ({
  email,
  daily: windowBody(daily),
  monthly: windowBody(monthly)
})

/** The usage of those whom the ids name, on the days that the query names. */
export const usageBody = Effect.fnUntraced(function* (
  usage: Usage["Service"],
  who: Pick<ReportRequest, "userId" | "organizationId" | "keyId">,
  { by = "day", ...query }: Days & { readonly by?: ReportBy },
  prices: ReadonlyArray<ModelPriceOf> = []
) {
  const { days, since, until } = yield* daysOf(query)
  const { lines, total } = yield* usage.report({ ...who, by, since, until, prices })
  return { since, until, days, data: lines.map(sumsBody), total: sumsBody(total) }
})

/**
 * The catalog's prices by the ids of the models; of the first provider, where several have the same model.
 */
const pricesOf = (models: ReadonlyArray<ModelSpec>): ReadonlyArray<ModelPriceOf> => {
  const prices = new Map<string, ModelPriceOf>()
  for (const { id, price } of models) {
    if (price !== undefined && !prices.has(id)) prices.set(id, { model: id, ...wholePrice(price) })
  }
  return [...prices.values()]
}

/** Limits and usage. */
export const usageHandlers = <Id extends string>(api: HttpApi.HttpApi<Id, AdminGroups>) =>
  HttpApiBuilder.group(
    api,
    "usage",
    Effect.fnUntraced(function* (handlers) {
      const accounts = yield* Accounts
      const apiKeys = yield* ApiKeys
      const router = yield* Router
      const usage = yield* Usage

      const limitsOf = ({ email, id }: User) =>
        Effect.map(usage.allowanceOf(id), (allowance) => limitsBody(email, allowance))

      return handlers.handleAll({
        limits: ({ query }) =>
          accounts.findUserByEmail(query.email).pipe(Effect.flatMap(limitsOf), enveloped),
        setLimits: Effect.fnUntraced(function* ({ payload: { email, ...changes } }) {
          const user = yield* accounts.findUserByEmail(email)
          yield* requireRole(user.role, "email")
          yield* usage.setLimits(user.id, changes)
          return yield* limitsOf(user)
        }, enveloped),
        usage: Effect.fnUntraced(function* ({ query }) {
          const { email, key_id: keyId = null, organization } = query
          const userId = email === undefined ? null : (yield* accounts.findUserByEmail(email)).id
          const organizationId =
            organization === undefined
              ? yield* actorsOrganization
              : yield* accounts.findOrganization(organization)
          const prices = pricesOf(yield* router.models)
          const body = yield* usageBody(usage, { userId, organizationId, keyId }, query, prices)
          // Records may outlive their key, but an id that no key ever had is a mistake.
          if (keyId !== null && body.total.requests === 0 && !(yield* apiKeys.exists(keyId))) {
            return yield* new ApiKeyNotFound()
          }
          return body
        }, enveloped)
      })
    })
  )
