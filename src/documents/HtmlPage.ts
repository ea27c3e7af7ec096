import { MarkdownDocument } from "./MarkdownDocument.ts"

/** Deepest nesting of followed elements; deeper ones have no effect. */
const depthMax = 200
const titleCharactersMax = 300
const urlCharactersMax = 2000

const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(" "))

/** The attributes that matter. */
export const attributeNames = wordSet("alt aria-hidden hidden href role start style")

/** Elements whose content isn't text of the page: scripts, graphics, forms, navigation. */
const skippedElements = wordSet(
  "audio button canvas datalist dialog embed frameset iframe map nav noscript object script select " +
    "style svg template textarea video"
)

/** Elements that never have content. */
export const voidElements = wordSet(
  "area base basefont br col embed frame hr img input link meta param source track wbr"
)

/** Elements that begin and end a block. */
const blockElements = wordSet(
  "address article aside body caption center dd details dir div dl dt fieldset figcaption figure " +
    "footer form header hgroup legend main p section summary tbody tfoot thead"
)

/** Elements whose footers belong to the text, not to the site. */
const textSections = wordSet("article blockquote main")

/** Elements with an effect that ends with them; only these are kept on the stack. */
const followedElements: ReadonlySet<string> = new Set([
  ...textSections,
  ..."a code h1 h2 h3 h4 h5 h6 li ol pre table td th title tr ul".split(" ")
])

const headings = ["h1", "h2", "h3", "h4", "h5", "h6"]

/** The open elements that a start tag ends, up to the nearest element of `within`. */
const impliedEnds: ReadonlyMap<
  string,
  { readonly ends: ReadonlySet<string>; readonly within: ReadonlySet<string> }
> = new Map([
  ["a", { ends: wordSet("a"), within: wordSet("td th li") }],
  ["li", { ends: wordSet("li"), within: wordSet("ul ol td th") }],
  ["td", { ends: wordSet("td th"), within: wordSet("table") }],
  ["th", { ends: wordSet("td th"), within: wordSet("table") }],
  ["tr", { ends: wordSet("tr"), within: wordSet("table") }],
  ...headings.map((name) => [name, { ends: new Set(headings), within: wordSet("td th li") }] as const)
])

/** An end tag closes nothing outside its cell. */
const cellElements = wordSet("td th")
const tableElements = wordSet("table tr td th")

interface Open {
  readonly name: string
  readonly end: () => void
}

type Attributes = ReadonlyMap<string, string>

const nothing = () => {}

/** Turns the elements and text of a page into Markdown. */
export class HtmlPage {
  readonly document: MarkdownDocument
  private base: string | null
  private hasBase = false
  private readonly opened: Array<Open> = []
  /** The open elements that were too deep, by name: their end tags have no effect. */
  private readonly beyond = new Map<string, number>()
  /** The ordered lists' next numbers; null for the others. */
  private readonly lists: Array<number | null> = []
  private skipped: { readonly name: string; depth: number } | null = null
  private titleText = ""
  private isTitle = false
  private pre = 0
  /** A leading line end isn't part of preformatted text. */
  private isPreFresh = false

  constructor(charactersMax: number, base: string | null) {
    this.base = base
    this.document = new MarkdownDocument(charactersMax)
  }

  get title(): string {
    return this.titleText.replace(/\s+/g, " ").trim().slice(0, titleCharactersMax).toWellFormed()
  }

  end(): void {
    this.endFrom(0)
  }

  text(text: string): void {
    if (this.skipped !== null) return
    if (this.isTitle) {
      if (this.titleText.length < titleCharactersMax) this.titleText += text
    } else if (this.pre > 0) {
      const lines = text.replace(/\r\n?/g, "\n")
      this.document.flow.verbatim(this.isPreFresh && lines.startsWith("\n") ? lines.slice(1) : lines)
      this.isPreFresh = false
    } else this.document.flow.text(text)
  }

  /** An element begins; `isWhole` if it has no content, and no end of its own. */
  begin(name: string, attributes: Attributes, isWhole: boolean): void {
    const { skipped } = this
    if (skipped !== null) {
      if (!isWhole && name === skipped.name) skipped.depth++
      return
    }
    if (this.isSkipped(name, attributes)) {
      if (!isWhole) this.skipped = { name, depth: 1 }
      return
    }
    this.endImplied(name)
    if (blockElements.has(name)) this.document.flow.endBlock()
    if (voidElements.has(name)) return this.beginVoid(name, attributes)
    if (!followedElements.has(name)) return
    if (this.opened.length < depthMax) {
      this.opened.push({ name, end: this.beginFollowed(name, attributes) })
      if (isWhole) this.finish(name)
    } else if (!isWhole) this.beyond.set(name, (this.beyond.get(name) ?? 0) + 1)
  }

  finish(name: string): void {
    const { skipped } = this
    if (skipped !== null) {
      if (name === skipped.name && --skipped.depth === 0) this.skipped = null
      return
    }
    if (name === "br") return this.document.flow.lineBreak()
    if (blockElements.has(name)) this.document.flow.endBlock()
    if (!followedElements.has(name)) return
    const tooDeep = this.beyond.get(name) ?? 0
    if (tooDeep > 0) {
      this.beyond.set(name, tooDeep - 1)
      return
    }
    const at = this.opened.findLastIndex((open) => open.name === name)
    const cell = this.opened.findLastIndex((open) => cellElements.has(open.name))
    if (at >= 0 && (at >= cell || tableElements.has(name))) this.endFrom(at)
  }

  private endFrom(at: number): void {
    while (this.opened.length > at) this.opened.pop()?.end()
  }

  private endImplied(name: string): void {
    const implied = impliedEnds.get(name)
    if (implied === undefined) return
    let ended = this.opened.length
    for (let at = ended - 1; at >= 0; at--) {
      const outer = this.opened[at]?.name ?? ""
      if (implied.within.has(outer)) break
      if (implied.ends.has(outer)) ended = at
    }
    this.endFrom(ended)
  }

  private isSkipped(name: string, attributes: Attributes): boolean {
    if (name === "footer") return !this.opened.some((open) => textSections.has(open.name))
    return (
      skippedElements.has(name) ||
      attributes.has("hidden") ||
      attributes.get("aria-hidden") === "true" ||
      attributes.get("role") === "navigation" ||
      /display:\s*none/i.test(attributes.get("style") ?? "")
    )
  }

  private beginVoid(name: string, attributes: Attributes): void {
    const { flow } = this.document
    if (name === "br") flow.lineBreak()
    else if (name === "img") flow.text(` ${attributes.get("alt") ?? ""} `)
    else if (name === "hr") flow.endBlock()
    else if (name === "base") this.rebase(attributes.get("href"))
  }

  /** The first base that a page declares counts. */
  private rebase(href: string | undefined): void {
    if (this.base === null || this.hasBase || href === undefined) return
    this.hasBase = true
    const url = href.length > urlCharactersMax ? null : URL.parse(href, this.base)
    if (url !== null && /^https?:$/.test(url.protocol)) this.base = url.href
  }

  /** Begins an element; what it returns ends it. */
  private beginFollowed(name: string, attributes: Attributes): () => void {
    const { flow } = this.document
    if (/^h[1-6]$/.test(name)) {
      this.document.heading(Number(name.slice(1)))
      return () => this.document.endHeading()
    }
    if (name === "a") return this.beginLink(attributes.get("href"))
    if (name === "code") return this.beginCode()
    if (name === "pre") return this.beginPre()
    if (name === "title") {
      this.isTitle = true
      return () => void (this.isTitle = false)
    }
    if (name === "blockquote") {
      flow.endBlock()
      flow.open("> ", "> ")
      return () => {
        flow.close()
        flow.endBlock()
      }
    }
    if (name === "ul" || name === "ol")
      return this.beginList(name === "ol", Number(attributes.get("start") ?? 1))
    if (name === "li") return this.beginItem()
    if (tableElements.has(name)) return this.beginTablePart(name)
    return nothing
  }

  private beginLink(href: string | undefined): () => void {
    const url = href === undefined ? null : linkTarget(href, this.base)
    if (url === null) return nothing
    const { flow } = this.document
    flow.openInline("[")
    return () => flow.closeInline(`](${url})`)
  }

  private beginCode(): () => void {
    if (this.pre > 0) return nothing
    const { flow } = this.document
    flow.openInline("`")
    return () => flow.closeInline("`")
  }

  private beginPre(): () => void {
    const { flow } = this.document
    flow.endBlock()
    flow.verbatim("```\n")
    this.pre++
    this.isPreFresh = true
    return () => {
      this.pre--
      flow.endLine()
      flow.verbatim("```")
      flow.endBlock()
    }
  }

  private beginList(isOrdered: boolean, start: number): () => void {
    const { flow } = this.document
    const ending = this.lists.length > 0 ? () => flow.endLine() : () => flow.endBlock()
    ending()
    this.lists.push(isOrdered ? (Number.isSafeInteger(start) ? start : 1) : null)
    return () => {
      this.lists.pop()
      ending()
    }
  }

  private beginItem(): () => void {
    const number = this.lists.at(-1) ?? null
    if (number !== null) this.lists[this.lists.length - 1] = number + 1
    this.document.openItem(number === null ? "- " : `${number}. `)
    return () => this.document.closeItem()
  }

  private beginTablePart(name: string): () => void {
    const { document } = this
    if (name === "table") {
      document.openTable()
      return () => document.closeTable()
    }
    if (name === "tr") return () => document.closeRow()
    const lists = this.lists.splice(0)
    document.openCell()
    return () => {
      this.lists.splice(0, this.lists.length, ...lists)
      document.closeCell()
    }
  }
}

/** The absolute address of a link; null for a link within the page or of another scheme. */
const linkTarget = (href: string, base: string | null): string | null => {
  if (href.length > urlCharactersMax || href.startsWith("#")) return null
  const url = base === null ? URL.parse(href) : URL.parse(href, base)
  if (url === null || !["http:", "https:", "mailto:"].includes(url.protocol)) return null
  return url.href.replaceAll("(", "%28").replaceAll(")", "%29")
}
