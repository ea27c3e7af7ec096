import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import type { Role } from "../../src/domain/Account.ts"
import { CurrentActor } from "../../src/domain/Actor.ts"
import { noKeyLimits } from "../../src/domain/KeyLimits.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { authLayer, makeUser, personOf } from "./AccountsFixture.ts"

/** Two organizations, each with a user and a key. */
const two = Effect.all([makeUser, makeUser])

const tagOf = <A>(effect: Effect.Effect<A, { readonly _tag: string }>) =>
  effect.pipe(
    Effect.flip,
    Effect.map(({ _tag }) => _tag)
  )

layer(authLayer().pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true })(
  "What the admin of an organization sees",
  (it) => {
    it.effect("the admin of an organization lists no other organizations and none of their users", () =>
      Effect.gen(function* () {
        const [own, other] = yield* two
        const accounts = yield* Accounts
        const seen = Effect.all([accounts.listOrganizations(), accounts.listUsers()])
        const as = (role: Role) => Effect.provideService(seen, CurrentActor, personOf(own.user, role))
        for (const role of ["organization_admin", "member"] as const) {
          const [organizations, users] = yield* as(role)
          assert.deepStrictEqual(organizations.data, [own.organization])
          assert.deepStrictEqual(users.data, [own.user])
        }
        for (const role of ["admin", "owner"] as const) {
          const [organizations, users] = yield* as(role)
          assert.includeDeepMembers([...organizations.data], [own.organization, other.organization])
          assert.includeDeepMembers([...users.data], [own.user, other.user])
        }
      })
    )

    it.effect("the admin of an organization finds and changes nothing in others", () =>
      Effect.gen(function* () {
        const [own, other] = yield* two
        const accounts = yield* Accounts
        const apiKeys = yield* ApiKeys
        yield* Effect.gen(function* () {
          assert.strictEqual(yield* tagOf(accounts.findUserByEmail(other.user.email)), "UserNotFound")
          assert.strictEqual(yield* tagOf(accounts.setDisabled(other.user.email, true)), "UserNotFound")
          assert.strictEqual(
            yield* tagOf(accounts.findOrganization(other.organization.name)),
            "OrganizationNotFound"
          )
          assert.isFalse(yield* apiKeys.exists(other.key.id))
          assert.strictEqual(yield* tagOf(apiKeys.revoke(other.key.id)), "ApiKeyNotFound")
          assert.strictEqual(
            yield* tagOf(apiKeys.setLimits(other.key.id, { dailyTokens: 1 })),
            "ApiKeyNotFound"
          )
        }).pipe(Effect.provideService(CurrentActor, personOf(own.user, "organization_admin")))
        assert.isNull((yield* accounts.findUserByEmail(other.user.email)).disabledAt)
        const { data } = yield* apiKeys.list(other.user.id)
        assert.deepStrictEqual(
          data.map(({ limits, revokedAt }) => ({ limits, revokedAt })),
          [{ limits: noKeyLimits, revokedAt: null }]
        )
      })
    )

    it.effect("the admin of an organization finds and changes what belongs to it", () =>
      Effect.gen(function* () {
        const [own] = yield* two
        const accounts = yield* Accounts
        const apiKeys = yield* ApiKeys
        yield* Effect.gen(function* () {
          assert.deepStrictEqual(yield* accounts.findUserByEmail(own.user.email), own.user)
          assert.isNotNull((yield* accounts.setDisabled(own.user.email, true)).disabledAt)
          assert.strictEqual(yield* accounts.findOrganization(own.organization.name), own.organization.id)
          assert.isTrue(yield* apiKeys.exists(own.key.id))
          assert.strictEqual((yield* apiKeys.setLimits(own.key.id, { dailyTokens: 1 })).limits.dailyTokens, 1)
          assert.isNotNull((yield* apiKeys.revoke(own.key.id)).revokedAt)
        }).pipe(Effect.provideService(CurrentActor, personOf(own.user, "organization_admin")))
      })
    )
  }
)
