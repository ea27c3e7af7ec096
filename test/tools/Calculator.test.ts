import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { calculate, calculator } from "../../src/tools/Calculator.ts"

const messageOf = (expression: string): string =>
  Result.match(calculate(expression), {
    onSuccess: (value) => assert.fail(`${expression} is ${value}`),
    onFailure: ({ message }) => message
  })

const valueOf = (expression: string): string =>
  Result.match(calculate(expression), {
    onSuccess: (value) => value,
    onFailure: ({ message }) => assert.fail(`${expression}: ${message}`)
  })

describe("calculate", () => {
  const values: ReadonlyArray<readonly [expression: string, value: string]> = [
    ["12345*6789", "83810205"],
    ["0.1 + 0.2", "0.3"],
    ["0.1 + 0.2 == 0.3", "true"],
    ["(1/3 + 1/6 = 1/2)", "true"],
    ["10^40 + 1 != 10^40", "true"],
    ["5!=120", "true"],
    ["2 ≤ 1", "false"],
    // Ranks of operators.
    ["2 + 3 × 4 − 6 ÷ 2", "11"],
    ["2^3^2", "512"],
    ["2**10", "1024"],
    ["-2^2", "-4"],
    ["2^-2", "0.25"],
    ["2 * -3", "-6"],
    ["-3!", "-6"],
    ["-3²", "-9"],
    ["10⁻²", "0.01"],
    ["2³^2", "64"],
    ["√9 * 4", "12"],
    ["∛-27", "-3"],
    ["0^0", "1"],
    ["-0", "0"],
    // Percent.
    ["12.5% of 8,431", "1053.875"],
    ["200 + 10%", "220"],
    ["200 - 10% - 5%", "171"],
    ["200 + (10%)", "200.1"],
    ["200 + -10%", "180"],
    ["10% + 5% + 2%", "0.17"],
    ["200 * 15%", "30"],
    ["10%", "0.1"],
    ["10% - 5", "-4.9"],
    ["20 + 10% of 50", "25"],
    ["1000 * (1 + 5%)^3", "1157.625"],
    // Modulo.
    ["17 % 5", "2"],
    ["-7 % 3", "2"],
    ["7 mod -3", "-2"],
    ["5.5 % (1 + 1)", "1.5"],
    ["1 mod 0.1", "0"],
    ["mod(10^40, 7)", "4"],
    // Numbers.
    [".5 + 5. + 1_000", "1005.5"],
    ["0xFF + 0b101 + 0o17", "275"],
    ["1.5e-3", "0.0015"],
    ["6.02e23", "602000000000000000000000"],
    // Commas.
    ["gcd(12,144)", "12"],
    ["sqrt(1,764)", "42"],
    ["mean(100,200,300)", "200"],
    ["max(1, 234)", "234"],
    ["max((1,234), 5)", "1234"],
    ["round(8,431.55, 1)", "8431.6"],
    ["pow(2,100)", "1267650600228229401496703205376"],
    // Angles.
    ["sin(30 deg)", "0.5"],
    ["cos(60°) = 1/2", "true"],
    ["tan(45 degrees)", "1"],
    ["sin(pi)", "0"],
    ["degrees(acos(-1))", "180"],
    ["sin(1 rad) = sin(1)", "true"],
    ["cos(tau * 10^30)", "1"],
    // Functions.
    ["SQRT(16) + Pi - π", "4"],
    ["sqrt(2)^2 - 2", "0"],
    ["sqrt(2^400) = 2^200", "true"],
    ["cbrt(10^300) = 10^100", "true"],
    ["cbrt(7^500) = 7^166 * cbrt(49)", "true"],
    ["√(3^830) - 3^415", "0"],
    ["√(3^2000)", "1.322070819480806636890455259752144e477"],
    ["(-8)^3", "-512"],
    ["floor(log2(8)) + floor(log(1000)) + floor(log(3^5, 3))", "11"],
    ["ln(e^2)", "2"],
    ["ln(1 / 3 * 3)", "0"],
    ["acos(1 / 3 * 3)", "0"],
    ["round(2.5) + round(-2.5) + round(2.345, 2)", "2.35"],
    ["round(12345, -2)", "12300"],
    ["median(3, 1, 2, 10)", "2.5"],
    ["sum(1)", "1"],
    ["tanh(1000)", "1"],
    ["tanh(-1e900)", "-1"],
    ["gcd(-12, 18) + lcm(-4, 6)", "18"],
    ["(10^250 + 7) mod 1000", "7"],
    ["average(1, 2) = avg(1, 2)", "true"],
    ["phi^2 - phi", "1"],
    // The format of numbers.
    ["1/3", "0.3333333333333333333333333333333333"],
    ["2/3", "0.6666666666666666666666666666666667"],
    ["1/8", "0.125"],
    ["pi", "3.141592653589793238462643383279503"],
    ["2^200", "1606938044258990275541962092341162602522202993782792835301376"],
    ["2^200 + 0.5", "1606938044258990275541962092341162602522202993782792835301376.5"],
    ["10^33", "1000000000000000000000000000000000"],
    ["10^34", "1e34"],
    ["10^20 / 3", "33333333333333333333.33333333333333"],
    ["exp(100)", "2.688117141816135448412625551580014e43"],
    ["1e-20", "0.00000000000000000001"],
    ["1.5e-21", "1.5e-21"],
    ["100! / 98!", "9900"],
    ["2^1000 / 2^999", "2"],
    ["(1 + 1e-20)^1e20", "2.718281828459045235346696062210367"]
  ]
  for (const [expression, value] of values) {
    it(`${expression} is ${value}`, () => assert.strictEqual(valueOf(expression), value))
  }

  it("calculate keeps every digit of large whole numbers", () => {
    let product = 1n
    for (let factor = 1n; factor <= 449n; factor++) product *= factor
    assert.strictEqual(valueOf("449!"), `${product}`)
    assert.strictEqual(valueOf("7^1000"), `${7n ** 1000n}`)
    assert.strictEqual(valueOf("7^1000 / 7^300"), `${7n ** 700n}`)
    assert.strictEqual(valueOf("√(3^800)"), `${3n ** 400n}`)
  })

  const errors: ReadonlyArray<readonly [expression: string, position: number, about: string]> = [
    ["", 1, "found the end"],
    ["1 +", 4, "expected a number, a function or an opening parenthesis, found the end"],
    ["1 + * 2", 5, 'found "*"'],
    ["2/0", 2, "division by zero"],
    ["1 + 5 mod 0", 7, "division by zero"],
    ["0^-1", 2, "division by zero"],
    ["2pi", 2, 'found "pi": a multiplication is always written'],
    ["2(3)", 2, "a multiplication is always written"],
    ["(1)(2)", 4, "a multiplication is always written"],
    ["1 000", 3, 'found "000"'],
    ["3 x 4", 3, 'found "x"'],
    ["(1 + 2", 7, 'the ")" for the "(" at position 1'],
    ["1)", 2, "closes nothing"],
    ["1 < 2 < 3", 7, "one comparison"],
    ["(1 < 2) + 1", 1, "true or false"],
    ["wurzel(2)", 1, 'there is no "wurzel"; the functions are sqrt'],
    ["constructor", 1, "there is no"],
    ["sqrt 9", 6, 'expected "(" after sqrt'],
    ["sqrt()", 6, "expected a number"],
    ["2 * pow(2)", 5, "pow takes 2 arguments, not 1"],
    ["round(1, 2, 3)", 1, "round takes 1 to 2 arguments, not 3"],
    ["max(1, 2", 9, 'a comma or the ")" of max'],
    ["1,00", 2, "a comma stands between"],
    ["0,500", 2, "a comma stands between"],
    ["8.431,5", 6, "a comma stands between"],
    ["round(8,431)", 7, "could be one number or several arguments"],
    ["max(5, 1,234)", 8, "could be one number or several arguments"],
    ["$5", 1, 'the character "$"'],
    ["1 😀", 3, 'the character "😀"'],
    ["5!!", 3, "double factorial"],
    ["0.5!", 4, "whole numbers only"],
    ["(-1)!", 5, "no negative numbers"],
    ["gcd(1.5, 2)", 1, "whole numbers only"],
    ["sqrt(-1)", 1, "no real number"],
    ["√-1", 1, "no real number"],
    ["(-8)^(1/3)", 5, "no real power"],
    ["1 + ln(0)", 5, "above 0 only"],
    ["log(8, 1)", 1, "no logarithm to the base of 1"],
    ["acos(2)", 1, "from -1 to 1"],
    ["tan(90°)", 1, "not defined"],
    ["round(1, 0.5)", 1, "a whole number of decimal places"],
    ["of 6", 1, 'found "of"']
  ]
  for (const [expression, position, about] of errors) {
    it(`${JSON.stringify(expression)} is refused at ${position}`, () => {
      const message = messageOf(expression)
      assert.isTrue(message.startsWith(`Position ${position}: `), message)
      assert.include(message, about)
    })
  }
})

describe("the limits of calculate", () => {
  const tooLarge = "too large"
  const cases: ReadonlyArray<readonly [name: string, expression: string, position: number, about: string]> = [
    ["towers of powers", "9^9^9^9", 4, tooLarge],
    ["large factorials", "10000!", 6, tooLarge],
    ["factorials of what is large itself", "(10^900)!", 9, tooLarge],
    ["the first factorial beyond", "450!", 4, tooLarge],
    ["large literals", "1e999999999", 1, tooLarge],
    ["literals beyond all exponents", "1e99999999999999999999", 1, tooLarge],
    ["small literals", "1e-999999999", 1, "too close to zero"],
    ["long literals", `0.${"7".repeat(1_001)}`, 1, "at most 1000 digits"],
    ["long hexadecimal literals", `0x${"f".repeat(3_000)}`, 1, "at most 1000 digits"],
    ["growth by products", "1e600 * 1e600", 7, tooLarge],
    ["growth by sums", "9e999 + 1e999", 7, tooLarge],
    ["shrinking by products", "1e-600 * 1e-600", 8, "too close to zero"],
    ["powers close to zero", "10^-1001", 3, "too close to zero"],
    ["powers with huge exponents", "1.5^1e900", 4, tooLarge],
    ["fractions of huge exponents", "2^(10^17 + 0.5)", 2, tooLarge],
    ["exponentials", "exp(10^900)", 1, tooLarge],
    ["exponentials close to zero", "exp(-10^900)", 1, "too close to zero"],
    ["hyperbolic functions", "cosh(-99999)", 1, tooLarge],
    ["choices", "nCr(10^900, 10^899)", 1, tooLarge],
    ["ordered choices", "nPr(10^900, 10^899)", 1, tooLarge],
    ["multiples", "lcm(10^600 + 1, 10^600 + 3)", 1, tooLarge],
    ["large angles", "sin(1e101)", 1, "angle is too large"],
    ["parentheses", `${"(".repeat(2_000)}1${")".repeat(1_999)}`, 101, "nested too deeply"],
    ["signs", `${"-".repeat(3_999)}1`, 101, "nested too deeply"],
    ["roots of roots", `${"√".repeat(3_999)}2`, 101, "nested too deeply"],
    ["powers of powers", `1${"^1".repeat(1_999)}`, 202, "nested too deeply"],
    ["calls in calls", `${"abs(".repeat(999)}1`, 401, "nested too deeply"],
    ["long expressions", "1+".repeat(2_001), 4_001, "longer than 4000 characters"],
    ["much work", `${"ln(2)+".repeat(600)}1`, 283, "too much work"],
    ["much work in one call", `hypot(${"2, ".repeat(250)}2)`, 1, "too much work"]
  ]
  for (const [name, expression, position, about] of cases) {
    it(`the limits of calculate end ${name}`, () => {
      const message = messageOf(expression)
      assert.include(message, about)
      assert.isTrue(message.startsWith(`Position ${position}: `), message)
    })
  }

  it("calculate accepts expressions just within its limits", () => {
    assert.strictEqual(valueOf(`${"(".repeat(100)}1${")".repeat(100)}`), "1")
    assert.strictEqual(valueOf(`sum(${"1, ".repeat(900)}1)`), "901")
    assert.strictEqual(valueOf(`1e999 / 1e999`), "1")
    assert.strictEqual(valueOf(`${"7".repeat(1_000)} - ${"7".repeat(1_000)} + 1e-1000`), "1e-1000")
    assert.strictEqual(valueOf("1^(10^900)"), "1")
    assert.strictEqual(valueOf("10^-1000"), "1e-1000")
    assert.strictEqual(valueOf("sin(1e100) < 1"), "true")
    // With so many digits, its sine would ask the library for more digits of pi than it has.
    assert.strictEqual(valueOf(`cos(${"0."}${"7".repeat(1_000)}) < 1`), "true")
    assert.strictEqual(valueOf("1e999 + 1e-999 = 1e999"), "true")
  })
})

describe("calculator", () => {
  it.effect("the calculator answers with the value alone", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* calculator.run({ expression: "12.5% of 8,431" }), { text: "1053.875" })
    })
  )

  it.effect("the calculator fails with the fault and its position", () =>
    Effect.gen(function* () {
      const failed = yield* Effect.flip(calculator.run({ expression: "1 / 0" }))
      assert.strictEqual(failed.message, "Position 3: division by zero.")
      assert.include((yield* Effect.flip(calculator.run({ expression: 7 }))).message, "expression")
      assert.include((yield* Effect.flip(calculator.run({}))).message, "expression")
    })
  )

  it("the calculator has a schema with its name and its argument", () => {
    assert.strictEqual(calculator.spec.name, "calculator")
    assert.deepNestedInclude(calculator.spec.parameters, {
      type: "object",
      "properties.expression.type": "string",
      "required[0]": "expression"
    })
  })
})
