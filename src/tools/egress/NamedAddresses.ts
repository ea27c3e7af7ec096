import { domainToUnicode } from "node:url"
import { Context } from "effect"

/**
 * Finds an address in the texts that others gave to the model: the address as written there, or null.
 * Otherwise a model that follows instructions hidden in a page could leak data in an address that it makes
 * up.
 */
export type FindAddress = (url: string) => string | null

/** The addresses that the current call may read; none by default. */
export const NamedAddresses = Context.Reference<FindAddress>("parley/tools/egress/NamedAddresses", {
  defaultValue: () => () => null
})

/** Mentions of one host in a text that are compared. */
const mentionsMax = 1_000
/** Longer addresses are not found. */
const addressCharactersMax = 2_000

/** The text that may precede a host: the scheme of the address, or the end of other text. */
const scheme = /(https?):(?:\\?\/){2}(?:www\.)?$/i
const boundary = /(?:^|[^\p{L}\p{N}.@%_/-])(?:www\.)?$/iu
const prefixCharactersMax = 16

/** Characters that may end an address in running text or Markdown, or belong to it. */
const closing = /[)\]}>.,;:!?'*_|\\]+$/
const closingCharactersMax = 8
/**
 * Spaces and quotes; and punctuation beyond ASCII, which follows an address directly in Chinese and Japanese.
 */
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

/** Letters and digits alone, to compare texts in any spelling. */
const squeezed = (text: string): string =>
  text
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, "")

/** A text that others than the model have written. */
export interface AddressSource {
  readonly text: string
  /** The model's query for this text, which may repeat it; "" for none. */
  readonly query: string
}

/**
 * Addresses with the same key are equal: scheme, `www.`, fragment, a last slash and percent-encoding don't
 * count.
 */
const keyOf = ({ host, pathname, search }: URL): string =>
  host.replace(/^www\./, "") + decoded(pathname).replace(/\/$/, "") + decoded(search)

/** The spellings of a host to look for: as the model writes it, and its canonical forms. */
const hostsOf = (url: string, parsed: URL): ReadonlyArray<string> => {
  const written = /^\s*https?:\/\/(?:www\.)?([^/?#\s]+)/i.exec(url)?.[1]
  const canonical = parsed.host.replace(/^www\./, "")
  const unicode = canonical.replace(parsed.hostname, () => domainToUnicode(parsed.hostname))
  return [...new Set([canonical, unicode, (written ?? canonical).toLowerCase()])]
}

/**
 * The possible addresses at a position: punctuation and brackets may belong to the address or to the text.
 */
const readingsOf = (text: string, at: number): ReadonlyArray<string> => {
  const rest = text.slice(at, at + addressCharactersMax)
  const end = rest.search(ending)
  // Addresses are also pasted from HTML and JSON.
  const whole = (end < 0 ? rest : rest.slice(0, end)).replaceAll("&amp;", "&").replaceAll("\\/", "/")
  const closed = closing.exec(whole)?.[0].length ?? 0
  const shorter = Array.from({ length: Math.min(closed, closingCharactersMax) + 1 }, (_, count) =>
    whole.slice(0, whole.length - count)
  )
  // Text may follow the bracket of a Markdown link directly.
  const bracketed = whole.search(bracket)
  return bracketed < 0 ? shorter : [...shorter, whole.slice(0, bracketed)]
}

/** The address at a position of a text, if it has this key. */
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
  // A few letters change their length in lower case, which would shift positions.
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
 * Finds an address in texts, and returns it as the text has it, so that nothing can be hidden in its
 * spelling. An address in the model's own query doesn't count in the result of that query.
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
