import { type Expression, productionsOf, terminal, terminalsOf } from "./LarkProductions.ts"
import { Broken, leaf, literal, Unsupported } from "./Pattern.ts"
import type { Grammar, Terminal } from "./Recognizer.ts"
import { type Cursor, demandCount, readRegex, readTimes, take } from "./RegexReader.ts"

/**
 * Grammars in the language of Lark, the library for Python. Instructions for building trees are ignored: `?`,
 * `!`, aliases, priorities.
 *
 * Not supported: templates, `%declare`, `%override`, `%extend`, imports outside of `common`, and additions of
 * other readers (attributes, JSON, special tokens).
 */

const depthMax = 64

/** The terminals in `%import common`. Source: Lark, grammars/common.lark. */
const common = String.raw`
DIGIT: "0".."9"
HEXDIGIT: "a".."f" | "A".."F" | DIGIT
INT: DIGIT+
SIGNED_INT: ["+" | "-"] INT
DECIMAL: INT "." INT? | "." INT
_EXP: ("e" | "E") SIGNED_INT
FLOAT: INT _EXP | DECIMAL _EXP?
SIGNED_FLOAT: ["+" | "-"] FLOAT
NUMBER: FLOAT | INT
SIGNED_NUMBER: ["+" | "-"] NUMBER
ESCAPED_STRING: /"(?:[^"\\\n]|\\.)*"/
LCASE_LETTER: "a".."z"
UCASE_LETTER: "A".."Z"
LETTER: UCASE_LETTER | LCASE_LETTER
WORD: LETTER+
CNAME: ("_" | LETTER) ("_" | LETTER | DIGIT)*
WS_INLINE: (" " | /\t/)+
WS: /[ \t\f\r\n]/+
CR: /\r/
LF: /\n/
NEWLINE: (CR? LF)+
SH_COMMENT: /#[^\n]*/
CPP_COMMENT: /\/\/[^\n]*/
C_COMMENT: /\/\*([^*]|\*+[^*\/])*\*+\//
SQL_COMMENT: /--[^\n]*/
`

const skipped = /(?:\s|\/\/[^\n]*|#[^\n]*)+/y
const definition = /(?<=(?:^|\n)[^\S\n]*)[!?]{0,2}(_*[A-Za-z]\w*)(?:\.-?\d+)?\s*:/y
const otherDefinition = /(?<=(?:^|\n)[^\S\n]*)[!?]{0,2}_*[A-Za-z]\w*\s*[[{]/y
const directive = /%(\w+)/y
const imported =
  /%import[ \t]+(\.?\w+)(?:(?:\.(\w+)(?:[ \t]*->[ \t]*(\w+))?)|[ \t]*\(([\w\s,]*)\))[ \t]*(?=[\r\n/#]|$)/y
const name = /_*[A-Za-z]\w*/y
const text = /"((?:\\[^]|[^"\\\n])*)"(i?)/y
const regex = /\/(?!\/)((?:\\[^]|[^/\\\n])+)\/([a-z]*)/y
const count = /~[ \t]*(\d+)(?:[ \t]*\.\.[ \t]*(\d+))?/y
const alias = /->[ \t]*\w+/y

const characters: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  f: "\f",
  v: "\v",
  "0": "\0"
}

const unescaped = (inside: string): string =>
  inside.replace(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([^]))/g,
    (whole, two?: string, four?: string, eight?: string, one = "") => {
      const code = two ?? four ?? eight
      if (code === undefined) return characters[one] ?? (/\w/.test(one) ? whole : one)
      const point = Number.parseInt(code, 16)
      return point > 0x10ffff ? whole : String.fromCodePoint(point)
    }
  )

/** Takes the match behind space and comments. Without a match, the cursor stays. */
const next = (cursor: Cursor, expression: RegExp): RegExpExecArray | null => {
  const { at } = cursor
  take(cursor, skipped)
  const found = take(cursor, expression)
  if (found === null) cursor.at = at
  return found
}

const isAt = (cursor: Cursor, expression: RegExp): boolean => {
  const { at } = cursor
  const found = next(cursor, expression)
  cursor.at = at
  return found !== null
}

/** The signs with which no language of this kind begins anything, and the end. */
const surelyWrong = /[)\]}|*+?"'/,;=]|$/y

/** The error where the reader knows nothing that the text could be. Newer readers may know more. */
const misplaced = (cursor: Cursor, expected: string): Broken | Unsupported =>
  isAt(cursor, surelyWrong)
    ? new Broken(`something stands where ${expected} is expected`)
    : new Unsupported("a sign of another reader")

const readText = (cursor: Cursor, [whole, inside = "", flag = ""]: RegExpExecArray): Terminal => {
  const from = unescaped(inside)
  if (next(cursor, /\.\.(?!\.)/y) === null) return terminal(whole, leaf(literal(from), flag))
  const end = next(cursor, text)
  const to = unescaped(end?.[1] ?? "")
  if ([...from].length !== 1 || [...to].length !== 1) throw new Broken("a range is not one of two characters")
  return terminal(`${whole}..${end?.[0]}`, leaf(`[${literal(from)}-${literal(to)}]`, ""))
}

const closing: Readonly<Record<string, RegExp>> = { "(": /\)/y, "[": /\]/y }

const readAtom = (cursor: Cursor, depth: number): Expression => {
  const [open = ""] = next(cursor, /[([]/y) ?? []
  const end = closing[open]
  if (end !== undefined) {
    const inner = readChoice(cursor, depth + 1)
    if (next(cursor, end) === null) throw new Broken("a bracket isn't closed")
    return open === "[" ? { item: inner, min: 0, max: 1 } : inner
  }
  take(cursor, skipped)
  const written = take(cursor, text)
  if (written !== null) return readText(cursor, written)
  const expression = take(cursor, regex)
  if (expression !== null) {
    const [whole, source = "", flags = ""] = expression
    return terminal(whole, readRegex(source, flags))
  }
  const named = take(cursor, name)
  if (named === null) {
    throw misplaced(cursor, "a rule, a terminal, a text or a bracket")
  }
  if (cursor.source[cursor.at] === "{" && !/^\{\d*,?\d*\}/.test(cursor.source.slice(cursor.at)))
    throw new Unsupported("templates")
  return { name: named[0] }
}

const often = (cursor: Cursor): { readonly min: number; readonly max: number } | null => {
  take(cursor, /[ \t]+/y)
  const found = take(cursor, count)
  if (found === null) return readTimes(cursor)
  const min = Number(found[1])
  const max = found[2] === undefined ? min : Number(found[2])
  // `~` has no repetition without an end, and a number of 400 digits is infinite.
  if (min <= max && max === Number.POSITIVE_INFINITY) throw new Unsupported("repetitions of that many")
  demandCount({ min, max })
  return { min, max }
}

const isEnd = (cursor: Cursor): boolean =>
  isAt(cursor, /[|)\]]|$/y) ||
  isAt(cursor, directive) ||
  isAt(cursor, definition) ||
  isAt(cursor, otherDefinition)

const readSequence = (cursor: Cursor, depth: number): Expression => {
  const items: Array<Expression> = []
  while (!isEnd(cursor)) {
    if (next(cursor, alias) !== null) continue
    const item = readAtom(cursor, depth)
    const times = often(cursor)
    items.push(times === null ? item : { item, ...times })
  }
  return { items }
}

const readChoice = (cursor: Cursor, depth: number): Expression => {
  if (depth > depthMax) throw new Unsupported(`brackets in ${depthMax} others`)
  const options = [readSequence(cursor, depth)]
  while (next(cursor, /\|/y) !== null) options.push(readSequence(cursor, depth))
  const [only] = options
  return only !== undefined && options.length === 1 ? only : { options }
}

interface Definitions {
  readonly named: Map<string, Expression>
  readonly ignored: Array<Expression>
}

const readImport = (cursor: Cursor, { named }: Definitions): void => {
  const found = take(cursor, imported)
  if (found === null) throw new Unsupported("an import of this kind")
  const [, module, single, renamed, list = ""] = found
  if (module !== "common") throw new Unsupported(`imports of ${module}`)
  for (const one of single === undefined ? list.split(",").map((each) => each.trim()) : [single]) {
    if (!commonNamed.has(one)) throw new Unsupported(`the terminal ${one} of ${module}`)
    named.set(renamed ?? one, terminal(renamed ?? one, commonPattern({ name: one })))
  }
}

const readStatement = (cursor: Cursor, definitions: Definitions): void => {
  const { at } = cursor
  const defined = take(cursor, definition)
  if (defined !== null) {
    const [, rule = ""] = defined
    if (definitions.named.has(rule)) throw new Broken(`${rule} is defined twice`)
    definitions.named.set(rule, readChoice(cursor, 0))
    return
  }
  if (take(cursor, otherDefinition) !== null) throw new Unsupported("templates and attributes")
  const told = take(cursor, directive)?.[1]
  if (told === "ignore") {
    definitions.ignored.push(readChoice(cursor, 0))
  } else if (told === "import") {
    cursor.at = at
    readImport(cursor, definitions)
  } else if (told !== undefined) throw new Unsupported(`%${told}`)
  else {
    take(cursor, name)
    throw misplaced(cursor, "a definition")
  }
}

const readDefinitions = (source: string, namesLines = true): Definitions => {
  const cursor: Cursor = { source, at: 0, flags: "" }
  const definitions: Definitions = { named: new Map(), ignored: [] }
  try {
    for (take(cursor, skipped); cursor.at < source.length; take(cursor, skipped))
      readStatement(cursor, definitions)
  } catch (error) {
    if (!(error instanceof Broken) || !namesLines) throw error
    throw new Broken(`${error.message}, in line ${source.slice(0, cursor.at).split("\n").length}`)
  }
  return definitions
}

const commonNamed = readDefinitions(common, false).named
const commonPattern = terminalsOf(commonNamed)

/** Throws if the grammar is invalid, or uses a feature that is not supported. */
export const readLark = (source: string): Grammar => {
  const { ignored, named } = readDefinitions(source)
  if (!named.has("start")) throw new Broken("it has no rule `start`")
  const patternOf = terminalsOf(named)
  const patterns = ignored.map(patternOf)
  return {
    start: "start",
    rules: productionsOf(named, patternOf),
    ignored: patterns.length === 0 ? null : { type: "choice", options: patterns }
  }
}
