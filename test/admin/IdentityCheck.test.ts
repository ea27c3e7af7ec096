import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { identityCheck } from "../../src/admin/OutsideChecks.ts"
import { Accounts } from "../../src/auth/Accounts.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { authLayer } from "../auth/AccountsFixture.ts"
import { makeLocalProvider } from "../support/LocalProvider.ts"
import { type SettingsOverrides, testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

/** The outcome with a provider that is set, and with an organization Acme. */
const check = Effect.fnUntraced(function* (oidc: SettingsOverrides["oidc"], isAway: boolean) {
  const { answerInstead, clientId, clientSecret, issuer } = yield* makeLocalProvider()
  if (isAway) {
    answerInstead((_, response) => {
      response.writeHead(503).end()
      return true
    })
  }
  const settings = testConfig({
    oidc: { issuer, clientId, clientSecret: Redacted.make(clientSecret), ...oidc },
    console: { publicUrl: "https://parley.example.com/chat" }
  })
  const accounts = yield* Accounts
  yield* accounts.createOrganization("Acme", "default").pipe(Effect.ignore)
  const outcome = yield* identityCheck.pipe(
    Effect.provide(Layer.fresh(authLayer(settings))),
    Effect.provideService(AppConfig, settings)
  )
  return { issuer, ...outcome }
})

const checked = (oidc: SettingsOverrides["oidc"] = {}, isAway = false) => Effect.scoped(check(oidc, isAway))

layer(authLayer().pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true })(
  "the check of single sign-on",
  (it) => {
    it.effect("the check of single sign-on says that the provider answers, and names the redirect URI", () =>
      Effect.gen(function* () {
        const { detail, issuer, status } = yield* checked({ groups: "staff=Acme", organization: "Acme" })
        assert.strictEqual(status, "ok")
        assert.include(detail, `${issuer} answers.`)
        assert.include(detail, "https://parley.example.com/chat/console/sign-in/oidc/callback")
      })
    )

    it.effect("the check of single sign-on fails with the reason when the provider does not answer", () =>
      Effect.gen(function* () {
        const { detail, issuer, status } = yield* checked({ organization: "Acme" }, true)
        assert.strictEqual(status, "failed")
        assert.include(detail, `${issuer} can't be used:`)
      })
    )

    it.effect("the check of single sign-on warns of organizations that don't exist, and of none at all", () =>
      Effect.gen(function* () {
        const missing = yield* checked({ groups: "a=Acme,b=Nowhere,c=Nowhere:admin", organization: "Gone" })
        assert.strictEqual(missing.status, "warning")
        assert.match(missing.detail, /: Nowhere, Gone\.$/)
        const none = yield* checked()
        assert.strictEqual(none.status, "warning")
        assert.include(none.detail, "PARLEY_OIDC_ORGANIZATION")
      })
    )

    it.effect("the check of single sign-on names the setting where there is no provider", () =>
      Effect.gen(function* () {
        const { detail, status } = yield* checked({ issuer: null, clientId: null, clientSecret: null })
        assert.strictEqual(status, "ok")
        assert.include(detail, "PARLEY_OIDC_ISSUER")
      })
    )
  }
)
