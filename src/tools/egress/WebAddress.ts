import { canonicalAddress } from "./Address.ts"

/** Longer ones are no addresses of pages. */
export const urlCharactersMax = 4096

/** Of a name in DNS, and of each of its parts. */
const nameCharactersMax = 253
const labelCharactersMax = 63

/** Names that lead inside by their meaning: reserved for it, or used so by routers and machines in a cloud. */
const insideSuffixes = [
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

/** An address on the web as it will be asked, in the one form that everything else goes by. */
export interface WebAddress {
  /** Without user information and fragment; its host has no trailing dot. */
  readonly url: URL
  /** A name in small ASCII letters, or an IP address in its one form and without brackets. */
  readonly host: string
  readonly port: number
  /** Whether the host is an IP address. */
  readonly isLiteral: boolean
}

/** Spaces, control characters and backslashes: parsers disagree about them, and no address needs them. */
const disputed = /[\p{Cc}\s\\]/u

/**
 * Reads an address, where `base` is a relative one's. Null for everything that isn't http or https, or that says who asks. The
 * parser of the web's own standard undoes all disguises of a host: percent signs, wide digits, octal and hexadecimal forms.
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

/** Whether a name can only mean something inside, wherever it leads: then not even DNS is asked for it. */
export const isInsideName = (host: string): boolean =>
  !host.includes(".") || insideSuffixes.some((suffix) => isUnder(host, suffix))

/** Whether a host is the named one, or below it. */
export const isUnder = (host: string, name: string): boolean => host === name || host.endsWith(`.${name}`)
