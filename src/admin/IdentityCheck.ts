import { Effect } from "effect"
import { Accounts } from "../auth/Accounts.ts"
import { IdentityProvider } from "../auth/IdentityProvider.ts"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import { identityCallbackPath } from "../http/Routes.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { groupRulesIn } from "../settings/OidcCodec.ts"
import { failed, ok, type Outcome, warning } from "./Outcome.ts"

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

/** What keeps new users out, if anything. */
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

/** Whether the OpenID provider of the settings answers. */
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

/** Whether people can sign in by the OpenID provider of the settings, as far as can be known without one of them. */
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
