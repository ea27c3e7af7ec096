/** The longest title that a user can give. */
export const titleCharactersMax = 200
/** Marks that change the writing direction of all following text, including text behind the title. */
const directionMarks = /[\u202a-\u202e\u2066-\u2069]/gu

/** True if all characters of a given title can stand in a line of a list. */
export const isOneLine = (title: string): boolean =>
  !/\p{Cc}/u.test(title) && title.search(directionMarks) === -1

/** The longest title taken from the beginning of a message. */
const beginningCharactersMax = 60
/** The shortest useful beginning. A long word is cut rather than left out. */
const beginningCharactersMin = 20
/** Characters of a message that are read for its title. */
export const beginningReadMax = 1_000

/** The beginning of a message, cut at a word; null for a message without text. */
export const titleOf = (message: string): string | null => {
  const read = message.slice(0, beginningReadMax).toWellFormed().replace(directionMarks, "")
  const characters = [...read.replace(/[\s\p{Cc}]+/gu, " ").trim()]
  if (characters.length <= beginningCharactersMax) return characters.join("") || null
  const beginning = characters.slice(0, beginningCharactersMax)
  // A blank after the last character that fits ends a word too.
  const end = [...beginning, characters[beginningCharactersMax]].lastIndexOf(" ")
  return (end < beginningCharactersMin ? beginning : beginning.slice(0, end)).join("")
}
