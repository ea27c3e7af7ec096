import ipaddr, { type IPv4, type IPv6 } from "ipaddr.js"

const urlCharactersMax = 4096

/** Longest name in DNS, and longest of its parts. */
const nameCharactersMax = 253
const labelCharactersMax = 63

/** Names of private networks: reserved for them, or used by routers and cloud machines. */
const privateSuffixes = [
  "corp",
  "home",
  "home.arpa",
  "internal",
  "intranet",
  "lan",
  "local",
  "localdomain",
  "localhost",
  "private",
  "svc"
]

/** An address of the web in its canonical form. */
export interface WebAddress {
  /** The address without user information and fragment; its host has no trailing dot. */
  readonly url: URL
  /** A name in lower case, or an IP address in its canonical form and without brackets. */
  readonly host: string
  readonly port: number
  /** True if the host is an IP address. */
  readonly isLiteral: boolean
}

/** Spaces, control characters and backslashes: parsers disagree about them. */
const disputed = /[\p{Cc}\s\\]/u

/**
 * Reads an address, relative to `base`. Null for anything but http and https, or with user information. URL
 * parsing resolves all disguises of a host: percent signs, wide digits, octal and hexadecimal forms.
 */
export const readWebAddress = (text: string, base: URL | null = null): WebAddress | null => {
  const written = text.trim()
  if (written.length > urlCharactersMax || disputed.test(written)) return null
  if (base === null && !/^https?:\/\/[^/]/i.test(written)) return null
  const url = base === null ? URL.parse(written) : URL.parse(written, base.href)
  if (url === null || url.href.length > urlCharactersMax) return null
  if (url.protocol !== "http:" && url.protocol !== "https:") return null
  if (url.username !== "" || url.password !== "") return null
  url.hash = ""
  const bare = url.hostname.replace(/\.$/, "")
  if (bare !== url.hostname) url.hostname = bare
  const literal = canonicalAddress(bare.replace(/^\[(.*)\]$/, "$1"))
  if (literal === null && !isName(bare)) return null
  const port = url.port === "" ? (url.protocol === "http:" ? 80 : 443) : Number(url.port)
  return { url, host: literal ?? bare, port, isLiteral: literal !== null }
}

const isName = (host: string): boolean =>
  host.length <= nameCharactersMax &&
  host.split(".").every((label) => label.length <= labelCharactersMax && /^[a-z0-9_-]+$/.test(label))

/** True for a name of a private network; it is not looked up. */
export const isPrivateName = (host: string): boolean =>
  !host.includes(".") || privateSuffixes.some((suffix) => isUnder(host, suffix))

/** True if a host is the named one, or below it. */
export const isUnder = (host: string, name: string): boolean => host === name || host.endsWith(`.${name}`)

/** Unicast to the library, but not public: a virtual machine in Azure reaches its host there. */
const notPublicV4: ReadonlyArray<readonly [IPv4, number]> = [ipaddr.IPv4.parseCIDR("168.63.129.16/32")]

/**
 * The allocated part of IPv6. Prefixes that translate to IPv4 lie outside; the library knows the other
 * exceptions.
 */
const global: readonly [IPv6, number] = ipaddr.IPv6.parseCIDR("2000::/3")

const isV4 = (address: IPv4 | IPv6): address is IPv4 => address.kind() === "ipv4"

const parse = (text: string): IPv4 | IPv6 | null => {
  // The library also accepts hexadecimal and shortened forms of IPv4.
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return null
  const address = ipaddr.process(text)
  return isV4(address) || address.zoneId === undefined ? address : null
}

/** An IP address in its canonical form, an IPv4-mapped one as IPv4; null for anything else. */
export const canonicalAddress = (text: string): string | null => parse(text)?.toString() ?? null

/** True if the address is on the public Internet, and not in a private network. */
export const isPublicAddress = (text: string): boolean => {
  const address = parse(text)
  if (address === null || address.range() !== "unicast") return false
  return isV4(address) ? !notPublicV4.some(([net, bits]) => address.match(net, bits)) : isPublicV6(address)
}

const isPublicV6 = (address: IPv6): boolean => address.match(...global) && !isTunnel(address)

/** An ISATAP address, which tunnels to an IPv4 address of a private network under any prefix. */
const isTunnel = ({ parts }: IPv6): boolean => parts[5] === 0x5efe && (parts[4] === 0 || parts[4] === 0x0200)
