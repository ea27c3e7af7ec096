import type { Decimal } from "decimal.js"
import { Effect, Result, Schema } from "effect"
import { Evaluation, ExpressionError } from "./calculator/Expression.ts"
import { isExact } from "./calculator/Functions.ts"
import { defineTool, ToolFailed } from "./Tool.ts"

/**
 * Significant digits that are shown, and decimal places that are shown of an exact number whose whole part is
 * longer.
 */
const [shownDigits, shownPlaces] = [34, 10]

/**
 * Plain digits; a power of ten (1.5e40) where they would end, or begin after the point, in a long row of
 * zeros.
 */
const numberText = (value: Decimal): string => {
  const digits = isExact(value) ? Math.max(shownDigits, value.e + 1 + shownPlaces) : shownDigits
  const shown = value.toSignificantDigits(digits)
  const isLong = shown.e >= shownDigits && shown.sd() <= shownDigits
  return isLong || shown.e < -20 ? shown.toExponential().replace("e+", "e") : shown.toFixed()
}

/** Returns the value of an expression: a number, "true" or "false". Ends soon, whatever the expression is. */
export const calculate = (expression: string): Result.Result<string, ExpressionError> => {
  try {
    const value = new Evaluation(expression).result()
    return Result.succeed(typeof value === "boolean" ? `${value}` : numberText(value))
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
