import { assert, describe, it } from "@effect/vitest"
import { shortLine } from "../../src/telemetry/LogLines.ts"

const line = (message: string, annotations: Readonly<Record<string, unknown>>, level = "INFO") =>
  shortLine({ timestamp: "2026-02-28T12:34:56.789Z", level, message, annotations })

describe("a log line for a terminal", () => {
  it("a terminal's log line says what was asked, how it ended and how long it took", () => {
    const request = {
      requestId: "a",
      method: "POST",
      route: "/v1/responses",
      status: 200,
      durationMillis: 1_234
    }
    assert.strictEqual(
      line("request", { ...request, outcome: "completed", model: "small", inputTokens: 12, outputTokens: 5 }),
      "12:34:56  POST  /v1/responses  200  1.2 s  small  12 + 5 tokens"
    )
    assert.strictEqual(
      line("request", {
        requestId: "a",
        method: "GET",
        status: 404,
        durationMillis: 3,
        outcome: "refused",
        errorCode: "route_not_found"
      }),
      "12:34:56  GET  (no such path)  404  0.00 s  refused  route_not_found"
    )
  })

  it("a terminal's log line has the level of everything but information, and all details", () => {
    assert.strictEqual(
      line("The disk is nearly full.", { freeBytes: 5, path: "/data" }, "WARN"),
      "12:34:56  WARN  The disk is nearly full.  freeBytes=5  path=/data"
    )
  })

  it("a terminal's log line has no character that steers the terminal", () => {
    assert.strictEqual(line("a\u001b[2Jb", {}), "12:34:56  a\u{fffd}[2Jb")
  })
})
