import { Effect, DateTime, Duration } from "effect"
import { Accounts } from "../auth/Accounts.ts"
import { IdentityProvider } from "../auth/IdentityProvider.ts"
import { TextExtraction } from "../documents/TextExtraction.ts"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import { learnedText, type ModelHealth, type ModelSpec } from "../domain/Model.ts"
import { identityCallbackPath } from "../http/Routes.ts"
import { demoModel } from "../providers/DemoModel.ts"
import { readCatalogFile } from "../routing/CatalogFile.ts"
import { Router } from "../routing/Router.ts"
import { JsonSchemas } from "../schemas/JsonSchemas.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { groupRulesIn } from "../settings/OidcCodec.ts"
import { Database } from "../sql/Database.ts"
import { SearchProbe } from "../tools/WebSearch.ts"
import { clockDifference } from "./HttpProbe.ts"
import { failed, ok, type Outcome, warning, named } from "./Outcome.ts"
import { isLoopback } from "./PublicAddress.ts"

/** Parts of requests that the servers refuse. Without its tools a model knows and does less. */
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

/** Checks that the processes that read documents are confined. */
export const readersCheck = Effect.gen(function* () {
  return confinementOf(yield* (yield* TextExtraction).unconfined)
})

/** Checks that the processes that check JSON Schemas are confined. */
export const schemasCheck = Effect.gen(function* () {
  return confinementOf(yield* (yield* JsonSchemas).unconfined)
})

/** Checks the settings of the web search. A service without one works: the tool is not offered to models. */
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

/** A larger difference of clocks is worth a warning: keys expire and days begin by them. */
const clockSecondsMax = 5
/** Web servers whose clocks are compared with this machine's. */
const serversMax = 3

const clockRemedy = "Keep the clock of every machine right, for instance by NTP (`timedatectl set-ntp true`)."

export const clockOutcome = (seconds: number, between: string): Outcome => {
  const difference = `This machine's clock and ${between} differ by ${seconds.toFixed(1)} seconds.`
  return seconds > clockSecondsMax ? warning(`${difference} ${clockRemedy}`) : ok(difference)
}

const databaseClock = Effect.gen(function* () {
  const { facts } = yield* Database
  const before = yield* DateTime.now
  const { now } = yield* facts
  const after = yield* DateTime.now
  // The database read its clock between the two.
  const ahead = Duration.toSeconds(DateTime.distance(after, now))
  const behind = Duration.toSeconds(DateTime.distance(now, before))
  return clockOutcome(Math.max(0, ahead, behind), "the database's")
})

/** Other machines' web servers that the settings name. */
const outsideServers = Effect.fnUntraced(function* ({ files, models, oidc, retrieval }: Settings) {
  const catalog = models.file === null ? null : yield* Effect.option(readCatalogFile(models.file))
  const addresses = [
    oidc.issuer,
    models.openaiBaseUrl ?? (models.openaiApiKey === null ? null : "https://api.openai.com"),
    ...(catalog?._tag === "Some" ? catalog.value.servers.map(({ baseUrl }) => baseUrl.href) : []),
    files.s3?.endpoint ?? null,
    retrieval.embeddingsUrl
  ].flatMap((address) => (address === null ? [] : [new URL(address)]))
  return originsElsewhere(addresses)
})

/** A package that knows its own address has none of the web. */
export const originsElsewhere = (addresses: ReadonlyArray<URL>): ReadonlyArray<string> => {
  const elsewhere = addresses.filter(
    ({ hostname, protocol }) => /^https?:$/.test(protocol) && !isLoopback(hostname)
  )
  return [...new Set(elsewhere.map(({ origin }) => origin))].slice(0, serversMax)
}

/**
 * Null where no other machine tells its time. One of several may be wrong: the one that is nearest counts.
 */
const outsideClock = Effect.gen(function* () {
  const servers = yield* outsideServers(yield* AppConfig)
  const found = yield* Effect.forEach(
    servers,
    (server) => Effect.map(clockDifference(server), (seconds) => ({ seconds, host: new URL(server).host })),
    { concurrency: serversMax }
  )
  const known = found.flatMap(({ host, seconds }) => (seconds === null ? [] : [{ host, seconds }]))
  if (known.length === 0) return null
  const seconds = Math.min(...known.map((one) => one.seconds))
  return clockOutcome(seconds, `that of ${known.map(({ host }) => host).join(", ")}`)
})

/** The clock of this machine, without a database. */
export const outsideClockChecks = Effect.map(outsideClock, (outcome) =>
  named("clock", outcome === null ? [] : [outcome])
)

/** The clock of this machine, compared with the database's and those of other machines. */
export const clockChecks: Effect.Effect<
  ReturnType<typeof named>,
  DatabaseUnavailable,
  Database | AppConfig
> = Effect.gen(function* () {
  const [database, outside] = yield* Effect.all([databaseClock, outsideClockChecks], { concurrency: 2 })
  return [...named("clock", [database]), ...outside]
})

/** Organizations that are looked up, and missing ones that the check names. */
const organizationsMax = 100
const namesMax = 10

/** The organizations that the settings give to new users. */
const organizationsOf = ({ groups, organization }: Settings["oidc"]): ReadonlyArray<string> => {
  const names = groups === null ? [] : groupRulesIn(groups).map((rule) => rule.organization)
  return [...new Set([...names, ...(organization === null ? [] : [organization])])].slice(0, organizationsMax)
}

const isMissing = (name: string) =>
  Effect.flatMap(Accounts, (accounts) => accounts.findOrganization(name)).pipe(
    Effect.as(false),
    Effect.catchTag("OrganizationNotFound", () => Effect.succeed(true))
  )

/** The reason why new users are refused, or null. */
const placesProblem = Effect.fnUntraced(function* (oidc: Settings["oidc"]) {
  const names = organizationsOf(oidc)
  if (names.length === 0) {
    return "New users are refused, because neither PARLEY_OIDC_GROUPS nor PARLEY_OIDC_ORGANIZATION gives them an organization."
  }
  const missing = yield* Effect.filter(names, isMissing)
  if (missing.length === 0) return null
  const shown = missing.slice(0, namesMax).join(", ")
  return `New users are refused whose organization doesn't exist. Create it by \`parley org create\`: ${shown}.`
})

/** Checks that the OpenID provider of the settings answers. */
export const identityProviderCheck: Effect.Effect<Outcome, never, AppConfig | IdentityProvider> = Effect.gen(
  function* () {
    const { console, http, oidc } = yield* AppConfig
    const { name, probe } = yield* IdentityProvider
    if (name === null)
      return ok("Users sign in by password. PARLEY_OIDC_ISSUER names an OpenID provider for them.")
    const refusal = yield* Effect.match(probe, { onFailure: ({ reason }) => reason, onSuccess: () => null })
    if (refusal !== null)
      return failed(
        `${oidc.issuer} can't be used: ${refusal} Check PARLEY_OIDC_ISSUER, PARLEY_OIDC_CLIENT_ID and PARLEY_OIDC_CLIENT_SECRET, and that the service reaches it.`
      )
    const redirectUri = (console.publicUrl ?? `http://localhost:${http.port}`) + identityCallbackPath
    return ok(`${oidc.issuer} answers. The redirect URI to register there is ${redirectUri}.`)
  }
)

/**
 * Checks that people can sign in by the OpenID provider of the settings, as far as can be known without one
 * of them.
 */
export const identityCheck: Effect.Effect<
  Outcome,
  DatabaseUnavailable,
  Accounts | AppConfig | IdentityProvider
> = Effect.gen(function* () {
  const answer = yield* identityProviderCheck
  if (answer.status !== "ok" || (yield* IdentityProvider).name === null) return answer
  const problem = yield* placesProblem((yield* AppConfig).oidc)
  return problem === null ? answer : warning(`${answer.detail} ${problem}`)
})
