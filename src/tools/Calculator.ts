import { Effect, Result, Schema } from "effect"
import { ExpressionError, refuse } from "./calculator/ExpressionError.ts"
import { evaluate } from "./calculator/Evaluator.ts"
import { numberText } from "./calculator/NumberText.ts"
import { parse } from "./calculator/Parser.ts"
import { defineTool, ToolFailed } from "./Tool.ts"

const expressionCharactersMax = 4_000

const resultOf = (expression: string): string => {
  if (expression.length > expressionCharactersMax) {
    return refuse(
      expressionCharactersMax,
      `the expression is longer than ${expressionCharactersMax} characters`
    )
  }
  const value = evaluate(parse(expression))
  return typeof value === "boolean" ? `${value}` : numberText(value)
}

/** What an expression is worth, as text: a number, "true" or "false". Ends soon, whatever the expression is. */
export const calculate = (expression: string): Result.Result<string, ExpressionError> => {
  try {
    return Result.succeed(resultOf(expression))
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    return Result.fail(error)
  }
}

const description = `Calculates exactly, with decimal numbers: 0.1 + 0.2 = 0.3 is true. Use it for every calculation.
Operators: + - * / ^ (powers, from right to left) ! (factorial) and parentheses; × ÷ − ² √ work too. Multiplication is always written: 2 * pi, not 2pi.
Percent: 12.5% of 8,431; 200 + 10% is 220 and 200 - 10% is 180; otherwise 10% is 0.1. Modulo: 17 % 5 or 17 mod 5, with the sign of the divisor.
Functions: sqrt cbrt abs sign floor ceil trunc round(x, places) min max sum mean median exp ln log(x, base) log2 log10 pow(x, y) mod gcd lcm factorial nCr(n, k) nPr(n, k) hypot sin cos tan asin acos atan atan2(y, x) sinh cosh tanh degrees radians. log(x) is to the base of 10.
Angles are radians; degrees as sin(30 deg) or sin(30°), and degrees(asin(0.5)) gives 30. Constants: pi e tau phi.
Comparisons (= != < <= > >=) give true or false. Numbers: 8,431.50, 1.5e-3, 0xff, 0b101. Write a space after a comma between arguments.
Whole numbers are exact up to 1,000 digits; what can't be written exactly is rounded to 34 digits.`

export const calculator = defineTool({
  name: "calculator",
  description,
  parameters: Schema.Struct({
    expression: Schema.String.annotate({
      description: "One expression, such as 12.5% of 8,431 or sqrt(2) * 3^4."
    })
  }),
  run: ({ expression }) =>
    Effect.suspend(() => Effect.fromResult(calculate(expression))).pipe(
      Effect.map((text) => ({ text })),
      Effect.mapError(({ message }) => new ToolFailed({ message }))
    )
})
