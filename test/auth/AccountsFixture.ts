import { NodeCrypto } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import { Identities } from "../../src/auth/Identities.ts"
import { IdentityProvider } from "../../src/auth/IdentityProvider.ts"
import { Links } from "../../src/auth/Links.ts"
import { Onboarding } from "../../src/auth/Onboarding.ts"
import { Sessions } from "../../src/auth/Sessions.ts"
import { InstalledLicense } from "../../src/plans/License.ts"
import { plansLayer } from "../../src/plans/PlanCatalog.ts"
import { Policy } from "../../src/plans/Policy.ts"
import { AppConfig, type Settings } from "../../src/settings/AppConfig.ts"
import { cheapPasswords } from "../support/TestApp.ts"
import { testConfig } from "../support/TestConfig.ts"

/** The plans and the license of the settings; without them nothing is bounded. */
export const termsLayer = (settings: Settings = testConfig()) =>
  Layer.merge(plansLayer, InstalledLicense.layer).pipe(
    Layer.provide(Layer.succeed(AppConfig, settings)),
    Layer.orDie
  )

/** Decides by what nothing bounds. */
export const policyLayer = Policy.layer.pipe(Layer.provide(termsLayer()))

/** The services of the auth room, as one process has them; they join the database of the test. */
export const authLayer = (settings: Settings = testConfig()) =>
  Layer.mergeAll(Onboarding.layer, Links.layer, Identities.layer).pipe(
    Layer.provideMerge(Layer.mergeAll(Accounts.layer, ApiKeys.layer, Sessions.layer)),
    Layer.provideMerge(Layer.merge(cheapPasswords, IdentityProvider.layer)),
    Layer.provideMerge(termsLayer(settings)),
    Layer.provideMerge(NodeCrypto.layer),
    Layer.provide(Layer.succeed(AppConfig, settings))
  )

let made = 0

/** A user of an organization of their own, with a key that doesn't expire. */
export const makeUser = Effect.gen(function* () {
  const accounts = yield* Accounts
  const apiKeys = yield* ApiKeys
  const number = ++made
  const organization = yield* accounts.createOrganization(`organization ${number}`, "gold")
  const user = yield* accounts.createUser(`user${number}@example.com`, organization.name)
  const key = yield* apiKeys.create({ userId: user.id, name: "a key", expiresAt: null })
  return { organization, user, key }
})
