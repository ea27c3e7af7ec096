import { assert, describe, it } from "@effect/vitest"
import { Words } from "../../../src/retrieval/analysis/Words.ts"

const wordsOf = (text: string) => new Words().of(text).map((word) => word.text)

describe("Words", () => {
  it("wordsOf ignores case and forms of characters", () => {
    assert.deepStrictEqual(wordsOf("Straße STRASSE ﬁne Ｆｕｌｌ"), ["strasse", "strasse", "fine", "full"])
    assert.deepStrictEqual(wordsOf("Cafe\u0301"), wordsOf("CAFÉ"))
  })

  it("wordsOf returns identifiers and paths whole and in parts", () => {
    assert.deepStrictEqual(wordsOf("maxOutputTokens"), ["maxoutputtokens", "max", "output", "tokens"])
    assert.deepStrictEqual(wordsOf("HTTPServer2"), ["httpserver2", "http", "server", "2"])
    assert.deepStrictEqual(wordsOf("max_output"), ["max_output", "max", "output"])
    assert.deepStrictEqual(wordsOf("src/Main.ts,"), ["src/main.ts", "src", "main", "ts"])
    assert.deepStrictEqual(wordsOf("E-1042"), ["e-1042", "e", "1042"])
    assert.deepStrictEqual(wordsOf("C++ and C#"), ["c++", "c", "and", "c#", "c"])
  })

  it("wordsOf divides words at hyphens and apostrophes", () => {
    assert.deepStrictEqual(wordsOf("well-known l’homme"), ["well", "known", "l", "homme"])
  })

  it("wordsOf reads numbers without their grouping", () => {
    assert.deepStrictEqual(wordsOf("1,234,567 and 3.5"), ["1234567", "and", "3.5", "3", "5"])
  })

  it("wordsOf finds words where there are no spaces", () => {
    assert.includeMembers(wordsOf("会议室须提前一天预订"), ["提前", "一天"])
    assert.includeMembers(wordsOf("พนักงานมีสิทธิ"), ["พนักงาน"])
    assert.includeMembers(wordsOf("使用Python软件"), ["使用", "python", "软件"])
    assert.deepStrictEqual(wordsOf("도서관에서"), ["도서", "서관", "관에", "에서"])
  })

  it("wordsOf finds nothing in a text without letters and digits", () => {
    assert.deepStrictEqual(wordsOf("?!… —— '\" \0 \u{1f600}"), [])
  })
})
