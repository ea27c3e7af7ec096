import { Tokenizer, type TokenizerCallbacks } from "htmlparser2"

/** A longer tag than this is no tag, but a text with the sign for "less" in it. */
const tagCharactersMax = 300

/** A sign for "less" that begins no tag, as in a formula. */
const looseSign = new RegExp(`<(?![a-z/!][^<>]{0,${tagCharactersMax}}>)`, "gi")

const nothing = () => {}

class TextOnly implements TokenizerCallbacks {
  private readonly html: string
  text = ""

  constructor(html: string) {
    this.html = html
  }

  ontext(start: number, end: number): void {
    this.text += this.html.slice(start, end)
  }

  ontextentity(point: number): void {
    this.text += String.fromCodePoint(point)
  }

  onattribname = nothing
  onattribdata = nothing
  onattribentity = nothing
  onattribend = nothing
  oncdata = nothing
  onclosetag = nothing
  oncomment = nothing
  ondeclaration = nothing
  onend = nothing
  onopentagend = nothing
  onopentagname = nothing
  onprocessinginstruction = nothing
  onselfclosingtag = nothing
}

/**
 * A short piece of HTML as the text that it shows: tags are gone, entities are the characters that they mean. A text that was
 * plain all along stays as it is, unless it has entities or tags in it.
 */
export const plainText = (html: string): string => {
  const escaped = html.replace(looseSign, "&lt;")
  const reader = new TextOnly(escaped)
  const tokenizer = new Tokenizer({}, reader)
  tokenizer.write(escaped)
  tokenizer.end()
  return reader.text
}
