import { Broken, leaf, literal, type Pattern, Unsupported } from "./Pattern.ts"

/**
 * Regular expressions in the syntax of Rust and Python, for which grammars are written. Only the language
 * counts: groups are not captured, and lazy repetitions equal others. Lookaround and backreferences are not
 * supported.
 */

const depthMax = 64
/** Repetitions of a repetition. */
const quantifiersMax = 8
/** The largest count of a repetition. */
const repeatMax = 10_000

/** A definition, and how far it was read. */
export interface Cursor {
  readonly source: string
  at: number
  readonly flags: string
}

/**
 * Takes the match of the sticky expression at the cursor, and moves the cursor behind it; null if it doesn't
 * match.
 */
export const take = (cursor: Cursor, expression: RegExp): RegExpExecArray | null => {
  expression.lastIndex = cursor.at
  const found = expression.exec(cursor.source)
  if (found !== null) cursor.at = expression.lastIndex
  return found
}

const wordClass = String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}`
const classEscapes: ReadonlyMap<string, string> = new Map([
  [String.raw`\d`, String.raw`\p{Nd}`],
  [String.raw`\w`, wordClass],
  [String.raw`\s`, String.raw`\s`],
  [String.raw`\D`, String.raw`\D`],
  [String.raw`\W`, String.raw`\W`],
  [String.raw`\S`, String.raw`\S`]
])
/** Escapes that mean something else within a class. */
const outsideEscapes: ReadonlyMap<string, string> = new Map([
  [String.raw`\D`, String.raw`[^\p{Nd}]`],
  [String.raw`\W`, `[^${wordClass}]`]
])
const controls: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["f", "\f"],
  ["v", "\v"],
  ["a", "\u0007"],
  ["0", "\0"]
])
/** Positions, without the flag m if they don't depend on it. */
const places: ReadonlyMap<string, string> = new Map([
  [String.raw`\b`, String.raw`\b`],
  [String.raw`\B`, String.raw`\B`],
  [String.raw`\A`, "(?-m:^)"],
  [String.raw`\z`, "(?-m:$)"],
  [String.raw`\Z`, "(?-m:$)"]
])

const escape =
  /\\(?:[xu]\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[pP](?:\{[\w=]+\}|[A-Z])|[^])/uy

const isSet = (source: string): boolean => classEscapes.has(source) || /^\\[pP]/.test(source)

/** An escape in the form of a class in JavaScript. */
const escaped = (found: RegExpExecArray): string => {
  const [whole, ...codes] = found
  const code = codes.find((one) => one !== undefined)
  if (code !== undefined) {
    const point = Number.parseInt(code, 16)
    if (point > 0x10ffff) throw new Broken(`${whole} is no character`)
    return literal(String.fromCodePoint(point))
  }
  const set = classEscapes.get(whole)
  if (set !== undefined) return set
  if (/^\\[pP]/.test(whole)) return whole.replace(/^(\\.)(.)$/, "$1{$2}")
  const named = whole.slice(1)
  const control = controls.get(named)
  if (control !== undefined) return literal(control)
  if (/^\w$/.test(named)) throw new Unsupported(`the escape ${whole}`)
  return literal(named)
}

const charClass = /\[(\^?)(\]?(?:\\[^]|[^\]\\])*)\]/uy

/** A class. Nested brackets and operators of other dialects are not supported. */
const readClass = (cursor: Cursor): string => {
  const found = take(cursor, charClass)
  if (found === null) throw new Broken("a class has no end")
  const [, not = "", source = ""] = found
  if (/\[[:=.]|&&|--|~~/.test(source)) throw new Unsupported("classes within classes")
  const inside: Cursor = { source, at: 0, flags: "" }
  let written = ""
  let afterSet = false
  while (inside.at < source.length) {
    const one = take(inside, escape)
    const char = one === null ? (take(inside, /[^]/uy)?.[0] ?? "") : one[0]
    if (one !== null) written += escaped(one)
    else written += char === "-" && !afterSet ? char : literal(char)
    afterSet = one !== null && isSet(char)
  }
  return `[${not}${written}]`
}

const quantifier = /([*+?])|\{(\d+)\}|\{(\d*),(\d*)\}/y

interface Times {
  readonly min: number
  readonly max: number
}

const times = ([, sign, exact, from, to]: RegExpExecArray): Times => {
  if (sign !== undefined)
    return { min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : Number.POSITIVE_INFINITY }
  const min = Number(exact ?? from)
  const max = exact ?? (to === "" ? Number.POSITIVE_INFINITY : Number(to))
  return { min, max: Number(max) }
}

/** Fails if nothing can be repeated so often. */
export const demandCount = ({ max, min }: Times): void => {
  if (max < min) throw new Broken("a repetition ends before it begins")
  if (min > repeatMax || (max > repeatMax && max !== Number.POSITIVE_INFINITY))
    throw new Unsupported(`repetitions of more than ${repeatMax}`)
}

/** Reads the quantifier behind the cursor; null if there is none. */
export const readTimes = (cursor: Cursor): Times | null => {
  const found = take(cursor, quantifier)
  if (found === null) return null
  if (found[0] === "{,}") throw new Unsupported("a repetition without a number")
  const read = times(found)
  demandCount(read)
  return read
}

const group = /\((?!\?)|\(\?:|\(\?P?<[A-Za-z_]\w*>/y

const readAtom = (cursor: Cursor, depth: number): Pattern => {
  const { flags, source } = cursor
  const only = flags.replace("s", "")
  if (take(cursor, group) !== null) {
    const inner = readChoice(cursor, depth + 1)
    if (take(cursor, /\)/y) === null) throw new Broken("a group has no end")
    return inner
  }
  const char = source[cursor.at]
  if (char === "(") throw new Unsupported("groups of the kind `(?`")
  if (char === "[") return leaf(readClass(cursor), only)
  if (char === "*" || char === "+" || char === "?") throw new Broken(`there is nothing before ${char}`)
  const one = take(cursor, escape)
  if (one !== null) {
    const place = places.get(one[0])
    return leaf(place ?? outsideEscapes.get(one[0]) ?? `[${escaped(one)}]`, only)
  }
  if (char === "\\") throw new Broken("a backslash stands at the end")
  cursor.at += 1
  if (char === ".") return leaf(flags.includes("s") ? "[^]" : String.raw`[^\n]`, only)
  if (char === "^" || char === "$") return leaf(char, only)
  cursor.at -= 1
  return leaf(literal(take(cursor, /[^]/uy)?.[0] ?? ""), only)
}

/** Reads the quantifiers behind the item, of which Rust repeats each by the next. */
const readRepeated = (cursor: Cursor, item: Pattern): Pattern => {
  let repeated = item
  for (let count = 0; count <= quantifiersMax; count++) {
    const often = readTimes(cursor)
    if (often === null) return repeated
    repeated = { type: "repeat", item: repeated, ...often }
    // Lazy is as good, and possessive isn't the same.
    take(cursor, /\?/y)
    if (cursor.source[cursor.at] === "+") throw new Unsupported("possessive repetitions")
  }
  throw new Unsupported(`more than ${quantifiersMax} repetitions of each other`)
}

const readSequence = (cursor: Cursor, depth: number): Pattern => {
  const items: Array<Pattern> = []
  while (cursor.at < cursor.source.length && !/[|)]/.test(cursor.source[cursor.at] ?? "")) {
    items.push(readRepeated(cursor, readAtom(cursor, depth)))
  }
  return { type: "sequence", items }
}

const readChoice = (cursor: Cursor, depth: number): Pattern => {
  if (depth > depthMax) throw new Unsupported(`groups in ${depthMax} others`)
  const options = [readSequence(cursor, depth)]
  while (take(cursor, /\|/y) !== null) options.push(readSequence(cursor, depth))
  const [only] = options
  return only !== undefined && options.length === 1 ? only : { type: "choice", options }
}

/** The expression, with the flags behind a regular expression. */
export const readRegex = (source: string, flags: string): Pattern => {
  const [opening = "", own = ""] = /^\(\?([a-z]+)\)/.exec(source) ?? []
  const all = [...new Set(flags + own)].filter((flag) => flag !== "u").join("")
  if (/[^ims]/.test(all)) throw new Unsupported(`the flags ${all}`)
  const cursor: Cursor = { source, at: opening.length, flags: all }
  const pattern = readChoice(cursor, 0)
  if (cursor.at < source.length) throw new Broken("a bracket closes nothing")
  return pattern
}
