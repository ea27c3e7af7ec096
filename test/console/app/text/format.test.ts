import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import {
  formatDay,
  formatNumber,
  formatRelative,
  formatUtc
} from "../../../../src/console/app/text/format.ts"

const at = (millis: number) => DateTime.makeUnsafe(millis)
const now = Date.UTC(2026, 1, 28, 12)
const minute = 60_000
const hour = 60 * minute

describe("Times and numbers of the pages", () => {
  it("a number has separators of thousands", () => {
    assert.strictEqual(formatNumber(1_234_567), "1,234,567")
  })

  it("a calendar day keeps its date in every time zone", () => {
    assert.strictEqual(formatDay("2026-02-28"), "Feb 28")
  })

  it("a time in UTC says so", () => {
    assert.match(formatUtc(at(now)), /^Feb 28, 2026, 12:00.PM UTC$/)
  })

  it.each([
    [0, "in less than a minute"],
    [-1, "just now"],
    [59_999, "in less than a minute"],
    [minute, "in 1 minute"],
    [-minute, "1 minute ago"],
    [hour - 1, "in 59 minutes"],
    [hour, "in 1 hour"],
    [24 * hour - 1, "in 23 hours"],
    [24 * hour, "tomorrow"],
    [-24 * hour, "yesterday"],
    [72 * hour, "in 3 days"]
  ])("a time %i milliseconds away reads “%s”", (millis, text) => {
    assert.strictEqual(formatRelative(at(now + millis), now), text)
  })
})
