import { Effect } from "effect"
import { type HttpApi, HttpApiBuilder } from "effect/http-api"
import { defaultPlan } from "../domain/Account.ts"
import { PlanNotFound } from "../domain/Errors.ts"
import { Plans } from "../domain/Plan.ts"
import { estimateMessageTokens } from "../domain/Tokens.ts"
import { enveloped } from "../http/ErrorBoundary.ts"
import type { Permissions } from "../plans/Permissions.ts"
import { Policy } from "../plans/Policy.ts"
import type { Excluded, Need, Ranked } from "../routing/Candidates.ts"
import { difficultyOf } from "../routing/Difficulty.ts"
import { Router } from "../routing/Router.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { describeSettings } from "../settings/AppConfig.ts"
import type { AdminGroups } from "./AdminApi.ts"
import type { ExplainedBody, ExplainPayload } from "./AdminBodies.ts"
import { examine } from "./Doctor.ts"
import { Reload } from "./Reload.ts"

/** The value with two digits, and never "-0.00". */
const hundredths = (value: number): string => ((Math.round(value * 100) || 0) / 100).toFixed(2)

/** The reasons for a candidate's rank, in sentences, the most important first. */
const reasonsOf = (need: Need, { model, reasons }: Ranked): ReadonlyArray<string> => {
  const { expectedPrice, health, isFailing, isTight, lacksTools, coolingDown, terms, utility, isEligible } =
    reasons
  const price =
    expectedPrice === null
      ? `cost ${hundredths(model.cost)}`
      : `a price of about ${expectedPrice.toPrecision(2)}`
  const latency =
    health.firstOutputSeconds === null ? "nothing known" : `${health.firstOutputSeconds.toFixed(1)} s`
  return [
    ...(coolingDown ? ["It is cooling down after failures, or because its provider asked for that."] : []),
    ...(lacksTools ? ["It can't call the tools that are offered."] : []),
    ...(isTight ? ["Its window leaves little room for an answer."] : []),
    ...(isFailing ? ["More than half of its recent requests failed."] : []),
    isEligible
      ? `It is eligible: its quality is ${hundredths(model.quality)}, and ${hundredths(need.difficulty)} is required.`
      : `It is below the required quality: its quality of ${hundredths(model.quality)} is less than the request's difficulty, about ${hundredths(need.difficulty)}.`,
    `Its utility is ${hundredths(utility)}: ${hundredths(terms.quality)} for quality, ` +
      `${hundredths(terms.price)} for ${price}, ${hundredths(terms.latency)} for the wait for its first output (${latency}), ` +
      `${hundredths(terms.failures)} for failures (${Math.round(health.failureShare * 100)} %).`
  ]
}

const forbidden = (id: string, { licensedModel }: Permissions): string =>
  licensedModel(id) ? "The plan doesn't have it." : "The license doesn't have it, or isn't in force."

const exclusionOf = ({ model, why }: Excluded, need: Need, permissions: Permissions): string =>
  why === "permits"
    ? forbidden(model.id, permissions)
    : `Its window of ${model.contextWindow} tokens is too small for a prompt of ${need.promptTokens}.`

/** The router's decision for a message as the first of a conversation, without instructions. */
const explainModels = Effect.fnUntraced(function* (
  router: Router["Service"],
  policy: Policy["Service"],
  settings: Settings,
  payload: typeof ExplainPayload.Type
): Effect.fn.Return<ExplainedBody, PlanNotFound, Plans> {
  const { catalog } = yield* (yield* Plans).current
  if (catalog !== null && payload.plan !== undefined && !catalog.has(payload.plan)) {
    return yield* new PlanNotFound({ plans: [...catalog.keys()] })
  }
  const permissions = yield* policy.permissions(payload.plan ?? defaultPlan)
  const tools = payload.tools ?? settings.tools.enabled.some((name) => permissions.tools.has(name))
  const promptTokens = estimateMessageTokens(payload.text)
  const files = payload.documents ?? 0
  const difficulty = difficultyOf({ text: payload.text, promptTokens, files, passages: 0, tools })
  const need: Need = {
    promptTokens,
    tools,
    maxOutputTokens: payload.max_output_tokens ?? null,
    difficulty: difficulty.score
  }
  const { candidates, excluded } = yield* router.explain(need, ({ id }) => permissions.model(id))
  return {
    difficulty,
    balance: settings.models.balance,
    candidates: candidates.map((candidate) => ({
      model: candidate.model.id,
      provider: candidate.model.provider,
      max_output_tokens: candidate.maxOutputTokens,
      eligible: candidate.reasons.isEligible,
      utility: candidate.reasons.utility,
      terms: candidate.reasons.terms,
      expected_price: candidate.reasons.expectedPrice,
      health: candidate.reasons.health,
      reasons: reasonsOf(need, candidate)
    })),
    excluded: excluded.map((one) => ({
      model: one.model.id,
      provider: one.model.provider,
      reason: exclusionOf(one, need, permissions)
    }))
  }
})

export const serverHandlers = <Id extends string>(api: HttpApi.HttpApi<Id, AdminGroups>) =>
  HttpApiBuilder.group(
    api,
    "server",
    Effect.fnUntraced(function* (handlers) {
      const settings = yield* AppConfig
      const plans = yield* Plans
      const policy = yield* Policy
      const router = yield* Router
      const reload = yield* Reload
      const services = yield* Effect.context<Effect.Services<typeof examine>>()
      return handlers.handleAll({
        models: () =>
          Effect.all({
            data: router.models,
            health: router.modelHealth,
            providers: router.health,
            description: router.describe
          }),
        explainModels: ({ payload }) =>
          enveloped(Effect.provideService(explainModels(router, policy, settings, payload), Plans, plans)),
        reload: () => enveloped(reload.everywhere),
        config: () => Effect.succeed({ data: describeSettings(settings) }),
        doctor: () => Effect.map(Effect.provideContext(examine, services), (checks) => ({ checks }))
      })
    })
  )
