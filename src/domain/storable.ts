const nul = /\0/g

/** A text without what PostgreSQL can't hold: NUL and lone surrogates become U+FFFD. No offset changes. */
export const storable = (text: string): string => {
  const formed = text.isWellFormed() ? text : text.toWellFormed()
  return formed.includes("\0") ? formed.replace(nul, "\u{fffd}") : formed
}
