import type { TokenizerAndRendererExtension } from "marked"

/** Marks such as [1] and [2, 3] become places for buttons; those that cite nothing become text again (`render.ts`). */

const mark = /^\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\](?![(:[])/

/** A mark that follows an address at once, and isn't a part of it. */
const markBehind = /\[\d{1,3}(?:\s*,\s*\d{1,3})*\](?=[\s.,;:!?)]|$)/

/** A text that begins with an address, up to a mark that follows the address. */
export const withoutCitation = (source: string): string => {
  const address = /^[^\s<]*/.exec(source)?.[0] ?? ""
  const at = address.search(markBehind)
  return at > 0 ? source.slice(0, at) : source
}

export const citationTokens: TokenizerAndRendererExtension = {
  name: "citation",
  level: "inline",
  start: (source) => source.search(/\[\d/),
  tokenizer: (source) => {
    const match = mark.exec(source)
    return match === null ? undefined : { type: "citation", raw: match[0], numbers: match[1] }
  },
  renderer: ({ numbers, raw }) => `<span data-citations="${String(numbers)}">${raw}</span>`
}
