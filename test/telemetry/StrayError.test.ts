import { assert, describe, it } from "@effect/vitest"
import { traceOf } from "../../src/telemetry/StrayError.ts"

const throwing = (): never => {
  throw new Error("a getter throws")
}

describe("the trace of an error of others", () => {
  it("the trace of a foreign error has its name and its frames, and nothing of its message", () => {
    const trace = traceOf(new RangeError("sesame\n    at sesame (file:///sesame.js:1:1)"))
    assert.match(trace, /^RangeError\n\s+at .*StrayError\.test\.ts/)
    assert.notInclude(trace, "sesame")
  })

  it.each<readonly [string, unknown, string]>([
    ["a text", "sesame", "something that is no error"],
    ["nothing", undefined, "something that is no error"],
    ["a proxy that throws", new Proxy({}, { getPrototypeOf: throwing }), "an error that can't be read"],
    [
      "a stack that throws",
      Object.defineProperty(new Error("sesame"), "stack", { get: throwing }),
      "an error that can't be read"
    ],
    [
      "a name that quotes",
      Object.assign(new Error("no"), { name: "sesame, open", stack: "no stack" }),
      "Error"
    ]
  ])("the trace of a foreign error has no frames for %s", (_, error, shown) => {
    assert.strictEqual(traceOf(error), shown)
  })
})
