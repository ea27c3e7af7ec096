/** Characters of a name. Longer names are not compared, because no documented name is longer. */
const nameCharactersMax = 40
/** Edits between a misspelled name and the documented one. */
const editsMax = 2
/** Names up to this length may be only one edit away. */
const shortCharactersMax = 5

/** The Levenshtein distance. */
const editsBetween = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [i, left] of [...one].entries()) {
    const next = [i + 1]
    for (const [j, right] of [...other].entries()) {
      next.push(Math.min((row[j] ?? 0) + (left === right ? 0 : 1), (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

const bare = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "")

/**
 * The known name that `name` most likely misspells, such as `conversaton_id` or `maxOutputTokens`; null for
 * none.
 */
export const nearMiss = (name: string, known: ReadonlyArray<string>): string | null => {
  if (name.length > nameCharactersMax) return null
  const given = bare(name)
  const max = given.length <= shortCharactersMax ? 1 : editsMax
  const [best] = known
    .map((candidate) => ({ candidate, edits: editsBetween(given, bare(candidate)) }))
    .filter(({ edits }) => edits <= max)
    .toSorted((one, other) => one.edits - other.edits)
  return best?.candidate ?? null
}
