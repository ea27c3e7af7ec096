import { Cache, Duration, Effect, Exit, Redacted } from "effect"
import * as OpenId from "openid-client"
import type { CustomFetch } from "openid-client"
import type { IdentityRefused } from "../domain/IdentityRefused.ts"
import type { Settings } from "../settings/AppConfig.ts"
import { isSecure } from "../settings/OidcCodec.ts"
import { refused } from "./IdentityClaims.ts"
import { refusalOf } from "./ProviderRefusal.ts"

/** The longest answer of a provider, decompressed; its description and its keys have a few thousand bytes. */
const answerBytesMax = 262_144

/** An answer that is not to be read to its end. */
class AnswerTooLong extends Error {
  override readonly name = "AnswerTooLong"
  override readonly message = `the answer is longer than ${answerBytesMax} bytes`
}

/** A request that the description of the provider asks for, but that must not be sent. */
class AddressRefused extends Error {
  override readonly name = "AddressRefused"
}

/** Ends with an error behind the longest answer. */
const bounded = (body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> => {
  let bytes = 0
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      bytes += piece.byteLength
      if (bytes > answerBytesMax) controller.error(new AnswerTooLong())
      else controller.enqueue(piece)
    }
  })
  return body.pipeThrough(limit)
}

/**
 * Sends the requests of openid-client, which sets their timeout and asks only addresses in the provider's
 * description. Follows no redirects, so that no other server is asked.
 */
const makeProviderFetch =
  (isAllowed: (url: URL) => boolean): CustomFetch =>
  async (address, { body, headers, method, signal }) => {
    const url = new URL(address)
    if (!isAllowed(url)) throw new AddressRefused(`${url.origin} is asked by neither https nor on loopback`)
    const answer = await fetch(url, {
      body: body instanceof ArrayBuffer ? new Uint8Array(body) : (body ?? null),
      headers,
      method,
      redirect: "error",
      ...(signal === undefined ? {} : { signal })
    })
    const { status } = answer
    return new Response(answer.body === null ? null : bounded(answer.body), {
      status,
      headers: answer.headers
    })
  }

/** Seconds for which the provider's description is used. Its keys are read at each sign-in. */
const descriptionSeconds = 3_600
/** Seconds for which a provider without a readable description is not asked again. */
const failureSeconds = 2

/** The settings of a provider, where there is one. */
export type ProviderSettings = Settings["oidc"] & {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
}

/** The check of the settings refuses some of them without the others. */
export const isConfigured = (oidc: Settings["oidc"]): oidc is ProviderSettings =>
  oidc.issuer !== null && oidc.clientId !== null && oidc.clientSecret !== null

export const attempt = <A>(ask: () => Promise<A>): Effect.Effect<A, IdentityRefused> =>
  Effect.tryPromise({ try: ask, catch: refusalOf })

/**
 * The client's authentication. Source: OpenID Connect Core 1.0, section 9: basic, unless the provider lists
 * its methods without it.
 */
const authenticationOf = (server: OpenId.ServerMetadata, secret: string): OpenId.ClientAuth =>
  server.token_endpoint_auth_methods_supported?.includes("client_secret_basic") === false
    ? OpenId.ClientSecretPost(secret)
    : OpenId.ClientSecretBasic(secret)

/** The provider of the settings, found when it is first needed. */
interface ProviderClient {
  readonly client: Effect.Effect<OpenId.Configuration, IdentityRefused>
  /** The next `client` asks for a new description. */
  readonly forget: Effect.Effect<void>
  /** Asks for the provider's keys. */
  readonly probe: Effect.Effect<void, IdentityRefused>
}

export const makeProviderClient = Effect.fnUntraced(function* (
  settings: ProviderSettings
): Effect.fn.Return<ProviderClient> {
  const { clientId, clientSecret, issuer, requestSeconds } = settings
  const isLocal = new URL(issuer).protocol === "http:"
  const send = makeProviderFetch((url) => url.protocol === "https:" || (isLocal && isSecure(url)))
  // Each request is checked by the rule above.
  const execute = isLocal ? [OpenId.allowInsecureRequests] : []

  const discover = attempt(() =>
    OpenId.discovery(new URL(issuer), clientId, undefined, OpenId.None(), {
      execute,
      timeout: requestSeconds,
      [OpenId.customFetch]: send
    })
  ).pipe(
    Effect.map((configuration) => configuration.serverMetadata()),
    // openid-client accepts another issuer from some hosts, whose tenants share a description.
    Effect.filterOrFail(
      (server) => new URL(server.issuer).href === new URL(issuer).href,
      () => refused("provider_invalid", "the provider describes itself as another issuer")
    )
  )

  const descriptions = yield* Cache.makeWith(() => discover, {
    capacity: 1,
    timeToLive: (exit) => Duration.seconds(Exit.isSuccess(exit) ? descriptionSeconds : failureSeconds)
  })
  const description = Cache.get(descriptions, issuer)

  /** A new one has no keys of the provider yet, so that a key that it has just begun to use is known. */
  const clientOf = (server: OpenId.ServerMetadata): OpenId.Configuration => {
    const authentication = authenticationOf(server, Redacted.value(clientSecret))
    const client = new OpenId.Configuration(server, clientId, undefined, authentication)
    client.timeout = requestSeconds
    client[OpenId.customFetch] = send
    for (const extension of execute) extension(client)
    // Verifies the signature of the ID token, too.
    OpenId.enableNonRepudiationChecks(client)
    return client
  }

  const probe = Effect.gen(function* () {
    const { jwks_uri: keys = issuer } = yield* description
    const signal = AbortSignal.timeout(requestSeconds * 1000)
    const request = { body: undefined, headers: {}, method: "GET", redirect: "manual" as const, signal }
    const { status } = yield* attempt(() => send(keys, request))
    if (status === 200) return
    return yield* refused("provider_unavailable", `the request for its keys is answered by ${status}`)
  })

  return { client: Effect.map(description, clientOf), forget: Cache.invalidate(descriptions, issuer), probe }
})
