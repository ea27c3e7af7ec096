import { Marked, type Token, Tokenizer, type Tokens } from "marked"
import { citationTokens, withoutCitation } from "./citationTokens.ts"
import { escaped } from "./escaped.ts"
import { mathTokens } from "./mathTokens.ts"

/** A part of a text that is shown by itself, so that only the last one is made anew while the text grows. */
export type Block =
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  /** `html` has to be sanitized. */
  | { readonly kind: "html"; readonly html: string }

/** The address of a link: other addresses stay text. */
const addressOf = (href: string): URL | null => {
  const url = URL.parse(href)
  return url !== null && ["http:", "https:", "mailto:"].includes(url.protocol) ? url : null
}

const link = (href: string, html: string): string => {
  const url = addressOf(href)
  if (url === null) return html
  // The text of a link may not hide its address.
  const host =
    html.includes(url.host) || url.host === "" ? "" : ` <span data-host>(${escaped(url.host)})</span>`
  return `<a href="${escaped(url.href)}" rel="noopener noreferrer nofollow" target="_blank">${html}</a>${host}`
}

const markdown = new Marked({
  gfm: true,
  extensions: [...mathTokens, citationTokens],
  tokenizer: {
    url(source) {
      const found = Tokenizer.prototype.url.call(this, source)
      const address = withoutCitation(found?.raw ?? "")
      return found === undefined || address === found.raw
        ? found
        : Tokenizer.prototype.url.call(this, address)
    }
  },
  renderer: {
    // Markup is shown as it is written.
    html: ({ text }) => escaped(text),
    link({ href, tokens }) {
      return link(href, this.parser.parseInline(tokens))
    },
    // Nothing is loaded from elsewhere.
    image: ({ href, text }) => link(href, escaped(text === "" ? "image" : text)),
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    heading({ depth, tokens }) {
      // The page has the headings above.
      const level = Math.min(6, depth + 2)
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`
    }
  }
})

const isCode = (token: Token): token is Tokens.Code => token.type === "code"

const htmlOf = (token: Token): string => markdown.parser([token])

interface PlacedBlock {
  /** The same while the block grows. */
  readonly key: string
  readonly source: string
  readonly block: Block
}

/**
 * Reads the blocks of a text that grows: those of the last reading that are still there are not made again.
 */
export const makeBlocksOf = () => {
  let known: ReadonlyMap<string, Block> = new Map()

  const blockOf = (token: Token): Block =>
    isCode(token)
      ? { kind: "code", language: (token.lang ?? "").split(/\s/, 1)[0] ?? "", text: token.text }
      : { kind: "html", html: htmlOf(token) }

  return (text: string): ReadonlyArray<PlacedBlock> => {
    const blocks = markdown
      .lexer(text)
      .filter(({ type }) => type !== "space" && type !== "def")
      .map((token, index) => {
        const source = `${token.type} ${token.raw}`
        const block = known.get(source) ?? blockOf(token)
        return { key: `${index} ${block.kind}`, source, block }
      })
    known = new Map(blocks.map(({ block, source }) => [source, block]))
    return blocks
  }
}
