import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { Audit } from "../../src/audit/Audit.ts"
import { Accounts } from "../../src/auth/Accounts.ts"
import { returnPath } from "../../src/console/IdentityRoutes.ts"
import { pagePaths } from "../../src/console/PagePaths.ts"
import { signInRefusals, signInRefusalText } from "../../src/domain/SignInRefusal.ts"
import { type CookieJar, makeCookieJar } from "../support/CookieJar.ts"
import { type LocalProvider, makeLocalProvider } from "../support/LocalProvider.ts"
import { openRaw } from "../support/RawClient.ts"
import { TestApp } from "../support/TestApp.ts"
import type { SettingsOverrides } from "../support/TestConfig.ts"
import { call } from "../support/Wire.ts"

class Provider extends Context.Service<Provider, LocalProvider>()("parley/test/Provider") {}

/** The service, set to a provider of its own. */
const appLayer = (overrides: SettingsOverrides = {}) =>
  Layer.unwrap(
    Effect.map(Provider, ({ clientId, clientSecret, issuer }) =>
      TestApp.layer({
        ...overrides,
        oidc: {
          issuer,
          clientId,
          clientSecret: Redacted.make(clientSecret),
          name: "Example Accounts",
          organization: "alice's",
          ...overrides.oidc
        }
      })
    )
  ).pipe(Layer.provideMerge(Layer.effect(Provider, makeLocalProvider())))

const begin = "/console/sign-in/oidc"
const callback = `${begin}/callback`

let made = 0
const somebody = () => ({ sub: `${++made}`, email: `person${made}@example.com`, email_verified: true })

/** A browser at the service, and somebody at the provider. */
const arrived = Effect.fnUntraced(function* (person: Parameters<LocalProvider["authenticate"]>[0]) {
  const { url } = yield* TestApp
  const provider = yield* Provider
  provider.allowRedirectTo(`${url}${callback}`)
  provider.authenticate(person)
  return { url, provider, jar: makeCookieJar() }
})

const follow = (jar: CookieJar, from: string, to: string) => Effect.promise(() => jar.followTo(from, to))

/** The state of a sign-in after the provider has sent the browser back, and before the browser follows. */
const walked = Effect.fnUntraced(function* (person: Parameters<LocalProvider["authenticate"]>[0]) {
  const arrival = yield* arrived(person)
  const { jar, url } = arrival
  return { ...arrival, address: yield* follow(jar, `${url}${begin}`, `${url}${callback}`) }
})

/** The address to which the answer to a GET redirects the browser. */
const locationOf = (jar: CookieJar, address: string, headers: Record<string, string> = {}) =>
  Effect.map(
    Effect.promise(() => jar.get(address, headers)),
    (answer) => {
      assert.strictEqual(answer.status, 303)
      assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      assert.strictEqual(answer.headers.get("referrer-policy"), "no-referrer")
      return answer.headers.get("location") ?? ""
    }
  )

const sessionOf = Effect.fnUntraced(function* (jar: CookieJar) {
  const { url } = yield* TestApp
  const answer = yield* Effect.promise(() => jar.get(`${url}/console/session`))
  return (yield* Effect.promise(() => answer.json())) as {
    readonly user: { readonly email: string; readonly has_password: boolean } | null
    readonly identity_provider: string | null
  }
})

layer(appLayer(), { excludeTestServices: true })("Signing in by an identity provider", (it) => {
  it.effect("a sign-in by a provider starts a session and leads to the page that was asked for", () =>
    Effect.gen(function* () {
      const person = somebody()
      const { jar, url } = yield* arrived(person)
      assert.isNull((yield* sessionOf(jar)).user)
      const end = `${url}${pagePaths.account}?tab=1`
      const asked = encodeURIComponent(`${pagePaths.account}?tab=1`)
      assert.strictEqual(yield* follow(jar, `${url}${begin}?return_to=${asked}`, end), end)
      const cookies = jar.cookies(url)
      assert.deepStrictEqual([...cookies.keys()], ["parley_session"])
      const { attributes, path } = cookies.get("parley_session")!
      assert.strictEqual(path, "/")
      assert.includeMembers([...attributes], ["httponly", "samesite=lax"])
      const { identity_provider: name, user } = yield* sessionOf(jar)
      assert.strictEqual(name, "Example Accounts")
      assert.strictEqual(user?.email, person.email)
      assert.isFalse(user?.has_password)
      const { data } = yield* (yield* Audit).list({ actor: person.email, action: "session.start" })
      assert.deepStrictEqual(
        data.map(({ address, details }) => [address, details["method"]]),
        [["127.0.0.1", "identity_provider"]]
      )
    })
  )

  it.effect("a sign-in by a provider keeps its state from scripts and from other sites", () =>
    Effect.gen(function* () {
      const { jar, url } = yield* arrived(somebody())
      yield* locationOf(jar, `${url}${begin}`)
      const { attributes, path } = jar.cookies(url).get("parley_sign_in")!
      assert.strictEqual(path, "/")
      assert.includeMembers([...attributes], ["httponly", "samesite=lax", "max-age=600"])
    })
  )

  it.effect("a sign-in by a provider never leads to another site", () =>
    Effect.gen(function* () {
      const { jar, url } = yield* arrived(somebody())
      for (const asked of ["https://evil.test/", "//evil.test/", "/\\evil.test", "/.//evil.test", begin]) {
        const from = `${url}${begin}?return_to=${encodeURIComponent(asked)}`
        const address = yield* follow(jar, from, `${url}${callback}`)
        assert.strictEqual(yield* locationOf(jar, address), "/", asked)
      }
    })
  )

  it.effect("a sign-in by a provider accepts each answer of the provider once", () =>
    Effect.gen(function* () {
      const { address, jar, url } = yield* walked(somebody())
      const cookie = `parley_sign_in=${jar.cookies(url).get("parley_sign_in")?.value}`
      assert.strictEqual(yield* locationOf(jar, address), "/")
      const refused = `${pagePaths.signIn}?problem=sign_in_expired`
      assert.strictEqual(yield* locationOf(jar, address), refused)
      // Somebody who has copied the browser's cookie, too.
      const thief = makeCookieJar()
      assert.strictEqual(yield* locationOf(thief, address, { cookie }), refused)
      assert.isFalse(thief.cookies(url).has("parley_session"))
    })
  )

  it.effect("a sign-in by a provider is refused to a browser that began none, or another one", () =>
    Effect.gen(function* () {
      const { address, provider, url } = yield* walked(somebody())
      const refused = `${pagePaths.signIn}?problem=sign_in_expired`
      const other = makeCookieJar()
      assert.strictEqual(yield* locationOf(other, address), refused)
      yield* locationOf(other, `${url}${begin}`)
      const before = provider.requests.length
      assert.strictEqual(yield* locationOf(other, address), refused)
      assert.strictEqual(provider.requests.length, before)
      assert.deepStrictEqual([...other.cookies(url).keys()], [])
    })
  )

  it.effect("a sign-in by a provider replaces a planted session, and ends the one before", () =>
    Effect.gen(function* () {
      const first = yield* walked(somebody())
      yield* locationOf(first.jar, first.address)
      const old = first.jar.cookies(first.url).get("parley_session")!.value
      const { address, jar, url } = yield* walked(somebody())
      const planted = { cookie: `parley_session=${old}` }
      assert.strictEqual(yield* locationOf(jar, address, planted), pagePaths.home)
      assert.notStrictEqual(jar.cookies(url).get("parley_session")?.value, old)
      assert.isNull((yield* sessionOf(first.jar)).user)
    })
  )

  it.effect("a sign-in by a provider leads back to the sign-in page with the reason of a refusal", () =>
    Effect.gen(function* () {
      const person = somebody()
      const disabled = somebody()
      const accounts = yield* Accounts
      yield* accounts.createUser(disabled.email, "alice's")
      yield* accounts.setDisabled(disabled.email, true)
      for (const [who, problem] of [
        [{ error: "access_denied" }, "provider_denied"],
        [{ sub: "x" }, "email_missing"],
        [{ ...person, email_verified: false }, "email_unverified"],
        [disabled, "user_disabled"]
      ] as const) {
        const { address, jar, url } = yield* walked(who)
        assert.strictEqual(yield* locationOf(jar, address), `${pagePaths.signIn}?problem=${problem}`)
        assert.isFalse(jar.cookies(url).has("parley_session"), problem)
        assert.isFalse(jar.cookies(url).has("parley_sign_in"), problem)
      }
    })
  )

  it.effect("a sign-in by a provider builds its redirect URI from no foreign Host header", () =>
    Effect.gen(function* () {
      const { url } = yield* arrived(somebody())
      for (const [host, origin] of [
        ["localhost:4321", "http://localhost:4321"],
        ["[::1]:4321", "http://[::1]:4321"],
        ["evil.test", "http://localhost:"],
        ["localhost.evil.test", "http://localhost:"]
      ]) {
        const client = yield* openRaw(url)
        yield* client.send(`GET ${begin} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
        const [, location = ""] = /^location: (.*)$/im.exec(yield* client.whole) ?? []
        const redirectUri = new URL(location).searchParams.get("redirect_uri") ?? ""
        assert.isTrue(redirectUri.startsWith(`${origin}`) && redirectUri.endsWith(callback), redirectUri)
      }
    })
  )

  it.effect("a sign-in by a provider is refused to methods other than GET", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      for (const path of [begin, callback]) {
        const { headers, status } = yield* call(`${url}${path}`, { method: "POST", body: {} })
        assert.strictEqual(status, 405)
        assert.include(headers.get("allow"), "GET")
      }
    })
  )
})

describe("a service below a path", () => {
  const publicUrl = "https://parley.example.com/chat"
  layer(appLayer({ console: { publicUrl, basePath: "/chat/" } }), { excludeTestServices: true })((it) => {
    it.effect("a service below a path has its cookies, its redirect URI and its pages there", () =>
      Effect.gen(function* () {
        const { jar, provider, url } = yield* arrived(somebody())
        provider.allowRedirectTo(`${publicUrl}${callback}`)
        const location = yield* locationOf(jar, `${url}${begin}?return_to=${pagePaths.account}`)
        const { attributes, path, value } = jar.cookies(url).get("__Secure-parley_sign_in")!
        assert.strictEqual(path, "/chat/")
        assert.include(attributes, "secure")
        const end = yield* follow(jar, location, `${publicUrl}${callback}`)
        const through = end.replace(publicUrl, url)
        const cookie = `__Secure-parley_sign_in=${value}`
        assert.strictEqual(yield* locationOf(jar, through, { cookie }), `/chat${pagePaths.account}`)
        assert.strictEqual(jar.cookies(url).get("__Secure-parley_session")?.path, "/chat/")
        assert.strictEqual(
          yield* locationOf(jar, through),
          `/chat${pagePaths.signIn}?problem=sign_in_expired`
        )
      })
    )
  })
})

describe("a service whose provider is away at its start", () => {
  layer(appLayer({ oidc: { issuer: "http://127.0.0.1:1" } }), { excludeTestServices: true })((it) => {
    it.effect("a service whose provider is away at its start works, and says that it doesn't answer", () =>
      Effect.gen(function* () {
        const { url } = yield* TestApp
        const jar = makeCookieJar()
        assert.strictEqual((yield* sessionOf(jar)).identity_provider, "Example Accounts")
        const location = yield* locationOf(jar, `${url}${begin}`)
        assert.strictEqual(location, `${pagePaths.signIn}?problem=provider_unavailable`)
      })
    )
  })
})

describe("a service without a provider", () => {
  const none = { issuer: null, clientId: null, clientSecret: null }
  layer(appLayer({ oidc: none }), { excludeTestServices: true })((it) => {
    it.effect("a service without a provider offers no sign-in by one", () =>
      Effect.gen(function* () {
        const { url } = yield* TestApp
        const jar = makeCookieJar()
        assert.isNull((yield* sessionOf(jar)).identity_provider)
        for (const path of [begin, callback]) {
          const location = yield* locationOf(jar, `${url}${path}`)
          assert.strictEqual(location, `${pagePaths.signIn}?problem=not_configured`)
        }
      })
    )
  })
})

describe("the page to return to", () => {
  const pieces = [
    "/",
    "\\",
    ".",
    "..",
    "\t",
    "\n",
    "%2f",
    "%5c",
    ":",
    "@",
    "?",
    "#",
    "evil.test",
    "http:",
    "settings"
  ]
  const Asked = Schema.Array(Schema.Literals(pieces)).check(Schema.isMaxLength(12))

  it.prop("the page to return to is always one of this service, below whatever base", [Asked], ([asked]) => {
    for (const text of [asked.join(""), `/${asked.join("")}`, `${pagePaths.account}${asked.join("")}`]) {
      const path = returnPath(text)
      for (const base of ["/", "/chat/"]) {
        const address = new URL(
          base + path.slice(1),
          "https://parley.example.com/console/sign-in/oidc/callback"
        )
        assert.strictEqual(address.origin, "https://parley.example.com", text)
        assert.isTrue(address.pathname.startsWith(base), text)
      }
    }
  })

  it("the page to return to is the first page if the dots of a path hide a host", () => {
    for (const asked of [".\\/", "/.//", "/.//?a=b", "/..//evil.test", "/./\\evil.test", "/.//usage"]) {
      assert.strictEqual(returnPath(asked), "/", asked)
    }
  })

  it("the page to return to is the one that was asked for, with its query and its fragment", () => {
    for (const path of Object.values(pagePaths)) {
      assert.strictEqual(returnPath(`${path}?a=b#c`), `${path}?a=b#c`)
    }
    assert.strictEqual(returnPath(null), "/")
    assert.strictEqual(returnPath(`/usage?${"x".repeat(1_000)}`), "/")
  })
})

describe("the reasons of refusals", () => {
  it("the reasons of refusals have sentences, and other codes have none", () => {
    for (const code of Object.keys(signInRefusals)) assert.match(signInRefusalText(code) ?? "", /\.$/)
    for (const code of ["", "toString", "__proto__", "<b>"]) assert.isNull(signInRefusalText(code))
  })
})
