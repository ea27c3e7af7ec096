import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Effect, type Scope } from "effect"
import { exportJWK, generateKeyPair, type JWK } from "jose"
import { type AdapterConstructor, Provider } from "oidc-provider"
import { serveOnLoopback } from "./serveOnLoopback.ts"

/** A person at the provider, by the claims that it tells. */
export interface TestPerson {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: boolean | string
  readonly groups?: ReadonlyArray<string> | string
}

/** Answers a request in the provider's place; false leaves it to the provider. */
type Answer = (request: IncomingMessage, response: ServerResponse) => boolean

/** A real OpenID provider on a free port, which authenticates without asking. */
export interface LocalProvider {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly allowRedirectTo: (uri: string) => void
  /** Whom it authenticates from now on, or the error that it sends people back with. */
  readonly authenticate: (person: TestPerson | { readonly error: string }) => void
  readonly answerInstead: (answer: Answer) => void
  /** From now on it signs by another key, and knows the last one no more. */
  readonly rotateKeys: Effect.Effect<void>
  /** The paths of the requests so far. */
  readonly requests: ReadonlyArray<string>
}

const clientId = "parley"
const clientSecret = "a-secret-of-the-client-that-is-long-enough"

/** The provider's own, which isn't exported by name; given by hand, the provider doesn't warn of it. */
const adapterModule: string = "oidc-provider/lib/adapters/memory_adapter.js"
const loadAdapter = Effect.promise(async () => {
  const { default: Adapter } = (await import(adapterModule)) as { readonly default: AdapterConstructor }
  return (name: string) => new Adapter(name)
})

/** Seconds that what the provider gives out is valid. */
const validSeconds = 600

const makeKey = Effect.promise(async () => {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true })
  return exportJWK(privateKey)
})

interface Described {
  readonly issuer: string
  readonly adapter: Effect.Success<typeof loadAdapter>
  readonly key: JWK
  readonly redirectUris: ReadonlyArray<string>
  readonly people: ReadonlyMap<string, TestPerson>
  /** Otherwise it tells the claims at its userinfo endpoint only. */
  readonly tellsInToken: boolean
}

const makeOidcProvider = ({
  adapter,
  issuer,
  key,
  people,
  redirectUris,
  tellsInToken
}: Described): Provider =>
  new Provider(issuer, {
    adapter,
    ttl: Object.fromEntries(
      ["AccessToken", "AuthorizationCode", "Grant", "IdToken", "Interaction", "Session"].map((name) => [
        name,
        validSeconds
      ])
    ),
    jwks: { keys: [key] },
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [...redirectUris] }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
    conformIdTokenClaims: !tellsInToken,
    cookies: { keys: ["a-key-of-the-provider"] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ ...people.get(sub), sub }) }),
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({
        clientId,
        ...(oidc.session?.accountId === undefined ? {} : { accountId: oidc.session.accountId })
      })
      grant.addOIDCScope("openid email groups")
      await grant.save()
      return grant
    }
  })

export const makeLocalProvider = (
  options: { readonly tellsInToken?: boolean } = {}
): Effect.Effect<LocalProvider, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { tellsInToken = true } = options
    const people = new Map<string, TestPerson>()
    const requests: Array<string> = []
    const redirectUris: Array<string> = ["https://parley.example.com/callback"]
    let current: TestPerson | { readonly error: string } = { error: "access_denied" }
    let instead: Answer = () => false
    let provider: Provider | null = null

    const interact = async (request: IncomingMessage, response: ServerResponse) => {
      const result = "error" in current ? current : { login: { accountId: current.sub } }
      await provider?.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
    }
    const server = createServer((request, response) => {
      const path = request.url?.replace(/\?.*/, "") ?? ""
      requests.push(path)
      if (instead(request, response)) return
      if (path.startsWith("/interaction/")) void interact(request, response)
      else void provider?.callback()(request, response)
    })
    const issuer = `http://127.0.0.1:${yield* serveOnLoopback(server)}`
    const adapter = yield* loadAdapter
    let key = yield* makeKey
    const build = () => {
      provider = makeOidcProvider({ adapter, issuer, key, redirectUris, people, tellsInToken })
    }
    build()

    return {
      issuer,
      clientId,
      clientSecret,
      allowRedirectTo: (uri) => {
        redirectUris.push(uri)
        build()
      },
      authenticate: (person) => {
        current = person
        if ("sub" in person) people.set(person.sub, person)
      },
      answerInstead: (answer) => {
        instead = answer
      },
      rotateKeys: Effect.map(makeKey, (made) => {
        key = made
        build()
      }),
      requests
    }
  })
