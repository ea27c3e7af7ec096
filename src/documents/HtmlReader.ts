import { Tokenizer, type TokenizerCallbacks } from "htmlparser2"
import { voidElements, attributeNames, HtmlPage } from "./HtmlPage.ts"
import { TextFull } from "./MarkdownFlow.ts"

export interface HtmlOptions {
  readonly charactersMax: number
  /** The address of the page, for relative links; null drops them. */
  readonly base: string | null
  /** True if `<td/>` is a whole element. */
  readonly isXhtml: boolean
}

/**
 * Reads a page as Markdown, without scripts, decoration and navigation. The time is proportional to the
 * length, however deep the nesting: therefore the tokenizer is used without its parser, whose work grows with
 * the depth.
 */
export const readHtml = (html: string, { base, charactersMax, isXhtml }: HtmlOptions) => {
  const page = new HtmlPage(charactersMax, base)
  const tokenizer = new Tokenizer({ recognizeSelfClosing: isXhtml }, new HtmlTokens(html, page, isXhtml))
  try {
    tokenizer.write(html)
    tokenizer.end()
    return { title: page.title, text: page.document.toString(), truncated: false }
  } catch (error) {
    if (!(error instanceof TextFull)) throw error
    return { title: page.title, text: page.document.written(), truncated: true }
  }
}

const nothing = () => {}

/** Collects the tokens of an element. */
class HtmlTokens implements TokenizerCallbacks {
  private readonly html: string
  private readonly page: HtmlPage
  private readonly isXhtml: boolean
  private tag = ""
  private attribute = ""
  private value = ""
  private attributes = new Map<string, string>()

  constructor(html: string, page: HtmlPage, isXhtml: boolean) {
    this.html = html
    this.page = page
    this.isXhtml = isXhtml
  }

  ontext(start: number, end: number): void {
    this.page.text(this.html.slice(start, end))
  }

  ontextentity(point: number): void {
    this.page.text(String.fromCodePoint(point))
  }

  onopentagname(start: number, end: number): void {
    this.tag = this.html.slice(start, end).toLowerCase()
    this.attributes = new Map()
  }

  onattribname(start: number, end: number): void {
    const name = this.html.slice(start, end).toLowerCase()
    this.attribute = attributeNames.has(name) && !this.attributes.has(name) ? name : ""
    this.value = ""
  }

  onattribdata(start: number, end: number): void {
    if (this.attribute !== "") this.value += this.html.slice(start, end)
  }

  onattribentity(point: number): void {
    if (this.attribute !== "") this.value += String.fromCodePoint(point)
  }

  onattribend(): void {
    if (this.attribute !== "") this.attributes.set(this.attribute, this.value)
  }

  onopentagend(): void {
    this.page.begin(this.tag, this.attributes, voidElements.has(this.tag))
  }

  onselfclosingtag(): void {
    this.page.begin(this.tag, this.attributes, this.isXhtml || voidElements.has(this.tag))
  }

  onclosetag(start: number, end: number): void {
    this.page.finish(this.html.slice(start, end).toLowerCase())
  }

  onend(): void {
    this.page.end()
  }

  oncdata = nothing
  oncomment = nothing
  ondeclaration = nothing
  onprocessinginstruction = nothing
}
