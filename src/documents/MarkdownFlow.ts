/** The text has reached its limit; what was written before stays. */
export class TextFull extends Error {}

interface Container {
  readonly first: string
  readonly rest: string
  isOpened: boolean
}

/** An opening mark such as `[`; `piece` is where it was written, null until then. */
interface Inline {
  readonly before: string
  piece: number | null
  line: number
}

/**
 * Writes Markdown blocks, within the open quotes and list items. Marks are written with their text: empty
 * elements leave nothing.
 */
export class MarkdownFlow {
  private readonly charactersMax: number
  private readonly pieces: Array<string> = []
  private readonly containers: Array<Container> = []
  private readonly inlines: Array<Inline> = []
  private characters = 0
  /** Written before the next text. */
  private gap: "none" | "line" | "block" = "none"
  private isStarted = false
  private hasSpace = false
  private lines = 0

  constructor(charactersMax: number) {
    this.charactersMax = charactersMax
  }

  /** Text in which any run of white space is one blank. */
  text(text: string): void {
    const words = text.replace(/[\s\u00a0]+/g, " ")
    const bare = words.trim()
    if (bare === "") {
      if (words !== "") this.hasSpace = true
      return
    }
    if (words.startsWith(" ")) this.hasSpace = true
    this.put(bare)
    this.hasSpace = words.endsWith(" ")
  }

  /** Text that stays as it is, line by line: code, or a paragraph that was laid out by hand. */
  verbatim(text: string): void {
    const [first = "", ...others] = text.split("\n")
    if (first !== "") this.put(first)
    for (const line of others) {
      this.lineBreak()
      if (line !== "") this.put(line)
    }
  }

  /** The next text begins on a new line of the same block. */
  lineBreak(): void {
    this.hasSpace = false
    if (this.isStarted && this.gap === "none") this.write(`\n${this.begin()}`)
  }

  endLine(): void {
    this.hasSpace = false
    if (this.isStarted && this.gap === "none") this.gap = "line"
  }

  endBlock(): void {
    this.hasSpace = false
    if (this.isStarted) this.gap = "block"
  }

  /** Opens a quote or list item: `first` is written before its first line, `rest` before the others. */
  open(first: string, rest: string): void {
    this.containers.push({ first, rest, isOpened: false })
  }

  close(): void {
    this.containers.pop()
  }

  /** Puts `before` in front of the next text of this line, once there is one. */
  openInline(before: string): void {
    this.inlines.push({ before, piece: null, line: 0 })
  }

  /**
   * Puts `after` behind the text since the last `openInline`. Where that is empty, or on several lines,
   * neither stays.
   */
  closeInline(after: string): void {
    const inline = this.inlines.pop()
    if (inline === undefined || inline.piece === null) return
    if (inline.line === this.lines) return this.write(after)
    this.pieces[inline.piece] = ""
    this.characters -= inline.before.length
  }

  /** Returns the offset of the next block if no quote or item is open. */
  nextBlockAt(): number {
    return this.isStarted ? this.characters + "\n\n".length : 0
  }

  /** Returns the written text. A cut may have gone through a character. */
  toString(): string {
    return this.pieces.join("").trimEnd().toWellFormed()
  }

  get length(): number {
    return this.characters
  }

  private put(text: string): void {
    if (!this.isStarted || this.gap !== "none") this.startLine()
    else if (this.hasSpace) this.write(" ")
    this.hasSpace = false
    for (const inline of this.inlines) {
      if (inline.piece !== null) continue
      inline.piece = this.pieces.length
      inline.line = this.lines
      this.write(inline.before)
    }
    this.write(text)
  }

  private startLine(): void {
    const blank = this.containers.map(({ isOpened, rest }) => (isOpened ? rest : "")).join("")
    const before = !this.isStarted ? "" : this.gap === "block" ? `\n${blank.trimEnd()}\n` : "\n"
    this.isStarted = true
    this.gap = "none"
    this.write(before + this.begin())
  }

  /** The prefix of a line. */
  private begin(): string {
    this.lines++
    return this.containers
      .map((container) => {
        const prefix = container.isOpened ? container.rest : container.first
        container.isOpened = true
        return prefix
      })
      .join("")
  }

  private write(text: string): void {
    const room = this.charactersMax - this.characters
    this.pieces.push(text.slice(0, room))
    this.characters += Math.min(text.length, room)
    if (text.length > room) throw new TextFull()
  }
}
