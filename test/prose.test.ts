import { assert, describe, it } from "@effect/vitest"
import { checkCode, checkPage, countedOf, type Finding, type Rule } from "../scripts/check-prose.ts"
import { isHanging } from "../scripts/prose/TestTitles.ts"

const linesOf = (rule: Rule, text: string, path = "test/a.test.ts"): ReadonlyArray<number> =>
  checkCode(path, text)
    .findings.filter((finding) => finding.rule === rule)
    .map(({ line }) => line)

describe("comments", () => {
  it("a comment that begins with a word such as whether is a fragment", () => {
    const text = [
      "/** Whether it holds. */",
      "const a = 1 // for later",
      "/**",
      " * Of the user.",
      " */",
      "// As it was,",
      "// as ever.",
      "const b = () => {",
      "  // What it does",
      "}"
    ].join("\n")
    assert.deepStrictEqual(linesOf("fragment", text), [1, 2, 3, 6, 9])
    assert.strictEqual(checkCode("test/a.test.ts", text).comments, 5)
  })

  it("a comment that begins with its subject or verb is no fragment", () => {
    const text = [
      "/** True where it holds. */",
      "// Format: one line.",
      "// for lines after the first, the block counts once",
      "const a = 1 // the asset"
    ].join("\n")
    assert.deepStrictEqual(linesOf("fragment", text), [])
    assert.strictEqual(checkCode("test/a.test.ts", text).comments, 3)
  })

  it("slashes in texts, templates and regular expressions begin no comment", () => {
    const text = [
      'const a = ["https://of.example", `// for ${b} // what`, /[/]/, "/* of"]',
      "const b = `${a /* of these */}`",
      "const c = a / 2 // by two"
    ].join("\n")
    assert.deepStrictEqual(linesOf("fragment", text), [2, 3])
    assert.strictEqual(checkCode("test/a.test.ts", text).comments, 2)
  })
})

describe("test titles", () => {
  it.each([
    "is not known where the header is cut off",
    "Returns null for a truncated header",
    "of a newer version are not touched",
    "and its session has ended, the next one begins",
    "creates, lists and deletes keys",
    "doesn't wait",
    "never waits",
    "imageSize"
  ])("the check refuses the title %j", (title) => {
    assert.isTrue(isHanging(title))
  })

  it.each([
    "imageSize returns null for a truncated header",
    "a queue of jobs does every job once",
    "keys expire",
    "%s is refused",
    "$name answers",
    "GET /v1/models lists the models"
  ])("the check accepts the title %j", (title) => {
    assert.isFalse(isHanging(title))
  })

  it("titles are found in every form of a test, and in tests only", () => {
    const text = [
      'it("returns null", f)',
      'test("returns null", f)',
      'it.effect("returns null", f)',
      "it.effect.each(cases)(`returns ${a}`, f)",
      'it.skipIf(a)("returns null", f)',
      "it(`${a} returns null`, f)",
      'describe("returns null", f)',
      'other.test("returns null")'
    ].join("\n")
    assert.deepStrictEqual(linesOf("title", text), [1, 2, 3, 4, 5])
    assert.deepStrictEqual(linesOf("title", text, "src/a.ts"), [])
  })
})

describe("the lengths of lines", () => {
  const long = `${"word ".repeat(22)}words`

  it("a line of a comment has at most 110 characters", () => {
    const text = [
      `// ${long.slice(0, 107)}`,
      "a()",
      `/** ${long} */`,
      "/**",
      ` * ${long}`,
      " */",
      "b()",
      `// oxlint-disable-next-line no-console -- ${long}`,
      `// https://example.com/${"a".repeat(200)}`
    ].join("\n")
    assert.deepStrictEqual(linesOf("line length", text), [3, 5])
  })

  it("a line of a page has at most 110 characters, except for tables, links and code", () => {
    const page = [
      long,
      `| ${long} |`,
      "```sh",
      long,
      "```",
      `<!-- before: ${long}`,
      long,
      "-->",
      `[a link](https://example.com/${"a".repeat(200)})`,
      `- ${long}`
    ].join("\n")
    assert.deepStrictEqual(
      checkPage("docs/a.md", page).map(({ line }) => line),
      [1, 10]
    )
  })
})

describe("findings", () => {
  const finding = (rule: Rule): Finding => ({ path: "src/usage/Usage.ts", rule, line: 1 })
  const fragments = Array.from({ length: 5 }, () => finding("fragment"))

  it("fragments count once they are more than 4 % of all comments, and other findings count always", () => {
    const title = finding("title")
    assert.deepStrictEqual(countedOf([...fragments, title], 125), [title])
    assert.deepStrictEqual(countedOf([...fragments, title], 124), [...fragments, title])
  })
})
