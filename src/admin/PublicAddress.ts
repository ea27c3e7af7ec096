import { Effect, Predicate } from "effect"
import type { HttpClientError } from "effect/http"
import { failureReason } from "../runtime/failureReason.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { type NoAnswer, statusOf, type StreamSeen, watchStream } from "./HttpProbe.ts"
import { failed, named, ok, type Outcome, warning } from "./Outcome.ts"

const guide = "see docs/deployment.md, Reverse proxy"

export const isLoopback = (host: string): boolean =>
  host === "localhost" ||
  host.endsWith(".localhost") ||
  host === "[::1]" ||
  host === "::1" ||
  host.startsWith("127.")

/** The outcome by the settings alone; null where the address itself is to be asked. */
const settingsOutcome = ({ console: { publicUrl }, http }: Settings): Outcome | null => {
  if (publicUrl !== null) return null
  return isLoopback(http.host)
    ? ok(
        `Only this machine reaches the service, at http://localhost:${http.port}. Before others do, put a reverse proxy in front ` +
          `and set PARLEY_PUBLIC_URL: ${guide}.`
      )
    : warning(
        `HOST is ${http.host}, so other machines can connect, and without TLS: keys and passwords cross the network as plain ` +
          `text. Put a reverse proxy in front that ends TLS, and set PARLEY_PUBLIC_URL to its https address: ${guide}.`
      )
}

/** The address that people use, if nothing encrypts what they send. */
const tlsOutcome = (publicUrl: string): ReadonlyArray<Outcome> => {
  const { hostname, protocol } = new URL(publicUrl)
  return protocol === "https:" || isLoopback(hostname)
    ? []
    : [
        warning(
          `PARLEY_PUBLIC_URL is ${publicUrl}, without TLS: keys and passwords cross the network as plain text. Let the reverse ` +
            `proxy end TLS, and set the https address: ${guide}.`
        )
      ]
}

/** The outcomes of a stream through the address. */
const streamOutcomes = (publicUrl: string, seen: StreamSeen): ReadonlyArray<Outcome> => {
  if (seen._tag === "Other") {
    return [
      failed(
        `${publicUrl} answers with HTTP ${seen.status}, and not as this service does. PARLEY_PUBLIC_URL must be the address of ` +
          "the reverse proxy in front of it; if it has a path, the proxy must strip it."
      )
    ]
  }
  return [
    ...(seen.isHeldBack
      ? [
          warning(
            `A proxy between ${publicUrl} and the service holds events back: two that were sent ` +
              `apart came at once, so that people see nothing until an answer is complete. Turn its buffering and compression of ` +
              `text/event-stream off: ${guide}.`
          )
        ]
      : []),
    ...(seen.forwarded && !seen.trusted
      ? [
          warning(
            "A proxy that PARLEY_TRUSTED_PROXIES doesn't name passes requests on, so that all its clients count as one. Set its " +
              "address there, which the access log shows as `address`."
          )
        ]
      : []),
    ...(seen.trusted && !seen.forwarded
      ? [
          warning(
            "The proxy doesn't say who its clients are, so that all of them count as one. Have it set X-Forwarded-For, and not " +
              `append to it: ${guide}.`
          )
        ]
      : [])
  ]
}

/** Warns if the operator's interface answers there, which the refusal of a request without a key shows. */
const adminOutcomes = (publicUrl: string) =>
  statusOf(`${publicUrl}/admin/users`).pipe(
    Effect.map((status) =>
      status === 401 && !isLoopback(new URL(publicUrl).hostname)
        ? [
            warning(
              `The operator's interface answers at ${publicUrl}/admin, protected by its key alone. Keep it inside, by a rule of ` +
                "the proxy or by PARLEY_ADMIN_PORT."
            )
          ]
        : []
    ),
    Effect.orElseSucceed(() => [])
  )

/** Codes of certificates that no browser accepts. */
const invalidCertificate = /CERT_HAS_EXPIRED|CERT_NOT_YET_VALID|ERR_TLS_CERT_ALTNAME_INVALID/
/** Codes of certificates of an authority that only some machines know. */
const unknownAuthority = /SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)/

/** The reason of the system or of TLS, without the address, which stands in front of it. */
const reasonOf = (error: HttpClientError.HttpClientError | NoAnswer): string =>
  error._tag === "NoAnswer" || !Predicate.hasProperty(error.reason, "cause")
    ? failureReason(error)
    : failureReason(error.reason.cause)

const unreachable = (publicUrl: string, reason: string): Outcome => {
  if (invalidCertificate.test(reason))
    return failed(`The certificate of ${publicUrl} can't be used: ${reason}. Renew it, or correct its names.`)
  const advice = unknownAuthority.test(reason)
    ? "If your own authority signed its certificate, name that in NODE_EXTRA_CA_CERTS in the environment of the service."
    : "Check its name in the DNS and the reverse proxy. If only this machine can't reach it, check from another one whether streams arrive piece by piece."
  return warning(`The service can't reach itself at ${publicUrl}: ${reason}. ${advice}`)
}

/**
 * Checks that people reach the service by TLS, and that a proxy in front of it passes streams on: the service
 * streams to itself through it.
 */
export const publicAddressChecks = Effect.gen(function* () {
  const settings = yield* AppConfig
  const known = settingsOutcome(settings)
  const { publicUrl } = settings.console
  if (known !== null || publicUrl === null) return named("public address", known === null ? [] : [known])
  const [streamed, admin] = yield* Effect.all(
    [
      watchStream(publicUrl).pipe(
        Effect.map((seen) => streamOutcomes(publicUrl, seen)),
        Effect.catch((error) => Effect.succeed([unreachable(publicUrl, reasonOf(error))]))
      ),
      adminOutcomes(publicUrl)
    ],
    { concurrency: 2 }
  )
  const problems = [...tlsOutcome(publicUrl), ...streamed, ...admin]
  return named(
    "public address",
    problems.length > 0 ? problems : [ok(`${publicUrl} leads here, and events pass at once.`)]
  )
})

/** The same without a service that could answer. */
export const publicAddressOfSettings = Effect.map(AppConfig, (settings) => {
  const { publicUrl } = settings.console
  const known = settingsOutcome(settings)
  if (publicUrl === null || known !== null) return named("public address", known === null ? [] : [known])
  const problems = tlsOutcome(publicUrl)
  return named(
    "public address",
    problems.length > 0
      ? problems
      : [ok(`${publicUrl} is to lead here; a running service is needed to try it.`)]
  )
})
