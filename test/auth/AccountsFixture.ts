import { NodeCrypto } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import { Identities } from "../../src/auth/Identities.ts"
import { IdentityProvider } from "../../src/auth/IdentityProvider.ts"
import { Links } from "../../src/auth/Links.ts"
import { Onboarding } from "../../src/auth/Onboarding.ts"
import { Sessions } from "../../src/auth/Sessions.ts"
import type { Role, User } from "../../src/domain/Account.ts"
import type { Person } from "../../src/domain/Actor.ts"
import { SessionId } from "../../src/domain/Ids.ts"
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

export const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.match(effect, { onFailure: ({ _tag }) => _tag as string, onSuccess: () => "done" })

/** The user of a session that is not stored, with that role. */
export const personOf = ({ email, id, organization, organizationId }: User, role: Role): Person => ({
  _tag: "Person",
  userId: id,
  email,
  role,
  organization,
  organizationId,
  sessionId: SessionId.make("00000000-0000-7000-8000-000000000000"),
  address: null
})

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
