/** Reasoning that a server leaves in the text: `<think>…</think>` at the beginning of an answer. */

const opening = "<think>"
const closing = "</think>"

/** So much white space may precede the tag that opens. */
const blanksMax = 1_024

interface Split {
  readonly thought: string
  readonly text: string
}

const nothing: Split = { thought: "", text: "" }

/** The length of the longest end of `text` that begins `tag`. */
const beginningAtEnd = (text: string, tag: string): number => {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) {
    if (tag.startsWith(text.slice(-length))) return length
  }
  return 0
}

/** True if the tag may still come, behind the white space. */
const mayOpen = (start: string, whole: string): boolean =>
  opening.startsWith(start) && whole.length <= blanksMax

/**
 * Separates reasoning from text in the pieces of one answer. A tag may be cut anywhere, and an answer that
 * doesn't begin with one passes unchanged. An answer whose reasoning is never closed is reasoning only.
 *
 * The opening tag may be absent where answers begin within their reasoning. If the model then ends without a
 * closing tag, it didn't think, and the assumed reasoning is its answer as well.
 */
export class ThinkTags {
  private state: "beginning" | "assumed" | "thinking" | "closed" | "text"
  private held = ""
  /** The text that was treated as reasoning without an opening tag. */
  private assumed = ""

  constructor(beginsThinking = false) {
    this.state = beginsThinking ? "assumed" : "beginning"
  }

  /** True while the reasoning has not ended. */
  get isThinking(): boolean {
    return this.state === "thinking" || this.state === "assumed"
  }

  /** Reasoning came in a field of its own, so the text has no tag that was opened in the prompt. */
  noteThought(): void {
    if (this.state === "assumed" && this.assumed === "") this.state = "beginning"
  }

  /** True if all that follows is text. */
  get areOver(): boolean {
    return this.state === "text"
  }

  split(piece: string): Split {
    if (this.state === "text") return { thought: "", text: piece }
    const whole = this.held + piece
    this.held = ""
    switch (this.state) {
      case "beginning":
        return this.begin(whole)
      case "assumed":
        return this.assume(whole)
      case "thinking":
        return this.think(whole)
      case "closed":
        return this.resume(whole)
    }
  }

  /**
   * The withheld text, when the answer ends or its calls begin. `isWhole`: the model wrote nothing besides
   * text.
   */
  end(isWhole: boolean): Split {
    const { assumed, held, isThinking, state } = this
    this.held = ""
    if (state === "assumed") {
      // Text behind calls or a refusal is never reasoning.
      this.state = "text"
      this.assumed = ""
      return isWhole ? { thought: held, text: assumed + held } : { thought: held, text: "" }
    }
    return isThinking ? { thought: held, text: "" } : { thought: "", text: held }
  }

  /** Treats the text as reasoning without an opening tag. The tag may still come. */
  private assume(whole: string): Split {
    const opened = this.assumed === "" ? this.opened(whole) : null
    if (opened !== null) return opened
    const split = this.think(whole)
    this.assumed += split.thought
    return split
  }

  /** Splits the beginning of an answer if a tag opens there or may still open; null if none does. */
  private opened(whole: string): Split | null {
    const start = whole.trimStart()
    if (start.startsWith(opening)) {
      this.state = "thinking"
      return this.think(start.slice(opening.length))
    }
    if (!mayOpen(start, whole)) return null
    this.held = whole
    return nothing
  }

  private begin(whole: string): Split {
    const opened = this.opened(whole)
    if (opened !== null) return opened
    this.state = "text"
    return { thought: "", text: whole }
  }

  private think(whole: string): Split {
    const end = whole.indexOf(closing)
    if (end >= 0) {
      this.state = "closed"
      return { thought: whole.slice(0, end), text: this.resume(whole.slice(end + closing.length)).text }
    }
    const cut = whole.length - beginningAtEnd(whole, closing)
    this.held = whole.slice(cut)
    return { thought: whole.slice(0, cut), text: "" }
  }

  /** The blank lines behind the tag belong to it. */
  private resume(whole: string): Split {
    const text = whole.trimStart()
    if (text !== "") this.state = "text"
    return { thought: "", text }
  }
}
