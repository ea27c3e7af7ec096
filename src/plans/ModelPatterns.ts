/**
 * Whether a text is as a pattern says, in which each `*` stands for any run of characters. Every piece is sought from where the
 * one before it ended, which is linear in the text for each piece, and never comes back.
 */
export const matches = (pattern: string, text: string): boolean => {
  const [first = "", ...rest] = pattern.split("*")
  const last = rest.pop()
  if (last === undefined) return text === pattern
  if (!text.startsWith(first)) return false
  let from = first.length
  for (const piece of rest) {
    const at = text.indexOf(piece, from)
    if (at < 0) return false
    from = at + piece.length
  }
  return text.length - last.length >= from && text.endsWith(last)
}

/** Whether a model is one of those that a list of patterns names; every model is, without a list. */
export const isListed = (patterns: ReadonlyArray<string> | undefined, model: string): boolean =>
  patterns === undefined || patterns.some((pattern) => matches(pattern, model))
