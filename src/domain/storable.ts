const nul = /\0/g

/** True if PostgreSQL can store the text: its jsonb and text refuse NUL, and UTF-8 has no lone surrogates. */
export const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed()

/** Completes "must be". */
export const expectedStorable = "text without NUL characters and lone surrogates"

/** A text without what PostgreSQL can't hold: NUL and lone surrogates become U+FFFD. No offset changes. */
export const storable = (text: string): string => {
  const formed = text.isWellFormed() ? text : text.toWellFormed()
  return formed.includes("\0") ? formed.replace(nul, "\u{fffd}") : formed
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff

/** A piece of a text that comes in pieces, without half a surrogate pair at its end. */
export interface TextPiece {
  readonly text: string
  /** The first half of a surrogate pair whose second half may begin the next piece; "" if there is none. */
  readonly carry: string
}

/** `carry` and the next piece of a stream. A surrogate pair that was cut in two is joined again. */
export const joinPiece = (carry: string, piece: string): TextPiece => {
  const text = carry === "" ? piece : carry + piece
  const last = text.length - 1
  return last >= 0 && isHighSurrogate(text.charCodeAt(last))
    ? { text: text.slice(0, last), carry: text.slice(last) }
    : { text, carry: "" }
}

/** Joins pieces like `joinPiece`, as text that can be stored. */
export const storablePiece = (carry: string, piece: string): TextPiece => {
  const joined = joinPiece(carry, piece)
  return { text: storable(joined.text), carry: joined.carry }
}
