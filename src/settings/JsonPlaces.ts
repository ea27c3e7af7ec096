/** Nested deeper than any file of settings; such a document is not searched. */
const depthMax = 50

const blanks = /[ \t\n\r]*/y
/** Everything but quotes, backslashes and control characters, or an escape. */
const text = /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const scalar = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y

/**
 * Offsets of the parts of a text of JSON, by their paths, and of the place where it stops being JSON, if it
 * does.
 */
interface JsonPlaces {
  readonly offsets: ReadonlyMap<string, number>
  readonly problemAt: number | null
}

/** The path of a part, such as `models[0].id`. */
export const pathText = (path: ReadonlyArray<PropertyKey>): string =>
  path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
    .join("")
    .replace(/^\./, "")

/** Reads a text of JSON for the places in it. */
export const jsonPlaces = (source: string): JsonPlaces => {
  const offsets = new Map<string, number>()
  let at = 0

  const take = (token: RegExp): string | null => {
    token.lastIndex = at
    const found = token.exec(source)?.[0] ?? null
    if (found !== null) at += found.length
    return found
  }
  const isNext = (character: string): boolean => {
    take(blanks)
    if (source[at] !== character) return false
    at++
    return true
  }
  const key = (): string | null => {
    take(blanks)
    const found = take(text)
    return found === null ? null : found.slice(1, -1)
  }

  /** True if a value stands here; if not, `at` is where it fails. */
  const value = (path: ReadonlyArray<PropertyKey>): boolean => {
    take(blanks)
    if (!offsets.has(pathText(path))) offsets.set(pathText(path), at)
    if (path.length > depthMax) return false
    if (isNext("{")) return members("}", () => member(path))
    if (isNext("[")) {
      let index = 0
      return members("]", () => value([...path, index++]))
    }
    return take(text) !== null || take(scalar) !== null
  }
  const member = (path: ReadonlyArray<PropertyKey>): boolean => {
    take(blanks)
    const start = at
    const name = key()
    if (name === null) return false
    offsets.set(pathText([...path, name]), start)
    return isNext(":") && value([...path, name])
  }
  const members = (end: "}" | "]", one: () => boolean): boolean => {
    if (isNext(end)) return true
    do {
      if (!one()) return false
    } while (isNext(","))
    return isNext(end)
  }

  const isWhole = value([])
  take(blanks)
  return { offsets, problemAt: isWhole && at === source.length ? null : at }
}

/** The line and the column of an offset, both from 1. */
export const lineAndColumn = (
  source: string,
  offset: number
): { readonly line: number; readonly column: number } => {
  const before = source.slice(0, offset).split(/\r\n|\n|\r/)
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 }
}
