import { calculationsIn } from "./OfflineArithmetic.ts"
import { momentsIn } from "./OfflineMoments.ts"

/** The tools that the offline model knows how to ask. */
export type OfflineTool = "calculator" | "current_datetime" | "web_fetch" | "web_search"

/** A call that a message plainly asks for. */
export interface Wish {
  readonly tool: OfflineTool
  readonly arguments: Readonly<Record<string, string>>
}

/** What a message wants to have done. */
export interface Wishes {
  /** In the order of the message, each once. */
  readonly wishes: ReadonlyArray<Wish>
  /** Places that the time is asked of, and whose time zone isn't known. */
  readonly unknownPlaces: ReadonlyArray<string>
}

const wishesMax = 8

/** Takes the place of what belongs to one wish, so that no other is read out of it. */
const mask = "\ufffc"

interface Placed extends Wish {
  readonly at: number
}

const webAddress = /https?:\/\/[^\s<>"“”„«»`\ufffc]+/giu
const closing: Readonly<Record<string, string>> = { ")": "(", "]": "[", "}": "{" }

/** An address without the punctuation of the sentence around it. */
const trimmed = (address: string): string => {
  const last = address.at(-1) ?? ""
  const opening = closing[last]
  const count = (sign: string) => address.split(sign).length
  const isLoose = opening === undefined ? /[.,;:!?'’…。，、]/u.test(last) : count(last) > count(opening)
  return isLoose ? trimmed(address.slice(0, -1)) : address
}

/** Words that ask for something to be read; an address alone asks for it too. */
const reading =
  /\b(?:read|open|fetch|visit|load|summari[sz]e|summary|sum\b.{0,20}\bup|tl;?dr|look\s+(?:at|up)|check|go\s+to|what(?:['’]?s|\s+is|\s+does|\s+do)?|tell\s+me|explain)\b/iu

const addressesIn = (text: string): ReadonlyArray<Placed & { readonly end: number }> =>
  [...text.matchAll(webAddress)].map(({ 0: found, index }) => {
    const url = trimmed(found)
    return { at: index, end: index + url.length, tool: "web_fetch", arguments: { url } }
  })

const searching =
  /(?:^|[.!?;:,]\s*|\b(?:please|and|then|you|to)\s+)(?:search\s+(?:(?:on\s+)?(?:the\s+)?(?:web|internet|net)\s+|online\s+)?for|web\s+search(?:\s+for)?|look\s+up|google)\b\s*:?\s*(?=\S)/giu

/** Where the words to search for end and something else begins. */
const searchEnd =
  /[?!\n]|\.(?=\s|$)|[,;]?\s+(?:and|then)\s+(?=(?:then|what|which|how|tell|give|show|calculate|compute|read|open|summari|sum|search|look|google)\b)|[,;]\s+(?=(?:what|which|calculate|read|open|search|look\s+up)\b)|$/iu

const quotes = /^[\s"'“”„«»]+|[\s"'“”„«».,;:]+$/gu

const searchesIn = (text: string, original: string): ReadonlyArray<Placed & { readonly end: number }> =>
  [...text.matchAll(searching)].flatMap(({ 0: found, index }) => {
    const at = index + found.length
    const end = at + text.slice(at).search(searchEnd)
    const query = original.slice(at, end).replace(quotes, "")
    // What is looked up by its address is read.
    const isAddress = text.startsWith(mask, at)
    return query === "" || isAddress ? [] : [{ at, end, tool: "web_search", arguments: { query } }]
  })

const masked = (text: string, parts: ReadonlyArray<{ readonly at: number; readonly end: number }>): string =>
  parts.reduce((rest, { at, end }) => rest.slice(0, at) + mask.repeat(end - at) + rest.slice(end), text)

/** What a message plainly asks for, by simple rules: an address to read, words to search for, the time, a calculation. */
export const wishesIn = (text: string): Wishes => {
  const addresses = addressesIn(text)
  const withoutAddresses = masked(text, addresses)
  const others = withoutAddresses.replaceAll(mask, " ")
  const isRead = reading.test(others) || !/[\p{L}\p{N}]/u.test(others)
  const searches = searchesIn(withoutAddresses, text)
  const left = masked(withoutAddresses, searches)
  const moments = momentsIn(left)
  const placed: ReadonlyArray<Placed> = [
    ...(isRead ? addresses : []),
    ...searches,
    ...moments.flatMap(({ at, zones }): ReadonlyArray<Placed> =>
      zones.map((zone) => ({
        at,
        tool: "current_datetime",
        arguments: zone === null ? {} : { timezone: zone }
      }))
    ),
    ...calculationsIn(left).map(({ at, expression }): Placed => ({
      at,
      tool: "calculator",
      arguments: { expression }
    }))
  ]
  const inOrder = placed
    .toSorted((one, other) => one.at - other.at)
    .map(({ arguments: args, tool }): Wish => ({ tool, arguments: args }))
  const byMeaning = new Map(inOrder.map((wish) => [JSON.stringify(wish), wish]))
  return {
    wishes: [...byMeaning.values()].slice(0, wishesMax),
    unknownPlaces: moments.flatMap(({ unknownPlace }) => unknownPlace ?? [])
  }
}
