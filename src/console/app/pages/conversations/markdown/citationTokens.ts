import type { TokenizerAndRendererExtension } from "marked"

/**
 * Marks such as [1] and [2, 3] become places for buttons; those that cite nothing become text again
 * (`render.ts`).
 */

const bracketed = /\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]/.source

const mark = new RegExp(String.raw`^${bracketed}(?![(:[])`)

/** A mark that follows an address at once, and isn't a part of it. */
const markBehind = new RegExp(String.raw`${bracketed}(?=[\s.,;:!?)]|$)`)

/** An address, up to a mark that follows it. */
export const withoutCitation = (address: string): string => {
  const at = address.search(markBehind)
  return at > 0 ? address.slice(0, at) : address
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
