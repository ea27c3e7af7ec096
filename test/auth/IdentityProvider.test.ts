import { NodeCrypto } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Struct } from "effect"
import { TestClock } from "effect/testing"
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose"
import { IdentityProvider } from "../../src/auth/IdentityProvider.ts"
import type { SignInRefusal } from "../../src/domain/SignInRefusal.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { makeCookieJar } from "../support/CookieJar.ts"
import { type LocalProvider, makeLocalProvider } from "../support/LocalProvider.ts"
import { type SettingsOverrides, testConfig } from "../support/TestConfig.ts"

const callback = "https://parley.example.com/callback"
const ada = { sub: "1", email: "ada@example.com", email_verified: true }

type Overrides = NonNullable<SettingsOverrides["oidc"]>

/** The service as one process has it, set to the provider. */
const processOf = (provider: LocalProvider, overrides: Overrides = {}) =>
  Layer.build(
    IdentityProvider.layer.pipe(
      Layer.provide(NodeCrypto.layer),
      Layer.provide(
        Layer.succeed(
          AppConfig,
          testConfig({
            oidc: {
              issuer: provider.issuer,
              clientId: provider.clientId,
              clientSecret: Redacted.make(provider.clientSecret),
              ...overrides
            }
          })
        )
      )
    )
  ).pipe(Effect.map((context) => Context.get(context, IdentityProvider)))

/** A provider, and the service set to it. */
const started = Effect.fnUntraced(function* (
  overrides: Overrides = {},
  options: Parameters<typeof makeLocalProvider>[0] = {}
) {
  const provider = yield* makeLocalProvider(options)
  provider.authenticate(ada)
  return { provider, service: yield* processOf(provider, overrides) }
})

/** Walks through the provider, and returns what the browser comes back with. */
const walk = Effect.fnUntraced(function* (
  service: IdentityProvider["Service"],
  changed: (url: URL) => void = () => {}
) {
  const { pending, url } = yield* service.begin(callback, "/")
  const address = new URL(url)
  changed(address)
  const end = yield* Effect.promise(() => makeCookieJar().followTo(address.href, callback))
  return { pending, query: new URL(end).search }
})

const signIn = (service: IdentityProvider["Service"]) =>
  Effect.flatMap(walk(service), (returned) => service.finish(returned))

const problemOf = <A, E extends { readonly problem: SignInRefusal }>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), ({ problem }) => problem)

/** Another answer of the token endpoint than the provider's own. */
const answerTokens = (
  provider: LocalProvider,
  change: (token: string) => Promise<string>,
  others: Readonly<Record<string, unknown>> = {}
) => {
  let asked = false
  provider.answerInstead((request, response) => {
    const other = others[request.url ?? ""]
    if (other !== undefined) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(other))
      return true
    }
    if (request.url !== "/token" || asked) return false
    asked = true
    void (async () => {
      const body = await new Response(request as unknown as ReadableStream).text()
      const answer = await fetch(`${provider.issuer}/token`, {
        method: "POST",
        body,
        headers: {
          authorization: request.headers.authorization ?? "",
          "content-type": request.headers["content-type"] ?? ""
        }
      })
      const tokens = (await answer.json()) as { id_token: string }
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ ...tokens, id_token: await change(tokens.id_token) }))
    })()
    return true
  })
}

/** Has the provider tell these claims, in an ID token that it signs, and at its userinfo endpoint. */
const tell = Effect.fnUntraced(function* (
  provider: LocalProvider,
  inToken: (claims: JWTPayload) => JWTPayload,
  inUserInfo: object = {}
) {
  const { privateKey, publicKey } = yield* Effect.promise(() => generateKeyPair("RS256"))
  const key = {
    ...(yield* Effect.promise(() => exportJWK(publicKey))),
    kid: "told",
    alg: "RS256",
    use: "sig"
  }
  const sign = (token: string) =>
    new SignJWT(inToken(decodeJwt(token)))
      .setProtectedHeader({ ...decodeProtectedHeader(token), alg: "RS256", kid: "told" })
      .sign(privateKey)
  answerTokens(provider, sign, { "/jwks": { keys: [key] }, "/me": { sub: ada.sub, ...inUserInfo } })
})

describe("a sign-in at a real OpenID provider", () => {
  it.effect("a sign-in returns the identity, its verified address and the path to go back to", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      const { pending, url } = yield* service.begin(callback, "/settings/keys?tab=1")
      const parameters = new URL(url).searchParams
      assert.strictEqual(parameters.get("code_challenge_method"), "S256")
      assert.strictEqual(parameters.get("scope"), "openid email")
      assert.strictEqual(parameters.get("redirect_uri"), callback)
      const end = yield* Effect.promise(() => makeCookieJar().followTo(url, callback))
      assert.deepStrictEqual(yield* service.finish({ pending, query: new URL(end).search }), {
        identity: { issuer: provider.issuer, subject: "1", email: "ada@example.com", groups: [] },
        returnTo: "/settings/keys?tab=1"
      })
    })
  )

  it.effect("a sign-in asks the userinfo endpoint for what the ID token leaves out", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started(
        { groups: "staff=Example", scopes: ["openid", "email", "groups"] },
        { tellsInToken: false }
      )
      provider.authenticate({ ...ada, groups: ["staff", "all"] })
      const { identity } = yield* signIn(service)
      assert.strictEqual(identity.email, "ada@example.com")
      assert.deepStrictEqual(identity.groups, ["staff", "all"])
      assert.include(provider.requests, "/me")
    })
  )

  it.effect("a sign-in may end in another process than it began in", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      const other = yield* processOf(provider)
      const { identity } = yield* other.finish(yield* walk(service))
      assert.strictEqual(identity.subject, "1")
    })
  )

  it.effect("a sign-in keeps nothing readable in the browser", () =>
    Effect.gen(function* () {
      const { service } = yield* started()
      const { pending, url } = yield* service.begin(callback, "/some/path")
      const state = new URL(url).searchParams.get("state") ?? ""
      const parts = pending.split(".").map((part) => Buffer.from(part, "base64url").toString("latin1"))
      for (const text of [pending, ...parts]) {
        assert.notInclude(text, state)
        assert.notInclude(text, "/some/path")
      }
    })
  )

  it.effect("a sign-in works after the provider has changed its keys", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      yield* signIn(service)
      yield* provider.rotateKeys
      assert.strictEqual((yield* signIn(service)).identity.subject, "1")
    })
  )

  it.effect("concurrent sign-ins request the provider's description once", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      yield* Effect.all([signIn(service), signIn(service), signIn(service)], { concurrency: 3 })
      const descriptions = provider.requests.filter((path) => path.startsWith("/.well-known/"))
      assert.lengthOf(descriptions, 1)
    })
  )
})

describe("what comes back from the provider", () => {
  it.effect("a callback is refused with another state", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      const { pending, query } = yield* walk(service)
      const changed = query.replace(/state=[^&]*/, "state=guessed")
      assert.strictEqual(yield* problemOf(service.finish({ pending, query: changed })), "sign_in_expired")
      const without = query.replace(/state=[^&]*&?/, "")
      assert.strictEqual(yield* problemOf(service.finish({ pending, query: without })), "sign_in_expired")
      assert.notInclude(provider.requests, "/token")
    })
  )

  it.effect("a callback is refused for the sign-in of another browser", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      const { query } = yield* walk(service)
      const { pending } = yield* service.begin(callback, "/")
      assert.strictEqual(yield* problemOf(service.finish({ pending, query })), "sign_in_expired")
      assert.strictEqual(yield* problemOf(service.finish({ pending: undefined, query })), "sign_in_expired")
      assert.notInclude(provider.requests, "/token")
    })
  )

  it.effect("a callback is refused when it comes a second time", () =>
    Effect.gen(function* () {
      const { service } = yield* started()
      const returned = yield* walk(service)
      yield* service.finish(returned)
      assert.strictEqual(yield* problemOf(service.finish(returned)), "sign_in_expired")
    })
  )

  it.effect("a callback is refused with the code of another sign-in", () =>
    Effect.gen(function* () {
      const { service } = yield* started()
      const stolen = yield* walk(service)
      const own = yield* walk(service)
      const code = new URLSearchParams(stolen.query).get("code") ?? ""
      const query = own.query.replace(/code=[^&]*/, `code=${code}`)
      // PKCE binds a code to the browser that it was made for.
      assert.strictEqual(yield* problemOf(service.finish({ pending: own.pending, query })), "sign_in_expired")
    })
  )

  it.effect("a callback is refused with the nonce of another sign-in in its ID token", () =>
    Effect.gen(function* () {
      const { service } = yield* started()
      const returned = yield* walk(service, (url) => url.searchParams.set("nonce", "another"))
      assert.strictEqual(yield* problemOf(service.finish(returned)), "provider_invalid")
    })
  )

  it.effect("a callback is refused more than ten minutes after the sign-in began", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      const returned = yield* walk(service)
      yield* TestClock.adjust("601 seconds")
      assert.strictEqual(yield* problemOf(service.finish(returned)), "sign_in_expired")
      assert.notInclude(provider.requests, "/token")
    })
  )

  it.effect("a callback is refused if the browser's state was changed or made with another secret", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      const other = yield* processOf(provider, { clientSecret: Redacted.make("another secret") })
      const { pending, query } = yield* walk(service)
      const changed = `${pending.slice(0, -3)}${pending.endsWith("AAA") ? "BBB" : "AAA"}`
      for (const kept of ["", "x", "a.b.c.d.e", changed]) {
        assert.strictEqual(
          yield* problemOf(service.finish({ pending: kept, query })),
          "sign_in_expired",
          kept
        )
      }
      assert.strictEqual(yield* problemOf(other.finish({ pending, query })), "sign_in_expired")
      assert.notInclude(provider.requests, "/token")
    })
  )

  it.effect("a callback is refused with an ID token that the provider's keys have not signed", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      const { privateKey } = yield* Effect.promise(() => generateKeyPair("RS256"))
      answerTokens(provider, (token) =>
        new SignJWT(decodeJwt(token))
          .setProtectedHeader({ ...decodeProtectedHeader(token), alg: "RS256" })
          .sign(privateKey)
      )
      const returned = yield* walk(service)
      assert.strictEqual(yield* problemOf(service.finish(returned)), "provider_invalid")
    })
  )

  it.effect("a callback is refused with an ID token without a signature", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      const header = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url")
      answerTokens(provider, async (token) => `${header}.${token.split(".")[1]}.`)
      const returned = yield* walk(service)
      assert.strictEqual(yield* problemOf(service.finish(returned)), "provider_invalid")
    })
  )

  it.effect("a callback is refused with an ID token that was issued in the future", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      for (const [ahead, problem] of [
        [3_600, "provider_invalid"],
        [0, null]
      ] as const) {
        yield* tell(provider, ({ iat = 0, ...claims }) => ({ ...claims, iat: iat + ahead }))
        const result = yield* Effect.result(Effect.flatMap(walk(service), service.finish))
        assert.strictEqual(result._tag === "Failure" ? result.failure.problem : null, problem)
      }
    })
  )

  it.effect(
    "a callback is refused when userinfo calls an address unverified that the ID token doesn't verify",
    () =>
      Effect.gen(function* () {
        const { provider, service } = yield* started()
        const alice = "alice@example.com"
        for (const [inToken, inUserInfo, outcome] of [
          [{ email_verified: true }, { email: alice, email_verified: false }, "email_unverified"],
          [{ email_verified: true }, { email: alice }, "email_missing"],
          [{ email: alice }, { email_verified: true }, "email_unverified"],
          [{ email: ada.email }, { email: alice, email_verified: true }, alice],
          [{ email: ada.email, email_verified: true }, { email: alice, email_verified: true }, ada.email],
          [
            { email: alice, email_verified: false },
            { email: alice, email_verified: true },
            "email_unverified"
          ]
        ] as const) {
          const change = (claims: JWTPayload) => ({
            ...Struct.omit(claims, ["email", "email_verified"]),
            ...inToken
          })
          yield* tell(provider, change, inUserInfo)
          const result = yield* Effect.result(Effect.flatMap(walk(service), service.finish))
          const told = result._tag === "Failure" ? result.failure.problem : result.success.identity.email
          assert.strictEqual(told, outcome, JSON.stringify([inToken, inUserInfo]))
        }
      })
  )

  it.effect("a callback with an error of the provider fails as the provider's refusal", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      for (const [error, problem] of [
        ["access_denied", "provider_denied"],
        ["temporarily_unavailable", "provider_unavailable"],
        ["invalid_scope", "provider_invalid"]
      ] as const) {
        provider.authenticate({ error })
        assert.strictEqual(yield* problemOf(signIn(service)), problem, error)
      }
    })
  )
})

describe("an address at the provider", () => {
  it.effect("a sign-in needs an address that the provider sends and has verified", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      for (const [person, problem] of [
        [{ sub: "2" }, "email_missing"],
        [{ sub: "3", email: "not an address", email_verified: true }, "email_missing"],
        [{ sub: "4", email: "ada@example.com" }, "email_unverified"],
        [{ sub: "5", email: "ada@example.com", email_verified: false }, "email_unverified"],
        [{ sub: "6", email: "ada@example.com", email_verified: "false" }, "email_unverified"]
      ] as const) {
        provider.authenticate(person)
        assert.strictEqual(yield* problemOf(signIn(service)), problem, person.sub)
      }
      provider.authenticate({ ...ada, email_verified: "true" })
      assert.strictEqual((yield* signIn(service)).identity.email, "ada@example.com")
    })
  )

  it.effect("a sign-in needs an address of an allowed domain in any case, not of a subdomain", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started({ allowedDomains: ["example.com", "example.org"] })
      for (const email of [
        "a@example.net",
        "a@sub.example.com",
        "a@example.com.evil.test",
        "a@evilexample.com"
      ]) {
        provider.authenticate({ sub: email, email, email_verified: true })
        assert.strictEqual(yield* problemOf(signIn(service)), "domain_not_allowed", email)
      }
      provider.authenticate({ sub: "7", email: "A@Example.ORG", email_verified: true })
      assert.strictEqual((yield* signIn(service)).identity.email, "A@Example.ORG")
    })
  )
})

describe("a provider that fails", () => {
  it.effect("a provider that can't be reached is unavailable, and is asked again soon", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      provider.answerInstead((request) => {
        request.socket.destroy()
        return true
      })
      assert.strictEqual(yield* problemOf(service.begin(callback, "/")), "provider_unavailable")
      assert.strictEqual(yield* problemOf(service.probe), "provider_unavailable")
      provider.answerInstead(() => false)
      yield* TestClock.adjust("3 seconds")
      yield* service.probe
      assert.strictEqual((yield* signIn(service)).identity.subject, "1")
    })
  )

  it.effect("a provider is unavailable when nothing listens at its address", () =>
    Effect.gen(function* () {
      const { provider } = yield* started()
      const service = yield* processOf(provider, { issuer: "http://127.0.0.1:1" })
      assert.strictEqual(yield* problemOf(service.begin(callback, "/")), "provider_unavailable")
    })
  )

  it.live("a provider is unavailable when it doesn't answer in time", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started({ requestSeconds: 1 })
      const returned = yield* walk(service)
      // The headers come, and then a part of the body.
      provider.answerInstead((_, response) => {
        response.writeHead(200, { "content-type": "application/json" }).write('{"access_token":')
        return true
      })
      assert.strictEqual(yield* problemOf(service.finish(returned)), "provider_unavailable")
    })
  )

  it.effect("a provider is unavailable when it answers with errors of its own", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      const returned = yield* walk(service)
      provider.answerInstead((_, response) => {
        response.writeHead(503, { "content-type": "text/html" }).end("<p>Down for maintenance</p>")
        return true
      })
      assert.strictEqual(yield* problemOf(service.finish(returned)), "provider_unavailable")
    })
  )

  it.effect("the endless answer of a provider is not read to its end", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      let sent = 0
      provider.answerInstead((_, response) => {
        response.writeHead(200, { "content-type": "application/json" })
        const more = () => {
          while (!response.destroyed && response.write(" ".repeat(65_536))) sent += 65_536
        }
        response.on("drain", more)
        more()
        return true
      })
      assert.strictEqual(yield* problemOf(service.begin(callback, "/")), "provider_invalid")
      assert.isBelow(sent, 100_000_000)
    })
  )

  it.effect("the redirect of a provider is not followed", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      const other = yield* makeLocalProvider()
      const returned = yield* walk(service)
      provider.answerInstead((_, response) => {
        response.writeHead(307, { location: `${other.issuer}/token` }).end()
        return true
      })
      yield* problemOf(service.finish(returned))
      assert.deepStrictEqual(other.requests, [])
    })
  )

  it.effect("a provider is refused when it describes itself as another issuer", () =>
    Effect.gen(function* () {
      const { provider } = yield* started()
      const issuer = provider.issuer.replace("127.0.0.1", "localhost")
      const service = yield* processOf(provider, { issuer })
      assert.strictEqual(yield* problemOf(service.begin(callback, "/")), "provider_invalid")
    })
  )

  it.effect("the new endpoints of a provider are used after a sign-in at the old ones failed", () =>
    Effect.gen(function* () {
      const { provider, service } = yield* started()
      const returned = yield* walk(service)
      provider.answerInstead((request, response) => {
        if (request.url !== "/token") return false
        response.writeHead(404).end()
        return true
      })
      assert.strictEqual(yield* problemOf(service.finish(returned)), "provider_invalid")
      provider.answerInstead(() => false)
      yield* signIn(service)
      assert.lengthOf(
        provider.requests.filter((path) => path.startsWith("/.well-known/")),
        2
      )
    })
  )
})

describe("an installation without a provider", () => {
  it.effect("an installation without a provider offers no sign-in by one", () =>
    Effect.gen(function* () {
      const { provider } = yield* started()
      const service = yield* processOf(provider, { issuer: null, clientId: null, clientSecret: null })
      assert.isNull(service.name)
      assert.strictEqual(yield* problemOf(service.begin(callback, "/")), "not_configured")
    })
  )
})
