/**
 * A text as it is stored and shown: lines end in LF, and what PostgreSQL can't hold (NUL, lone surrogates) has become the
 * replacement character.
 */
export const storableForm = (text: string): string =>
  text.replace(/\r\n?/g, "\n").replaceAll("\0", "\uFFFD").toWellFormed()
