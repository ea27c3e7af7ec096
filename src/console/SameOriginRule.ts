import type { Headers } from "effect/http"
import ipaddr from "ipaddr.js"

/** What a rule about origins reads of a request. */
interface Received {
  readonly method: string
  readonly headers: Headers.Headers
}

/**
 * Names that are not looked up in the public DNS, so that no stranger can point them to this service. Source: RFC 6761,
 * RFC 6762, RFC 8375.
 */
const localNames = /(^|\.)(localhost|local|internal|test|home\.arpa)$/

/** Whether a stranger can't have made the browser take this name for the service's: DNS rebinding needs a name of one's own. */
const isOwnName = (hostname: string): boolean =>
  ipaddr.isValid(hostname.replace(/^\[(.*)\]$/, "$1")) || !hostname.includes(".") || localNames.test(hostname)

const urlOf = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null)

export const isSafeMethod = ({ method }: Received): boolean => method === "GET" || method === "HEAD"

/** Whether a page of this origin is one of this service. */
const isOwnOrigin = (origin: string, host: string, publicUrl: string | null): boolean => {
  if (publicUrl !== null) return origin === urlOf(publicUrl)?.origin
  const found = urlOf(origin)
  // The scheme of a service behind a proxy isn't known, so the hosts are compared as the origin's scheme writes them.
  return found !== null && found.host !== "" && found.host === urlOf(`${found.protocol}//${host}`)?.host
}

/**
 * Whether the request may come from a page of this service, or from no page at all. A request that changes something must
 * prove the former, by `Origin` or `Sec-Fetch-Site`, which no script can set. Without `publicUrl`, the `Host` must be a
 * name that is safe from DNS rebinding.
 */
export const isFromOwnPage = (request: Received, publicUrl: string | null): boolean => {
  const { host = "", origin, "sec-fetch-site": site } = request.headers
  if (publicUrl === null && !isOwnName(urlOf(`http://${host}`)?.hostname ?? ".")) return false
  if (site !== undefined && site !== "same-origin" && site !== "none") return false
  if (origin !== undefined) return isOwnOrigin(origin, host, publicUrl)
  return isSafeMethod(request) || site === "same-origin"
}
