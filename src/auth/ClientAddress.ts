import { Context, Effect, Layer, Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import ipaddr from "ipaddr.js"
import { AppConfig } from "../settings/AppConfig.ts"

/** Proxies that one request may have passed; entries before them are not read. */
const hopsMax = 20

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** Some proxies add the port, and the system adds the zone of a link-local address. */
const withoutPort = (text: string): string =>
  text
    .replace(/^\[(.*)\](:\d+)?$/, "$1")
    .replace(/^([\d.]+):\d+$/, "$1")
    .replace(/%.*$/, "")

/** An IPv4 address that is written as IPv6 is that IPv4 address. */
const addressOf = (text: string): Address | null =>
  ipaddr.isValid(withoutPort(text)) ? ipaddr.process(withoutPort(text)) : null

/** The address and the bits of a network; of a single address, all bits. */
const rangeOf = (text: string): [Address, number] => {
  if (text.includes("/")) return ipaddr.parseCIDR(text)
  const address = ipaddr.process(text)
  return [address, address.kind() === "ipv4" ? 32 : 128]
}

const isWithin = (address: Address, [network, bits]: [Address, number]): boolean =>
  address.kind() === network.kind() && address.match(network, bits)

/** The bits that a provider gives to one customer. Source: RFC 6177. */
const networkBits = 64

/** The part of an address that one client can't choose: an address of IPv4, or the first 64 bits of IPv6. */
export const networkOf = (address: string | null): string => {
  const parsed = address === null ? null : addressOf(address)
  if (parsed === null) return "unknown"
  if (parsed.kind() === "ipv4") return parsed.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/${networkBits}`).toString()}/${networkBits}`
}

/** The key that limits the requests of one client without a session: see UserBounds. */
export const boundsOf = (address: string | null): string => `network ${networkOf(address)}`

const listed = (header: string | undefined): ReadonlyArray<string> =>
  (header ?? "")
    .split(",")
    .slice(-hopsMax)
    .map((part) => part.trim())

/** Peers whose addresses are kept as they were read. */
const knownPeersMax = 1_000

/** The origin of a request. */
interface RequestOrigin {
  /** Null if it can't be known. */
  readonly address: string | null
  /** True if the browser speaks TLS, as far as it is known. */
  readonly isSecure: boolean
}

/**
 * Finds the client of a request behind the proxies of PARLEY_TRUSTED_PROXIES. Headers of other peers are
 * ignored.
 */
export class ClientAddress extends Context.Service<
  ClientAddress,
  {
    readonly of: (
      request: Pick<HttpServerRequest.HttpServerRequest, "headers" | "remoteAddress">
    ) => RequestOrigin
    /** True for a request that comes from one of those proxies. */
    readonly isProxy: (request: Pick<HttpServerRequest.HttpServerRequest, "remoteAddress">) => boolean
  }
>()("parley/auth/ClientAddress") {
  static readonly layer = Layer.effect(
    ClientAddress,
    Effect.gen(function* () {
      const { publicUrl, trustedProxies } = (yield* AppConfig).console
      const networks = trustedProxies.map(rangeOf)
      const isTrusted = (address: Address) => networks.some((network) => isWithin(address, network))

      /** The last address that isn't that of a trusted proxy. Earlier addresses are unverified. */
      const clientOf = (peer: Address, forwarded: ReadonlyArray<string>): Address | null => {
        if (!isTrusted(peer)) return peer
        const last = forwarded.at(-1) ?? ""
        if (last === "") return peer
        const next = addressOf(last)
        return next === null ? null : clientOf(next, forwarded.slice(0, -1))
      }

      // Reading an address takes as long as to find the key of a request.
      const known = new Map<string, Address | null>()
      const peerOf = (remoteAddress: Option.Option<string>): Address | null => {
        const text = Option.getOrElse(remoteAddress, () => "")
        const peer = known.get(text)
        if (peer !== undefined) return peer
        if (known.size >= knownPeersMax) known.clear()
        const read = addressOf(text)
        known.set(text, read)
        return read
      }

      return ClientAddress.of({
        isProxy: ({ remoteAddress }) => {
          const peer = peerOf(remoteAddress)
          return peer !== null && isTrusted(peer)
        },
        of: ({ headers, remoteAddress }) => {
          const peer = peerOf(remoteAddress)
          const isSecure = publicUrl?.startsWith("https:") === true
          if (peer === null) return { address: null, isSecure }
          const client = clientOf(peer, listed(headers["x-forwarded-for"]))
          const scheme = isTrusted(peer) ? listed(headers["x-forwarded-proto"]).at(-1) : undefined
          return {
            address: client?.toString() ?? null,
            isSecure: isSecure || scheme?.toLowerCase() === "https"
          }
        }
      })
    })
  )
}
