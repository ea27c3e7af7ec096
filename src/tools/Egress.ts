import { Context, Duration, Effect, Layer, Schema } from "effect"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { type EgressAnswer, type EgressOptions, type Hop, type HopFault, sendHop } from "./egress/Hop.ts"
import { Network } from "./egress/Network.ts"
import {
  readWebAddress,
  type WebAddress,
  canonicalAddress,
  isPublicAddress,
  isPrivateName,
  isUnder
} from "./egress/WebAddress.ts"

/** Other ports of a public host may be open to this machine alone. */
const webPorts: ReadonlySet<number> = new Set([80, 443])

/** The rules that tell which web addresses may be requested. */
export const makeEgressRules = (
  settings: Pick<Settings["tools"], "webAllowHosts" | "webDenyHosts" | "egressAllow">
) => {
  const allowed = new Set(settings.egressAllow.map((address) => canonicalAddress(address) ?? address))
  const isListed = (host: string): boolean =>
    (settings.webAllowHosts.length === 0 || settings.webAllowHosts.some((name) => isUnder(host, name))) &&
    !settings.webDenyHosts.some((name) => isUnder(host, name))

  /** Checked before the name is looked up. `isConfigured`: the operator named the address in the settings. */
  const admits = ({ host, isLiteral, port }: WebAddress, isConfigured: boolean): boolean => {
    if (isConfigured) return true
    if (!isListed(host)) return false
    // Any name and port may lead to an allowed private address: the addresses decide.
    if (allowed.size > 0) return true
    return webPorts.has(port) && (isLiteral || !isPrivateName(host))
  }

  /**
   * The addresses to connect to, in order; empty unless every one of `found` may be reached. `own` are this
   * machine's.
   */
  const reachable = (
    { port }: WebAddress,
    found: ReadonlyArray<string>,
    own: ReadonlyArray<string>,
    isConfigured: boolean
  ): ReadonlyArray<string> => {
    const addresses = found.map(canonicalAddress)
    const mine = new Set(own.map(canonicalAddress))
    const isReachable = (address: string | null): address is string => {
      if (address === null) return false
      if (allowed.has(address)) return true
      return isPublicAddress(address) && !mine.has(address) && (isConfigured || webPorts.has(port))
    }
    if (!addresses.every(isReachable)) return []
    // IPv4 first: it works nearly everywhere.
    const [v6, v4] = [
      addresses.filter((one) => one.includes(":")),
      addresses.filter((one) => !one.includes(":"))
    ]
    return [...new Set([...v4, ...v6])]
  }

  return { admits, reachable }
}

/** Redirects that are followed; each request is checked like the first. */
export const redirectsMax = 5

/** The address is not allowed or nothing answers there; the message doesn't tell which. */
export class EgressRefused extends Schema.TaggedError<EgressRefused>()("EgressRefused", {
  /** The host for the log; "" for an address that has none. */
  host: Schema.String
}) {
  override get message(): string {
    return "This address can't be reached from here."
  }
}

/** The answer can't be used. The message is for a model and quotes nothing of the server. */
export class EgressFailed extends Schema.TaggedError<EgressFailed>()("EgressFailed", {
  reason: Schema.Literals(["url", "slow", "cut", "redirects", "media_type", "encoding"]),
  host: Schema.String,
  message: Schema.String
}) {}

/** All requests to the web: to public addresses, without cookies and credentials of users. */
export class Egress extends Context.Service<
  Egress,
  {
    readonly get: (
      url: string,
      options?: EgressOptions
    ) => Effect.Effect<EgressAnswer, EgressRefused | EgressFailed>
    /** Posts a JSON document once: a redirect is a failure. */
    readonly postJson: (
      url: string,
      json: string,
      options?: EgressOptions
    ) => Effect.Effect<EgressAnswer, EgressRefused | EgressFailed>
  }
>()("parley/tools/Egress") {
  static readonly layer: Layer.Layer<Egress, never, AppConfig | Network> = Layer.effect(
    Egress,
    Effect.gen(function* () {
      const settings = (yield* AppConfig).tools
      const network = yield* Network
      const rules = makeEgressRules(settings)
      if (settings.egressAllow.length > 0) {
        yield* Effect.logWarning(
          "PARLEY_EGRESS_ALLOW is set: every user can read what answers at these private addresses."
        ).pipe(Effect.annotateLogs({ addresses: settings.egressAllow.join(", ") }))
      }

      /** The addresses of a host, every one of which may be reached. */
      const check = Effect.fnUntraced(function* (
        address: WebAddress,
        isConfigured: boolean,
        mayBePrivate: boolean
      ) {
        const { host } = address
        if (!rules.admits(address, isConfigured)) return yield* new EgressRefused({ host })
        const found = address.isLiteral ? [host] : yield* network.lookup(host)
        const addresses = mayBePrivate
          ? found
          : rules.reachable(address, found, yield* network.ownAddresses, isConfigured)
        return addresses.length > 0 ? addresses : yield* new EgressRefused({ host })
      })

      const followRedirects = Effect.fnUntraced(function* (
        progress: Progress,
        first: WebAddress,
        json: string | null
      ) {
        const { options } = progress
        const bytesMax = options.bytesMax ?? settings.fetchBytesMax
        let address = first
        for (let redirects = 0; ; redirects++) {
          progress.host = address.host
          progress.isConnected = false
          const isTrusted = address.url.origin === first.url.origin
          const addresses = yield* check(
            address,
            isTrusted && options.isConfigured === true,
            options.trustedOrigin === address.url.origin
          )
          const hop: Hop = { address, addresses, json, options, isTrusted, bytesMax }
          const end = yield* sendHop(hop, yield* network.dial, () => {
            progress.isConnected = true
          }).pipe(Effect.mapError((fault) => failureOf(fault, progress.host)))
          if (end.type === "answer") return end.answer
          if (json !== null || redirects === redirectsMax) {
            return yield* failed("redirects", progress.host, "The address redirects too often.")
          }
          const next = readWebAddress(end.location, address.url)
          // A request over TLS isn't repeated without it.
          const isDowngrade = address.url.protocol === "https:" && next?.url.protocol === "http:"
          if (next === null || isDowngrade) return yield* new EgressRefused({ host: progress.host })
          address = next
        }
      })

      const request = Effect.fnUntraced(function* (url: string, json: string | null, options: EgressOptions) {
        const first = readWebAddress(url)
        if (first === null) {
          return yield* failed("url", "", "This is no web address: it must begin with http:// or https://.")
        }
        const progress: Progress = { options, host: first.host, isConnected: false }
        const seconds = options.seconds ?? settings.fetchSeconds
        return yield* followRedirects(progress, first, json).pipe(
          Effect.timeoutOrElse({
            duration: Duration.seconds(seconds),
            orElse: (): Effect.Effect<never, EgressRefused | EgressFailed> =>
              progress.isConnected
                ? Effect.fail(
                    failed("slow", progress.host, `The answer took longer than ${seconds} seconds.`)
                  )
                : Effect.fail(new EgressRefused({ host: progress.host }))
          })
        )
      })

      return {
        get: Effect.fn("Egress.get")((url, options = {}) => request(url, null, options)),
        postJson: Effect.fn("Egress.postJson")((url, json, options = {}) => request(url, json, options))
      }
    })
  )
}

/** The progress of a request with its redirects. */
interface Progress {
  readonly options: EgressOptions
  host: string
  isConnected: boolean
}

const failed = (reason: EgressFailed["reason"], host: string, message: string): EgressFailed =>
  new EgressFailed({ reason, host, message })

const failureOf = (fault: HopFault, host: string): EgressRefused | EgressFailed => {
  switch (fault) {
    case "unreachable":
      return new EgressRefused({ host })
    case "cut":
      return failed("cut", host, "The answer could not be read to its end.")
    case "media_type":
      return failed("media_type", host, "What is there isn't of a kind that can be read.")
    case "encoding":
      return failed("encoding", host, "The answer is compressed in a way that can't be read.")
  }
}
