import { refuse } from "./ExpressionError.ts"

/** A word or sign of an expression. `at` is where it begins, counted from 0; `text` is as it was written. */
export interface Token {
  readonly kind: "number" | "name" | "superscript" | "sign" | "end"
  readonly text: string
  readonly at: number
  /** What is meant: digits without separators, a name in small letters, one sign for all that mean the same. */
  readonly meaning: string
  readonly isSpaceNext: boolean
  /** A number with thousands commas, read as several numbers between commas. */
  readonly apart?: ReadonlyArray<Token>
}

const numberPattern =
  /0x[0-9a-f]+|0b[01]+|0o[0-7]+|(?:[1-9]\d{0,2}(?:,\d{3})+(?!\d)|\d+(?:_\d+)*)(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?/iy
const namePattern = /\p{L}[\p{L}\d_]*/uy
const superscriptPattern = /⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+/y
const signPattern = /\*\*|==|!=|<=|>=|[-+*/%^!(),=<>×·⋅∙÷∕−–≤≥≠°√∛]/y
const spacePattern = /\s*/y

const meanings: Readonly<Record<string, string>> = {
  "**": "^",
  "×": "*",
  "·": "*",
  "⋅": "*",
  "∙": "*",
  "÷": "/",
  "∕": "/",
  "−": "-",
  "–": "-",
  "==": "=",
  "≠": "!=",
  "≤": "<=",
  "≥": ">="
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹"

const patterns = [
  { kind: "number", pattern: numberPattern, meaningOf: (text: string) => text.replaceAll(/[,_]/g, "") },
  { kind: "name", pattern: namePattern, meaningOf: (text: string) => text.toLowerCase() },
  {
    kind: "superscript",
    pattern: superscriptPattern,
    meaningOf: (text: string) =>
      text.replace("⁻", "-").replaceAll(/[^-]/g, (at) => `${superscripts.indexOf(at)}`)
  },
  { kind: "sign", pattern: signPattern, meaningOf: (text: string) => meanings[text] ?? text }
] as const

/** The text that the pattern finds exactly there; empty when it finds none. */
const matchAt = (pattern: RegExp, text: string, at: number): string => {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ""
}

/** "1,234.5" as the tokens 1 , 234.5. */
const takeApart = (token: Token): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  let at = token.at
  for (const text of token.text.split(",")) {
    if (tokens.length > 0) {
      tokens.push({ kind: "sign", text: ",", meaning: ",", at: at - 1, isSpaceNext: false })
    }
    tokens.push({ kind: "number", text, meaning: text, at, isSpaceNext: false })
    at += text.length + 1
  }
  return tokens
}

const tokenAt = (text: string, at: number): Token => {
  for (const { kind, meaningOf, pattern } of patterns) {
    const found = matchAt(pattern, text, at)
    if (found === "") continue
    const end = at + found.length
    const isSpaceNext = matchAt(spacePattern, text, end) !== ""
    const token: Token = { kind, text: found, at, meaning: meaningOf(found), isSpaceNext }
    return kind === "number" && found.includes(",") ? { ...token, apart: takeApart(token) } : token
  }
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0)
  return refuse(at, `the calculator doesn't know the character ${JSON.stringify(character)}`)
}

/** The tokens of an expression. The last is of kind "end". */
export const tokensOf = (text: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  let at = matchAt(spacePattern, text, 0).length
  while (at < text.length) {
    const token = tokenAt(text, at)
    tokens.push(token)
    at += token.text.length
    at += matchAt(spacePattern, text, at).length
  }
  return [...tokens, { kind: "end", text: "", meaning: "", at, isSpaceNext: false }]
}
