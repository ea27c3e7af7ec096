/** Reasoning that a server leaves in the text: `<think>…</think>` at the beginning of an answer. */

const opening = "<think>"
const closing = "</think>"

interface Split {
  readonly thought: string
  readonly text: string
}

/** The length of the longest end of `text` that begins `tag`. */
const beginningAtEnd = (text: string, tag: string): number => {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) {
    if (tag.startsWith(text.slice(-length))) return length
  }
  return 0
}

/**
 * Splits the pieces of one answer. A tag may be cut anywhere, and an answer that doesn't begin with one passes unchanged. Reasoning
 * that is never closed is all there is.
 */
export class ThinkTags {
  private state: "beginning" | "thinking" | "closed" | "text" = "beginning"
  private held = ""

  /** Whether the reasoning is between tags, and hasn't ended. */
  get isThinking(): boolean {
    return this.state === "thinking"
  }

  split(piece: string): Split {
    if (this.state === "text") return { thought: "", text: piece }
    const whole = this.held + piece
    this.held = ""
    switch (this.state) {
      case "beginning":
        return this.begin(whole)
      case "thinking":
        return this.think(whole)
      case "closed":
        return this.resume(whole)
    }
  }

  /** What was held back, where the answer ends. */
  end(): Split {
    const held = this.held
    this.held = ""
    return this.isThinking ? { thought: held, text: "" } : { thought: "", text: held }
  }

  private begin(whole: string): Split {
    const start = whole.trimStart()
    if (start.startsWith(opening)) {
      this.state = "thinking"
      return this.think(start.slice(opening.length))
    }
    if (opening.startsWith(start)) {
      this.held = whole
      return { thought: "", text: "" }
    }
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
