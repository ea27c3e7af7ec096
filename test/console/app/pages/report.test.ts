import { assert, describe, it } from "@effect/vitest"
import {
  cachedShareOf,
  everyDay,
  lastDays,
  nameOf,
  type Report,
  reportCsv,
  type ReportLine
} from "../../../../src/console/app/pages/usage/report.ts"

const sums = {
  requests: 2,
  completed: 1,
  tokenizer_counted: 0,
  input_tokens: 30,
  cached_input_tokens: 12,
  cache_write_input_tokens: 6,
  output_tokens: 12,
  reasoning_tokens: 4,
  tool_calls: 1,
  latency_millis: 1_500
}

const line = (label: string, key: ReportLine["key"] = null): ReportLine => ({ label, ...sums, key })

const report = (data: ReadonlyArray<ReportLine>): Report => ({
  since: "2026-02-26",
  until: "2026-03-01",
  days: 4,
  data,
  total: sums
})

describe("A usage report", () => {
  it("a usage report of the last 7 days includes today", () => {
    const now = Date.UTC(2026, 2, 1, 23, 59)
    assert.deepStrictEqual(lastDays(7, now), { since: "2026-02-23", until: "2026-03-01" })
  })

  it("a usage report has every day of its period, also those without a request", () => {
    assert.deepStrictEqual(
      everyDay(report([line("2026-02-28")])).map(({ day, inputTokens, outputTokens }) => [
        day,
        inputTokens,
        outputTokens
      ]),
      [
        ["2026-02-26", 0, 0],
        ["2026-02-27", 0, 0],
        ["2026-02-28", 30, 12],
        ["2026-03-01", 0, 0]
      ]
    )
  })

  it("a usage report names a key by its name and its last characters", () => {
    const key = { name: "Scripts", hint: "wxyz", owner: "user@example.com" }
    assert.strictEqual(nameOf("key", line("id", key)), "Scripts …wxyz")
    assert.strictEqual(nameOf("model", line("some-model")), "some-model")
  })

  it("a usage report has the share of the input that was read from caches, where there is input", () => {
    assert.strictEqual(cachedShareOf(sums), 0.4)
    assert.isNull(cachedShareOf({ input_tokens: 0, cached_input_tokens: 0 }))
  })

  it("a usage report as CSV has one line for each of its lines, and no formula from a name", () => {
    const key = { name: "=1+1", hint: "wxyz", owner: "user@example.com" }
    assert.strictEqual(
      reportCsv("key", report([line("id", key)])),
      "key_id,key_name,key_hint,requests,completed,input_tokens,output_tokens,tool_calls,latency_millis," +
        "cached_input_tokens,cache_write_input_tokens,reasoning_tokens\r\n" +
        'id,"\'=1+1",wxyz,2,1,30,12,1,1500,12,6,4\r\n'
    )
  })
})
