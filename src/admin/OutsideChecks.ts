import { Effect } from "effect"
import { TextExtraction } from "../documents/TextExtraction.ts"
import { learnedText, type ModelHealth, type ModelSpec } from "../domain/Model.ts"
import { demoModel } from "../providers/DemoModel.ts"
import { JsonSchemas } from "../responses/JsonSchemas.ts"
import { Router } from "../routing/Router.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { SearchProbe } from "../tools/WebSearch.ts"
import { failed, ok, type Outcome, warning } from "./Outcome.ts"

/** What the servers refuse of the service's own part of requests. Without its tools a model knows and does less. */
const learnedChecks = (models: ReadonlyArray<ModelSpec>, health: ReadonlyArray<ModelHealth>) =>
  models.flatMap(({ id, provider }, index) =>
    (health[index]?.learned ?? []).map((part) => ({
      name: `model ${id}`,
      ...(part.part === "tools"
        ? warning(
            `${learnedText(part)} (provider ${provider}). If the model has no tools, say \`"tools": false\` in PARLEY_MODELS_FILE; ` +
              "if it has, correct the settings of its server."
          )
        : ok(`${learnedText(part)} (provider ${provider}).`))
    }))
  )

/** The known models, and a probe of each of their servers. */
export const modelChecks = Effect.gen(function* () {
  const router = yield* Router
  // Without a service the list of a model server is being read just now: the description waits for it.
  const description = yield* router.describe
  const known = yield* router.models
  const isDemo = known.length > 0 && known.every(({ id }) => id === demoModel.id)
  const probes = yield* router.probe
  const isDoubtful = probes.some(({ isWell }) => !isWell)
  const detail = isDoubtful ? `${description} What to do stands with the provider below.` : description
  return [
    { name: "models", ...(known.length === 0 ? failed : isDemo || isDoubtful ? warning : ok)(detail) },
    ...probes.map(({ detail, isWell, provider }) => ({
      name: `provider ${provider}`,
      ...(isWell ? ok : failed)(detail)
    })),
    ...learnedChecks(known, yield* router.modelHealth)
  ]
})

const confinementOf = (missing: ReadonlyArray<string>): Outcome =>
  missing.length === 0 ? ok("They run without privileges and without a network.") : warning(missing.join(" "))

/** Whether the processes that read documents are confined. */
export const readersCheck = Effect.gen(function* () {
  return confinementOf(yield* (yield* TextExtraction).unconfined)
})

/** Whether the processes that check JSON Schemas are confined. */
export const schemasCheck = Effect.gen(function* () {
  return confinementOf(yield* (yield* JsonSchemas).unconfined)
})

/** Whether the settings name a web search. A service without one works: the tool is not offered to models. */
export const searchCheck = ({ enabled, searchProvider, searchUrl }: Settings["tools"]): Outcome => {
  if (searchProvider === null) {
    return ok(
      "Models can't search the web. PARLEY_SEARCH_PROVIDER=searxng with PARLEY_SEARCH_URL names a SearXNG server of your " +
        "own, which needs no key; PARLEY_SEARCH_PROVIDER=brave, tavily or exa takes PARLEY_SEARCH_API_KEY."
    )
  }
  if (!enabled.includes("web_search")) {
    return warning(
      `${searchProvider} is configured, but PARLEY_TOOLS leaves web_search out. Add it there, or remove PARLEY_SEARCH_PROVIDER.`
    )
  }
  const where = searchUrl === null ? "" : ` at ${new URL(searchUrl).origin}`
  return ok(`Models can search the web: ${searchProvider}${where} is asked.`)
}

/** One search, where the settings name a provider that models may ask. */
export const webSearchCheck = Effect.gen(function* () {
  const settings = searchCheck((yield* AppConfig).tools)
  const { search } = yield* SearchProbe
  if (search === null || settings.status !== "ok") return settings
  return yield* search.pipe(
    Effect.map((results) =>
      results > 0
        ? ok(`${settings.detail} It answers.`)
        : warning(
            `${settings.detail} It answers, but found nothing for a common word: check which engines it asks.`
          )
    ),
    Effect.catchTag("ToolFailed", ({ message }) =>
      Effect.succeed(
        failed(
          `${settings.detail} ${message} Check PARLEY_SEARCH_PROVIDER, PARLEY_SEARCH_URL and PARLEY_SEARCH_API_KEY.`
        )
      )
    )
  )
})
