import type { Settings } from "../../settings/AppConfig.ts"
import { canonicalAddress, isPublicAddress, isInsideName, isUnder, type WebAddress } from "./WebAddress.ts"

/** Other ports of a public host may be open to this machine alone. */
const webPorts: ReadonlySet<number> = new Set([80, 443])

/** Which addresses of the web may be requested. */
export interface EgressRules {
  /** Checked before the name is looked up. `isConfigured`: the operator named the address in the settings. */
  readonly admits: (address: WebAddress, isConfigured: boolean) => boolean
  /**
   * The addresses to connect to, in the order in which to try them; empty unless every one that the name has may be reached.
   * `own` are this machine's.
   */
  readonly reachable: (
    address: WebAddress,
    found: ReadonlyArray<string>,
    own: ReadonlyArray<string>,
    isConfigured: boolean
  ) => ReadonlyArray<string>
}

export const makeEgressRules = (
  settings: Pick<Settings["tools"], "webAllowHosts" | "webDenyHosts" | "egressAllow">
): EgressRules => {
  const inside = new Set(settings.egressAllow.map((address) => canonicalAddress(address) ?? address))
  const isListed = (host: string): boolean =>
    (settings.webAllowHosts.length === 0 || settings.webAllowHosts.some((name) => isUnder(host, name))) &&
    !settings.webDenyHosts.some((name) => isUnder(host, name))

  const admits: EgressRules["admits"] = ({ host, isLiteral, port }, isConfigured) => {
    if (isConfigured) return true
    if (!isListed(host)) return false
    // With inside addresses allowed, the addresses decide and not the name or the port.
    if (inside.size > 0) return true
    return webPorts.has(port) && (isLiteral || !isInsideName(host))
  }

  const reachable: EgressRules["reachable"] = ({ port }, found, own, isConfigured) => {
    const addresses = found.map(canonicalAddress)
    const mine = new Set(own.map(canonicalAddress))
    const isReachable = (address: string | null): address is string => {
      if (address === null) return false
      if (inside.has(address)) return true
      return isPublicAddress(address) && !mine.has(address) && (isConfigured || webPorts.has(port))
    }
    // IPv4 first: it works nearly everywhere.
    return addresses.every(isReachable)
      ? [...new Set(addresses)].toSorted(
          (one, other) => Number(one.includes(":")) - Number(other.includes(":"))
        )
      : []
  }

  return { admits, reachable }
}
