import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { calculate } from "../../../src/tools/Calculator.ts"
import {
  isRightTo34Digits,
  minus,
  order,
  over,
  plus,
  type Rational,
  rational,
  rationalOf,
  times
} from "./Rational.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** A decimal number: digits, and how many of them stand behind the point. */
const Operand = Schema.Struct({ digits: between(-99_999, 99_999), places: between(0, 4) })

const textOf = ({ digits, places }: typeof Operand.Type): string => {
  const padded = `${Math.abs(digits)}`.padStart(places + 1, "0")
  const split = padded.length - places
  return `${digits < 0 ? "-" : ""}${padded.slice(0, split)}${places > 0 ? "." : ""}${padded.slice(split)}`
}

const operators = {
  "+": plus,
  "-": minus,
  "*": times,
  "/": over
} as const

type Operator = keyof typeof operators
const OperatorName = Schema.Literals(["+", "-", "*", "/"])

const apply = (operator: Operator, left: Rational | null, right: Rational | null): Rational | null =>
  left === null || right === null ? null : operators[operator](left, right)

const assertWorth = (expression: string, truth: Rational | null): void => {
  const result = calculate(expression)
  if (truth === null) {
    assert.isTrue(Result.isFailure(result), expression)
    if (Result.isFailure(result)) assert.include(result.failure.message, "division by zero")
    return
  }
  if (Result.isFailure(result)) assert.fail(`${expression}: ${result.failure.message}`)
  assert.isTrue(
    isRightTo34Digits(rationalOf(result.success), truth),
    `${expression} is not ${result.success}`
  )
}

const valueOf = (expression: string): string => Result.getOrThrow(calculate(expression))

const Steps = Schema.Array(Schema.Struct({ operand: Operand, operator: OperatorName })).check(
  Schema.isMinLength(1),
  Schema.isMaxLength(8)
)

describe("arithmetic, beside fractions of big integers", () => {
  it.prop("an operation returns its result", [Operand, OperatorName, Operand], ([left, operator, right]) => {
    const truth = apply(operator, rationalOf(textOf(left)), rationalOf(textOf(right)))
    assertWorth(`${textOf(left)} ${operator} ${textOf(right)}`, truth)
  })

  it.prop(
    "the result of sums, differences and products is exact to the last digit",
    [Operand, Operand],
    ([left, right]) => {
      for (const operator of ["+", "-", "*"] as const) {
        const result = rationalOf(valueOf(`${textOf(left)}${operator}(${textOf(right)})`))
        const truth = operators[operator](rationalOf(textOf(left)), rationalOf(textOf(right)))
        assert.strictEqual(order(result, truth), 0)
      }
    }
  )

  it.prop(
    "the result of nested parentheses is right",
    [Steps, Schema.Array(Schema.Boolean)],
    ([steps, sides]) => {
      let expression = "1"
      let truth: Rational | null = rational(1n)
      for (const [index, { operand, operator }] of steps.entries()) {
        const text = textOf(operand)
        const isLeft = sides[index] ?? false
        expression = isLeft ? `(${text} ${operator} ${expression})` : `(${expression} ${operator} ${text})`
        const value = rationalOf(text)
        truth = isLeft ? apply(operator, value, truth) : apply(operator, truth, value)
      }
      assertWorth(expression, truth)
    }
  )

  it.prop("an expression without parentheses multiplies and divides first", [Steps], ([steps]) => {
    let expression = "1"
    let sum: Rational | null = rational(0n)
    let sign: "+" | "-" = "+"
    let product: Rational | null = rational(1n)
    for (const { operand, operator } of steps) {
      expression += ` ${operator} ${textOf(operand)}`
      const value = rationalOf(textOf(operand))
      if (operator === "*" || operator === "/") {
        product = apply(operator, product, value)
      } else {
        sum = apply(sign, sum, product)
        sign = operator
        product = value
      }
    }
    assertWorth(expression, apply(sign, sum, product))
  })

  it.prop(
    "a power is exact for whole exponents",
    [between(-999, 999), between(0, 300)],
    ([base, exponent]) => {
      assert.strictEqual(
        order(rationalOf(valueOf(`(${base})^${exponent}`)), rational(BigInt(base) ** BigInt(exponent))),
        0
      )
    }
  )

  it.prop(
    "a power is right for decimals and negative exponents",
    [Operand, between(-40, 40)],
    ([operand, exponent]) => {
      const base = rationalOf(textOf(operand))
      const power = BigInt(Math.abs(exponent))
      const raised = rational(base.above ** power, base.below ** power)
      assertWorth(`(${textOf(operand)})^${exponent}`, exponent < 0 ? over(rational(1n), raised) : raised)
    }
  )

  it.prop("a remainder has the sign of the divisor", [Operand, Operand], ([left, right]) => {
    const [value, divisor] = [rationalOf(textOf(left)), rationalOf(textOf(right))]
    const quotient = over(value, divisor)
    const floor =
      quotient &&
      (quotient.above - (((quotient.above % quotient.below) + quotient.below) % quotient.below)) /
        quotient.below
    assertWorth(
      `${textOf(left)} mod ${textOf(right)}`,
      floor === null ? null : minus(value, times(divisor, rational(floor)))
    )
  })

  it.prop("a percentage is what people mean", [Operand, between(0, 500)], ([operand, percent]) => {
    const [text, value] = [textOf(operand), rationalOf(textOf(operand))]
    assertWorth(`${percent}% of ${text}`, times(value, rational(BigInt(percent), 100n)))
    assertWorth(`${text} + ${percent}%`, times(value, rational(BigInt(100 + percent), 100n)))
    assertWorth(`${text} - ${percent}%`, times(value, rational(BigInt(100 - percent), 100n)))
  })

  it.prop("a comparison is exact", [Operand, Operand, Schema.Boolean], ([left, other, isSame]) => {
    const right = isSame && left.places < 4 ? { digits: left.digits * 10, places: left.places + 1 } : other
    const ordered = order(rationalOf(textOf(left)), rationalOf(textOf(right)))
    const claims = {
      "=": ordered === 0,
      "!=": ordered !== 0,
      "<": ordered < 0,
      "<=": ordered <= 0,
      ">": ordered > 0,
      ">=": ordered >= 0
    }
    for (const [sign, truth] of Object.entries(claims)) {
      assert.strictEqual(valueOf(`${textOf(left)} ${sign} ${textOf(right)}`), `${truth}`)
    }
  })

  it.prop("a comparison tolerates rounded quotients", [between(1, 999), between(1, 999)], ([left, right]) => {
    assert.strictEqual(valueOf(`${left} / ${right} * ${right} = ${left}`), "true")
    assert.strictEqual(valueOf(`${left} / ${right} - ${left} / ${right}`), "0")
    assert.strictEqual(valueOf(`floor(${left} / ${right} * ${right})`), `${left}`)
  })

  it.prop("a number may have thousands commas", [between(0, 2_000_000_000)], ([number]) => {
    assert.strictEqual(valueOf(number.toLocaleString("en-US")), `${number}`)
    assert.strictEqual(valueOf(`abs(${number.toLocaleString("en-US")})`), `${number}`)
  })

  it.prop("the text of a result is worth the same as its value", [Steps], ([steps]) => {
    const result = calculate(
      `1 ${steps.map(({ operand, operator }) => `${operator} ${textOf(operand)}`).join(" ")}`
    )
    if (Result.isSuccess(result)) assert.strictEqual(valueOf(result.success), result.success)
  })
})

describe("whole numbers, beside big integers", () => {
  const factorialOf = (count: number): bigint => {
    let product = 1n
    for (let factor = 1; factor <= count; factor++) product *= BigInt(factor)
    return product
  }
  const Count = between(0, 200)
  const assertWhole = (expression: string, truth: bigint) =>
    assert.strictEqual(order(rationalOf(valueOf(expression)), rational(truth)), 0, expression)

  it.prop("factorials and choices are exact", [Count, Count], ([all, some]) => {
    assertWhole(`${all}!`, factorialOf(all))
    const ordered = some > all ? 0n : factorialOf(all) / factorialOf(all - some)
    assertWhole(`nPr(${all}, ${some})`, ordered)
    assertWhole(`nCr(${all}, ${some})`, ordered / factorialOf(some))
  })

  it.prop(
    "gcd divides, lcm is divided, and nothing greater or smaller is",
    [between(1, 400), between(1, 400)],
    ([left, right]) => {
      const divisors = Array.from({ length: left }, (_, index) => index + 1)
      const greatest = divisors.findLast((divisor) => left % divisor === 0 && right % divisor === 0)!
      assertWhole(`gcd(${left}, ${right})`, BigInt(greatest))
      assertWhole(`lcm(-${left}, ${right})`, BigInt((left * right) / greatest))
    }
  )
})

describe("functions, beside those of the machine", () => {
  const any: (thousandths: number) => number = (thousandths) => thousandths / 1000
  const aboveZero = (thousandths: number) => (Math.abs(thousandths) + 1) / 1000
  const ratio = (thousandths: number) => thousandths / 30_000
  const cases: ReadonlyArray<
    readonly [call: (x: string) => string, of: (x: number) => number, domain: (thousandths: number) => number]
  > = [
    [(x) => `sqrt(${x})`, Math.sqrt, aboveZero],
    [(x) => `√${x}`, Math.sqrt, aboveZero],
    [(x) => `cbrt(${x})`, Math.cbrt, any],
    [(x) => `abs(${x})`, Math.abs, any],
    [(x) => `sign(${x})`, Math.sign, any],
    [(x) => `floor(${x})`, Math.floor, any],
    [(x) => `ceil(${x})`, Math.ceil, any],
    [(x) => `trunc(${x})`, Math.trunc, any],
    [(x) => `exp(${x})`, Math.exp, any],
    [(x) => `e^${x}`, Math.exp, any],
    [(x) => `ln(${x})`, Math.log, aboveZero],
    [(x) => `log(${x})`, Math.log10, aboveZero],
    [(x) => `log10(${x})`, Math.log10, aboveZero],
    [(x) => `log2(${x})`, Math.log2, aboveZero],
    [(x) => `log(${x}, 3)`, (x) => Math.log(x) / Math.log(3), aboveZero],
    [(x) => `${x}^1.7`, (x) => x ** 1.7, aboveZero],
    [(x) => `sin(${x})`, Math.sin, any],
    [(x) => `cos(${x})`, Math.cos, any],
    [(x) => `sin(${x} deg)`, (x) => Math.sin((x * Math.PI) / 180), any],
    [(x) => `cos(${x}°)`, (x) => Math.cos((x * Math.PI) / 180), any],
    [(x) => `tan(${x} rad)`, Math.tan, ratio],
    [(x) => `asin(${x})`, Math.asin, ratio],
    [(x) => `acos(${x})`, Math.acos, ratio],
    [(x) => `degrees(atan(${x}))`, (x) => (Math.atan(x) * 180) / Math.PI, any],
    [(x) => `atan2(${x}, -2)`, (x) => Math.atan2(x, -2), any],
    [(x) => `radians(${x})`, (x) => (x * Math.PI) / 180, any],
    [(x) => `sinh(${x})`, Math.sinh, any],
    [(x) => `cosh(${x})`, Math.cosh, any],
    [(x) => `tanh(${x})`, Math.tanh, any],
    [(x) => `hypot(${x}, 3, 4)`, (x) => Math.hypot(x, 3, 4), any],
    [(x) => `max(${x}, 1)`, (x) => Math.max(x, 1), any],
    [(x) => `min(1, ${x})`, (x) => Math.min(x, 1), any],
    [(x) => `mean(${x}, 1, 5)`, (x) => (x + 6) / 3, any],
    [(x) => `median(9, ${x}, -9)`, (x) => Math.max(-9, Math.min(9, x)), any]
  ]

  it.prop(
    "functions agree with those of the machine as far as doubles reach",
    [between(-30_000, 30_000)],
    ([thousandths]) => {
      for (const [call, of, domain] of cases) {
        const x = domain(thousandths)
        const expression = call(x < 1e-6 && x > -1e-6 ? x.toFixed(20) : `${x}`)
        const truth = of(x)
        const result = Number(valueOf(expression))
        const tolerance = 1e-11 * Math.max(1, Math.abs(truth))
        assert.approximately(result, truth, tolerance, expression)
      }
    },
    { arbitrary: { runs: 30 } }
  )
})

describe("any expression", () => {
  const pieces = Schema.Literals([
    "1",
    "9",
    "10",
    "0.5",
    "1,234",
    "1e9",
    "0xff",
    "pi",
    "e",
    "+",
    "-",
    "*",
    "/",
    "^",
    "**",
    "%",
    " % ",
    "!",
    "²",
    "°",
    " deg",
    "√",
    "(",
    ")",
    ",",
    ", ",
    "=",
    "<",
    " of ",
    " mod ",
    "sin(",
    "ln(",
    "max(",
    "round(",
    "nCr(",
    "log(",
    "x",
    "#",
    ".",
    " ",
    "😀"
  ])

  it.prop(
    "any expression has a value or an error with its position",
    [Schema.Array(pieces).check(Schema.isMaxLength(14))],
    ([parts]) => {
      const expression = parts.join("")
      const result = calculate(expression)
      if (Result.isSuccess(result)) {
        assert.match(result.success, /^(true|false|-?\d+(\.\d*[1-9])?(e-?\d+)?)$/)
        return
      }
      const { message, position } = result.failure
      assert.isAtLeast(position, 1, expression)
      assert.isAtMost(position, expression.length + 1, expression)
      assert.isTrue(message.startsWith(`Position ${position}: `), message)
      assert.isAtMost(message.length, 1_000)
    },
    { arbitrary: { runs: 1_000 } }
  )
})
