import { Context } from "effect"
import { domainToUnicode } from "node:url"

/**
 * Finds an address in what was given to the model by others: the address as it stands there, or null. A model that follows
 * instructions hidden in a page could otherwise carry what it knows out in an address that it makes up.
 */
export type FindAddress = (url: string) => string | null

/** The addresses that the current call may read; by default none. */
export const NamedAddresses = Context.Reference<FindAddress>("parley/tools/NamedAddresses", {
  defaultValue: () => () => null
})

/** Places in one text that are compared; more mentions of one host are not looked at. */
const mentionsMax = 1_000
/** Longer addresses are not found. */
const addressCharactersMax = 2_000

/** What may stand in front of a host: the address has begun with it, or something else has ended. */
const scheme = /(https?):(?:\\?\/){2}(?:www\.)?$/i
const boundary = /(?:^|[^\p{L}\p{N}.@%_/-])(?:www\.)?$/iu
const prefixCharactersMax = 16

/** What ends an address in running text or Markdown, but may also be part of one. */
const closing = /[)\]}>.,;:!?'*_|\\]+$/
const closingCharactersMax = 8
/** Blanks and quotes; and punctuation beyond ASCII, which Chinese and Japanese write right behind an address. */
const ending = /[\s<>"`\p{Cc}\p{Cf}]|[\p{P}--[\0-\x7f]]/v
const bracket = /[)\]|]/

const decoded = (text: string): string => {
  const escaped = text.replace(/%[0-9a-f]{2}/gi, (escape) => escape.toUpperCase())
  try {
    return decodeURI(escaped)
  } catch {
    return escaped
  }
}

/** Letters and digits alone, so that a text is known again however it was written. */
const squeezed = (text: string): string =>
  text
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "")

/** A text in which others than the model may have named an address. */
export interface AddressSource {
  readonly text: string
  /** What the model asked for to get the text, which may repeat it; "" where it asked for nothing. */
  readonly query: string
}

/** Two addresses of the same key are one: scheme, `www.`, fragment, a last slash and percent-encoding make no difference. */
const keyOf = ({ host, pathname, search }: URL): string =>
  host.replace(/^www\./, "") + decoded(pathname).replace(/\/$/, "") + decoded(search)

/** The host as it may stand in a text: as the model writes it, and in its canonical form. */
const hostsOf = (url: string, parsed: URL): ReadonlyArray<string> => {
  const written = /^\s*https?:\/\/(?:www\.)?([^/?#\s]+)/i.exec(url)?.[1]
  const canonical = parsed.host.replace(/^www\./, "")
  const unicode = canonical.replace(parsed.hostname, () => domainToUnicode(parsed.hostname))
  return [...new Set([canonical, unicode, (written ?? canonical).toLowerCase()])]
}

/** The addresses that may be meant by what stands at a place: punctuation and brackets belong to them, or to the text. */
const readingsOf = (text: string, at: number): ReadonlyArray<string> => {
  const rest = text.slice(at, at + addressCharactersMax)
  const end = rest.search(ending)
  // Addresses are also pasted as they stand in HTML and in JSON.
  const whole = (end < 0 ? rest : rest.slice(0, end)).replaceAll("&amp;", "&").replaceAll("\\/", "/")
  const closed = closing.exec(whole)?.[0].length ?? 0
  const shorter = Array.from({ length: Math.min(closed, closingCharactersMax) + 1 }, (_, count) =>
    whole.slice(0, whole.length - count)
  )
  // A Markdown link may go on right behind its bracket.
  const bracketed = whole.search(bracket)
  return bracketed < 0 ? shorter : [...shorter, whole.slice(0, bracketed)]
}

/** The address at a place of a text, if its key is the one that is looked for. */
const addressAt = (text: string, at: number, key: string, given: URL): string | null => {
  const before = text.slice(Math.max(0, at - prefixCharactersMax), at)
  const named = scheme.exec(before)?.[1]?.toLowerCase()
  if (named === undefined && !boundary.test(before)) return null
  const www = /www\.$/i.test(before) ? "www." : ""
  for (const reading of readingsOf(text, at)) {
    const address = URL.parse(`${named ?? given.protocol.slice(0, -1)}://${www}${reading}`)
    if (address !== null && keyOf(address) === key) return address.href
  }
  return null
}

const addressInText = (text: string, url: string, given: URL): string | null => {
  const key = keyOf(given)
  const small = text.toLowerCase()
  // A few letters change their length in lower case; places in such a text would be wrong.
  const searched = small.length === text.length ? small : text
  for (const host of hostsOf(url, given)) {
    let at = searched.indexOf(host)
    for (let mentions = 0; at >= 0 && mentions < mentionsMax; mentions++) {
      const found = addressAt(text, at, key, given)
      if (found !== null) return found
      at = searched.indexOf(host, at + 1)
    }
  }
  return null
}

/**
 * Finds an address in texts. What it gives is the text's own address, so that nothing can be hidden in how it is written. An
 * address that the model wrote into its query counts for nothing in what came back.
 */
export const addressIn =
  (sources: Iterable<AddressSource>): FindAddress =>
  (url) => {
    const given = URL.parse(url)
    if (given === null || !/^https?:$/.test(given.protocol)) return null
    const asked = squeezed(keyOf(given))
    for (const { query, text } of sources) {
      if (query !== "" && squeezed(query).includes(asked)) continue
      const found = addressInText(text, url, given)
      if (found !== null) return found
    }
    return null
  }
