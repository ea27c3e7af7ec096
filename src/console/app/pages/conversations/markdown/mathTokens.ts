import type { TokenizerAndRendererExtension, Tokens } from "marked"
import { escaped } from "./escaped.ts"

/** Mathematics in Markdown: `$…$` and `\(…\)` in a line, `$$…$$` and `\[…\]` by themselves. */

const block = /^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n|$)/
// The rule of Pandoc: no blank inside the signs, and no digit behind them, so that prices stay text.
const inline =
  /^(?:\$\$([^$\n]+?)\$\$|\$(?!\s)([^$\n]*?[^\s\\$])\$(?!\d)|\\\(([^\n]+?)\\\)|\\\[([^\n]+?)\\\])/

/** Filled by `fillMath`; until then, and where that fails, it shows the source. */
const placeholder = ({ display, raw, text }: Tokens.Generic): string =>
  `<code data-math="${display === true ? "display" : "inline"}" data-tex="${escaped(String(text))}">${escaped(raw.trim())}</code>`

const textOf = (match: RegExpExecArray): string =>
  (match.slice(1).find((part) => part !== undefined) ?? "").trim()

export const mathTokens: ReadonlyArray<TokenizerAndRendererExtension> = [
  {
    name: "mathBlock",
    level: "block",
    start: (source) => source.search(/\$\$|\\\[/),
    tokenizer: (source) => {
      const match = block.exec(source)
      return match === null
        ? undefined
        : { type: "mathBlock", raw: match[0], text: textOf(match), display: true }
    },
    renderer: (token) => `<p>${placeholder(token)}</p>`
  },
  {
    name: "math",
    level: "inline",
    start: (source) => source.search(/\$|\\\(|\\\[/),
    tokenizer: (source) => {
      const match = inline.exec(source)
      return match === null
        ? undefined
        : { type: "math", raw: match[0], text: textOf(match), display: match[0].startsWith("$$") }
    },
    renderer: placeholder
  }
]
