import type { Settings } from "../../settings/AppConfig.ts"
import { canonicalAddress, isPublicAddress, isPrivateName, isUnder, type WebAddress } from "./WebAddress.ts"

/** Other ports of a public host may be open to this machine alone. */
const webPorts: ReadonlySet<number> = new Set([80, 443])

/** Which web addresses may be requested. */
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
   * The addresses to connect to, in order; empty unless every one of `found` may be reached. `own` are this machine's.
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
