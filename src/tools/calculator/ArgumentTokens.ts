import { refuse } from "./ExpressionError.ts"
import type { CalculatorFunction } from "./Functions.ts"
import type { Token } from "./Lexer.ts"

/** Where the call ends whose arguments begin at `start`: at its closing parenthesis, or where the tokens end. */
const endOf = (tokens: ReadonlyArray<Token>, start: number): number => {
  let depth = 1
  for (let index = start; index < tokens.length; index++) {
    if (tokens[index]?.meaning === "(") depth++
    if (tokens[index]?.meaning === ")" && --depth === 0) return index
  }
  return tokens.length
}

/** The tokens of a call that don't lie in parentheses of their own. */
const outermost = (tokens: ReadonlyArray<Token>): ReadonlyArray<Token> => {
  let depth = 0
  return tokens.filter(({ meaning }) => {
    if (meaning === "(") depth++
    else if (meaning === ")") depth--
    return depth === 0
  })
}

/**
 * The tokens with the numbers taken apart whose commas stand between arguments: `gcd(12,144)` has two arguments, `sqrt(8,431)`
 * has one. The number of arguments that the function takes decides; where it takes any number of them, commas separate. Refuses
 * what could mean both.
 */
export const argumentTokens = (
  tokens: ReadonlyArray<Token>,
  start: number,
  { argumentsMax, argumentsMin }: CalculatorFunction
): ReadonlyArray<Token> => {
  const end = endOf(tokens, start)
  const inside = outermost(tokens.slice(start, end))
  const grouped = inside.filter(({ apart }) => apart !== undefined)
  const [ambiguous] = grouped
  if (ambiguous === undefined) return tokens
  const commas = inside.filter(({ meaning }) => meaning === ",")
  const fits = (count: number) => count >= argumentsMin && count <= argumentsMax
  const fitsTogether = fits(commas.length + 1)
  const fitsApart = fits(
    grouped.reduce((count, token) => count + token.text.split(",").length - 1, commas.length + 1)
  )
  if (!fitsApart) return tokens
  const isSpaced = commas.some(({ isSpaceNext }) => isSpaceNext)
  if (fitsTogether && (argumentsMax !== Infinity || isSpaced)) {
    return refuse(
      ambiguous.at,
      `${JSON.stringify(ambiguous.text)} could be one number or several arguments: write numbers without commas here, and a space after each comma between arguments`
    )
  }
  const separated = new Set(grouped)
  return tokens.flatMap((token) => (separated.has(token) ? (token.apart ?? token) : token))
}
