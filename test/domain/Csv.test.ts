import { assert, describe, it } from "@effect/vitest"
import { csvOf } from "../../src/domain/Csv.ts"

describe("csvOf", () => {
  it("csvOf writes a heading and one line for each row, and an empty cell for null", () => {
    assert.strictEqual(
      csvOf(
        ["day", "tokens", "key"],
        [
          ["2026-02-28", 12, null],
          ["2026-03-01", 0, "laptop"]
        ]
      ),
      "day,tokens,key\r\n2026-02-28,12,\r\n2026-03-01,0,laptop\r\n"
    )
  })

  it("csvOf quotes what would end a cell or a line", () => {
    assert.strictEqual(csvOf(["a"], [['say "a, b"\nc']]), 'a\r\n"say ""a, b""\nc"\r\n')
  })

  it("csvOf puts an apostrophe before every text that a spreadsheet would compute", () => {
    for (const text of ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "|calc", "＝1+1"]) {
      const [, line = ""] = csvOf(["name"], [[text]]).split(/(?<=name)\r\n/)
      assert.isTrue(/^"?'/.test(line), JSON.stringify(line))
    }
  })

  it("csvOf leaves negative numbers alone", () => {
    assert.strictEqual(csvOf(["n"], [[-1.5]]), "n\r\n-1.5\r\n")
  })
})
