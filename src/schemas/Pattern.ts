/**
 * Regular languages, as terminals of a grammar have them. A match finds all ends, and tries nothing twice.
 */

export type Pattern =
  /**
   * A sticky regular expression for one character, a few fixed characters, or a position such as the end of a
   * word.
   */
  | { readonly type: "leaf"; readonly regex: RegExp }
  | { readonly type: "sequence"; readonly items: ReadonlyArray<Pattern> }
  | { readonly type: "choice"; readonly options: ReadonlyArray<Pattern> }
  | { readonly type: "repeat"; readonly item: Pattern; readonly min: number; readonly max: number }

/** An invalid grammar, or an invalid part of one, which is an error of the client. */
export class Broken extends Error {}
/** A part of a grammar that is not supported. */
export class Unsupported extends Error {}
/** A check that would take too long. */
export class TooMuchWork extends Error {}

/** The work that one check may still do. */
export interface Work {
  left: number
}

export const spend = (work: Work, steps: number): void => {
  work.left -= steps
  if (work.left < 0) throw new TooMuchWork()
}

/** The text as a regular expression that matches it literally. */
export const literal = (text: string): string =>
  Array.from(text, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`).join("")

/** `flags` consists of the letters i and m. */
export const leaf = (source: string, flags: string): Pattern => {
  try {
    return { type: "leaf", regex: new RegExp(source, `yu${flags}`) }
  } catch {
    throw new Unsupported(`the class ${source}`)
  }
}

/** Adds the ends of all runs of one character. Most repetitions are of this kind. */
const addRuns = (
  regex: RegExp,
  text: string,
  starts: ReadonlySet<number>,
  all: Set<number>,
  work: Work
): void => {
  for (const start of starts) {
    regex.lastIndex = start
    while (regex.test(text)) {
      const { lastIndex: end } = regex
      if (all.has(end)) break
      spend(work, 1)
      all.add(end)
    }
  }
}

/** The positions at which the pattern may end, if it begins at one of these positions. */
export const endsOf = (
  pattern: Pattern,
  text: string,
  starts: ReadonlySet<number>,
  work: Work
): ReadonlySet<number> => {
  spend(work, starts.size + 1)
  switch (pattern.type) {
    case "leaf": {
      const { regex } = pattern
      const ends = new Set<number>()
      for (const start of starts) {
        regex.lastIndex = start
        if (regex.test(text)) ends.add(regex.lastIndex)
      }
      return ends
    }
    case "sequence":
      return pattern.items.reduce(
        (reached, item) => (reached.size === 0 ? reached : endsOf(item, text, reached, work)),
        starts
      )
    case "choice":
      return new Set(pattern.options.flatMap((option) => [...endsOf(option, text, starts, work)]))
    case "repeat": {
      let reached = starts
      for (let count = 0; count < pattern.min && reached.size > 0; count++)
        reached = endsOf(pattern.item, text, reached, work)
      const all = new Set(reached)
      if (pattern.item.type === "leaf" && pattern.max === Number.POSITIVE_INFINITY) {
        addRuns(pattern.item.regex, text, reached, all, work)
        return all
      }
      for (let count = pattern.min; count < pattern.max && reached.size > 0; count++) {
        const next = [...endsOf(pattern.item, text, reached, work)].filter((end) => !all.has(end))
        for (const end of next) all.add(end)
        reached = new Set(next)
      }
      return all
    }
  }
}
