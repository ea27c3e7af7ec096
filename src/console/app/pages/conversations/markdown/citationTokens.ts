import type { TokenizerAndRendererExtension } from "marked"

/** Marks such as [1] and [2, 3] become places for buttons; those that cite nothing become text again (`render.ts`). */

const mark = /^\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\](?![(:[])/

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
