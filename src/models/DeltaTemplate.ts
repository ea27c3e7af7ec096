import { type ChatChunk, decodeChatChunk } from "./ChatChunk.ts"

/** A form that doesn't pay is learned no more: at first so often, later only where each was of use so often. */
const learningsAtFirst = 4
const usesPerLearning = 8

/** Stands in for the text, to find out whether it is the text and nothing else that was found. */
const probe = "a text that no model wrote"

const QUOTE = 0x22
const BACKSLASH = 0x5c
const LAST_CONTROL = 0x1f

/**
 * A short cut past JSON.parse. The events of one stream differ in hardly anything but the text of their delta, so that what
 * stands before and after it can be remembered. An event that begins and ends alike, and has between the two only
 * characters that stand for themselves in a JSON string, can mean nothing but that text. Everything else is decoded.
 */
export class DeltaTemplate {
  private before = ""
  private after = ""
  private learnings = 0
  private uses = 0

  /** The text of an event of the form that was learned, never empty; null where it has another form. */
  textOf(data: string): string | null {
    const start = this.before.length
    const end = data.length - this.after.length
    if (start === 0 || end <= start || !data.startsWith(this.before) || !data.endsWith(this.after))
      return null
    for (let at = start; at < end; at++) {
      const code = data.charCodeAt(at)
      if (code === QUOTE || code === BACKSLASH || code <= LAST_CONTROL) return null
    }
    this.uses++
    return data.slice(start, end)
  }

  /** Remembers the form of an event that was decoded, if it brought text and nothing else. */
  learn(data: string, chunk: ChatChunk): void {
    if (this.learnings >= learningsAtFirst && this.uses < this.learnings * usesPerLearning) return
    if (!isMereText(chunk)) return
    const quoted = `"${chunk.text}"`
    const at = data.indexOf(quoted)
    // A text that was escaped isn't found, and one that occurs twice doesn't tell its place.
    if (at === -1 || at !== data.lastIndexOf(quoted)) return
    this.learnings++
    const before = data.slice(0, at + 1)
    const after = data.slice(at + 1 + chunk.text.length)
    const probed = decodeChatChunk(before + probe + after)
    if (!isMereText(probed) || probed.text !== probe) return
    this.before = before
    this.after = after
  }
}

const isMereText = (chunk: ChatChunk): chunk is ChatChunk & { readonly type: "choice" } =>
  chunk.type === "choice" &&
  chunk.text !== "" &&
  chunk.fragments.length === 0 &&
  chunk.finish === null &&
  chunk.usage === null
