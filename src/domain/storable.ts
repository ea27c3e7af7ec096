const nul = /\0/g

/** A text without what PostgreSQL can't hold: NUL and lone surrogates become U+FFFD. No offset changes. */
export const storable = (text: string): string => {
  const formed = text.isWellFormed() ? text : text.toWellFormed()
  return formed.includes("\0") ? formed.replace(nul, "\u{fffd}") : formed
}

/**
 * Makes streamed text fit for JSON and PostgreSQL: NUL and lone surrogates become U+FFFD, once, before the text is
 * streamed or stored. A surrogate pair that a model cuts in two is put together again.
 */

const replacement = "\u{fffd}"

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

export interface Cleaned {
  readonly text: string
  /** The first half of a pair whose second half may come with the next piece; "" where there is none. */
  readonly carry: string
}

/** The storable text of `carry` and `piece` together, and what has to wait for the next piece. */
export const cleanPiece = (carry: string, piece: string): Cleaned => {
  const text = carry === "" ? piece : carry + piece
  const last = text.length - 1
  return last >= 0 && isHighSurrogate(text.charCodeAt(last))
    ? { text: storable(text.slice(0, last)), carry: text.slice(last) }
    : { text: storable(text), carry: "" }
}

/** What is left of a carry when no more text comes. */
export const cleanRest = (carry: string): string => (carry === "" ? "" : replacement)
