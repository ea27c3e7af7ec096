import { Context, Effect, Layer, Option, Result, Semaphore } from "effect"
import type { Digest } from "effect/crypto"
import * as OpenId from "openid-client"
import type { IdentityRefused } from "../domain/IdentityRefused.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import {
  type Claims,
  completed,
  type Identity,
  identityOf,
  isIncomplete,
  isIssuedAhead,
  refused
} from "./IdentityClaims.ts"
import { makePendingSignIns, type PendingSignIn } from "./PendingSignIn.ts"
import { attempt, isConfigured, makeProviderClient, type ProviderSettings } from "./ProviderClient.ts"
import { refusalOf } from "./ProviderRefusal.ts"

/** Sign-ins that ask the provider at once, per process; more are refused. */
const exchangesMax = 64

/** A person who is to be sent to the provider. */
interface Begun {
  /** The address at the provider. */
  readonly url: string
  /** A value that the browser keeps until the person returns. */
  readonly pending: string
}

/** A person whom the provider has sent back. */
interface Returned {
  /** The state that the browser kept, if any. */
  readonly pending: string | undefined
  /** The query of the request, with its question mark. */
  readonly query: string
}

interface SignedIn {
  readonly identity: Identity
  readonly returnTo: string
}

/** The OpenID provider that people may sign in with, if the settings name one. */
export class IdentityProvider extends Context.Service<
  IdentityProvider,
  {
    /** The name on the sign-in page; null without a provider. */
    readonly name: string | null
    /** `returnTo` must be a local path. */
    readonly begin: (redirectUri: string, returnTo: string) => Effect.Effect<Begun, IdentityRefused>
    /** The person who has returned. The provider accepts each of its codes once. */
    readonly finish: (returned: Returned) => Effect.Effect<SignedIn, IdentityRefused>
    /** Asks the provider for its description and its keys. */
    readonly probe: Effect.Effect<void, IdentityRefused>
  }
>()("parley/auth/IdentityProvider") {
  static readonly layer: Layer.Layer<IdentityProvider, never, AppConfig | Digest.Digest> = Layer.effect(
    IdentityProvider,
    Effect.gen(function* () {
      const { oidc } = yield* AppConfig
      return isConfigured(oidc) ? yield* makeProvider(oidc) : none
    })
  )
}

const notConfigured = Effect.fail(refused("not_configured", "PARLEY_OIDC_ISSUER is not set"))

const none = IdentityProvider.of({
  name: null,
  begin: () => notConfigured,
  finish: () => notConfigured,
  probe: notConfigured
})

/** Returns the address to which the browser is sent. */
const authorizationUrl = Effect.fnUntraced(function* (
  client: OpenId.Configuration,
  scopes: ReadonlyArray<string>,
  { codeVerifier, nonce, redirectUri, state }: PendingSignIn
) {
  const challenge = yield* Effect.promise(() => OpenId.calculatePKCECodeChallenge(codeVerifier))
  const parameters = {
    redirect_uri: redirectUri,
    scope: scopes.join(" "),
    state,
    nonce,
    code_challenge: challenge,
    code_challenge_method: "S256"
  }
  return yield* Effect.try({
    try: () => OpenId.buildAuthorizationUrl(client, parameters).href,
    catch: refusalOf
  })
})

/**
 * The claims of the person whom the provider has sent back with a code, from its ID token and its userinfo
 * endpoint.
 */
const claimsOf = Effect.fnUntraced(function* (
  client: OpenId.Configuration,
  { codeVerifier, nonce, redirectUri, state }: PendingSignIn,
  query: string,
  groupsClaim: string | null
): Effect.fn.Return<Claims, IdentityRefused> {
  const tokens = yield* attempt(() =>
    OpenId.authorizationCodeGrant(client, new URL(query, redirectUri), {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      idTokenExpected: true
    })
  )
  const inToken: Claims = tokens.claims() ?? {}
  // oxlint-disable-next-line no-restricted-properties -- the clock by which openid-client checks the other times of the token
  if (isIssuedAhead(inToken, Date.now() / 1000)) {
    return yield* refused(
      "provider_invalid",
      "the claim iat of the ID token is in the future: compare the clocks"
    )
  }
  const isAsked =
    isIncomplete(inToken, groupsClaim) && client.serverMetadata().userinfo_endpoint !== undefined
  if (!isAsked) return inToken
  const more = yield* attempt(() => OpenId.fetchUserInfo(client, tokens.access_token, String(inToken["sub"])))
  return completed(inToken, more)
})

const makeProvider = Effect.fnUntraced(function* (oidc: ProviderSettings) {
  const provider = yield* makeProviderClient(oidc)
  const pendings = yield* makePendingSignIns(oidc.clientSecret)
  const exchanges = yield* Semaphore.make(exchangesMax)
  const groupsClaim = oidc.groups === null ? null : oidc.groupsClaim

  const begin = Effect.fn("IdentityProvider.begin")(function* (redirectUri: string, returnTo: string) {
    const client = yield* provider.client
    const pending: PendingSignIn = {
      state: OpenId.randomState(),
      nonce: OpenId.randomNonce(),
      codeVerifier: OpenId.randomPKCECodeVerifier(),
      redirectUri,
      returnTo
    }
    const url = yield* authorizationUrl(client, oidc.scopes, pending)
    return { url, pending: yield* pendings.seal(pending) }
  })

  const exchange = (pending: PendingSignIn, query: string) =>
    provider.client.pipe(
      Effect.flatMap((client) => claimsOf(client, pending, query, groupsClaim)),
      exchanges.withPermitsIfAvailable(1),
      Effect.flatMap((claims) =>
        Effect.fromOption(claims, () =>
          refused("too_many_sign_ins", `${exchangesMax} sign-ins are under way`)
        )
      ),
      // The provider may have other endpoints than before.
      Effect.tapError(({ problem }) => (problem === "provider_invalid" ? provider.forget : Effect.void))
    )

  const finish = Effect.fn("IdentityProvider.finish")(function* ({ pending: sealed, query }: Returned) {
    const opened = sealed === undefined ? Option.none<PendingSignIn>() : yield* pendings.open(sealed)
    if (Option.isNone(opened)) {
      return yield* refused("sign_in_expired", "the browser keeps no sign-in that is under way")
    }
    const pending = opened.value
    if (new URLSearchParams(query).get("state") !== pending.state) {
      return yield* refused("sign_in_expired", "the browser keeps another sign-in that is under way")
    }
    const identity = identityOf(yield* exchange(pending, query), oidc)
    if (Result.isFailure(identity)) return yield* identity.failure
    return { identity: identity.success, returnTo: pending.returnTo }
  })

  return IdentityProvider.of({ name: oidc.name, begin, finish, probe: provider.probe })
})
