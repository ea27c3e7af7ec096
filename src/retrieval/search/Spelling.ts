/**
 * The least edits to write `one` as each beginning of `other`, row by row of the well-known table; null above
 * `max`.
 */
const editsToBeginnings = (one: string, other: string, max: number): Uint8Array | null => {
  let beforeLast = new Uint8Array(other.length + 1)
  let last = Uint8Array.from(beforeLast, (_, at) => at)
  for (let i = 1; i <= one.length; i++) {
    const row = new Uint8Array(other.length + 1)
    let least = (row[0] = i)
    for (let j = 1; j <= other.length; j++) {
      const exchanged = (last[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1)
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      const swapped = isSwapped ? (beforeLast[j - 2] ?? 0) + 1 : exchanged
      const edits = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, exchanged, swapped)
      row[j] = edits
      least = Math.min(least, edits)
    }
    if (least > max) return null
    ;[beforeLast, last] = [last, row]
  }
  return last
}

/**
 * The edits between a term and a word, or more than `max`: letters put in, left out, exchanged, or swapped
 * with the next one. Terms are stems: what a word has behind one counts as a single edit, because the ending
 * of a misspelled word is unknown.
 */
export const editsBetween = (term: string, word: string, max: number): number => {
  if (term.length > word.length + max || word.length > term.length + Math.max(max, endingCharactersMax)) {
    return max + 1
  }
  const row = editsToBeginnings(term, word, max)
  if (row === null) return max + 1
  const ending = term.length < stemCharactersMin ? 0 : endingCharactersMax
  const shortest = Math.max(word.length - ending, Math.min(stemCharactersMin, word.length))
  const whole = row[word.length] ?? max + 1
  const cut = row.slice(shortest, word.length).map((edits) => edits + 1)
  return Math.min(whole, ...cut, max + 1)
}

/** The shortest stem that may be looked for in a longer word, and the longest ending behind it. */
const stemCharactersMin = 5
const endingCharactersMax = 4

/** Shorter words have too many neighbors to guess. */
export const correctedCharactersMin = 4
/** Shortest word in which two letters may be wrong. */
const twoEditsCharactersMin = 6
/** Terms that one word may be corrected to, and those that are weighed for it. */
export const correctionsMax = 3
const nearestMax = 100

/** Letters of a term that a word may differ from. */
export const lengthsOf = (forms: ReadonlyArray<string>) => ({
  charactersMin: Math.min(...forms.map((form) => form.length)) - Math.max(2, endingCharactersMax),
  charactersMax: Math.max(...forms.map((form) => form.length)) + 2
})

/** A bit for each letter that a text has; letters may share one. */
const lettersOf = (text: string): number => {
  let letters = 0
  for (let at = 0; at < text.length; at++) letters |= 1 << (text.charCodeAt(at) & 31)
  return letters
}

const countBits = (bits: number): number => {
  let count = 0
  for (let left = bits; left !== 0; left &= left - 1) count++
  return count
}

export const editsMax = (word: string): number => (word.length >= twoEditsCharactersMin ? 2 : 1)

interface Nearest {
  readonly edits: number
  readonly terms: ReadonlyArray<string>
}

/**
 * The terms that are nearest to one of the forms of a word, all of them as near; null when none is near
 * enough.
 */
export const nearestOf = (forms: ReadonlyArray<string>, terms: ReadonlyArray<string>): Nearest | null => {
  const targets = forms.map((form) => ({ form, max: editsMax(form), missing: ~lettersOf(form) }))
  // Terms that are further away than the nearest so far need no exact measure.
  let nearestEdits = Number.POSITIVE_INFINITY
  const distance = (term: string) => {
    const letters = lettersOf(term)
    let least = Number.POSITIVE_INFINITY
    for (const { form, max, missing } of targets) {
      const enough = Math.min(max, nearestEdits)
      // Each letter that the form hasn't takes an edit: for most terms this is answer enough.
      if (countBits(letters & missing) > enough) continue
      const edits = editsBetween(term, form, enough)
      if (edits <= enough) least = Math.min(least, edits)
    }
    nearestEdits = Math.min(nearestEdits, least)
    return least
  }
  const measured = terms.map((term) => ({ term, edits: distance(term) }))
  const edits = measured.reduce((least, one) => Math.min(least, one.edits), Number.POSITIVE_INFINITY)
  if (edits === Number.POSITIVE_INFINITY) return null
  const nearest = measured.filter((one) => one.edits === edits).map(({ term }) => term)
  return { edits, terms: nearest.slice(0, nearestMax) }
}
