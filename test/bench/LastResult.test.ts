import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { changes, keepLast, lastAfter, readLast } from "../../scripts/bench/lastResult.ts"
import type { Result } from "../../scripts/bench/report.ts"
import { scratchDirectory } from "../support/ScratchDirectory.ts"

const result = (changed: Partial<Result>): Result => ({
  id: "json",
  title: "CPU per JSON request",
  unit: "ms",
  measured: 2,
  reference: 1,
  ratio: 2,
  ratioSpread: [2, 2],
  databaseCpu: null,
  others: 0,
  must: 6,
  aim: 3,
  bound: "ratio",
  verdict: "aim",
  failure: null,
  samples: { measured: [], reference: [] },
  ...changed
})
const start = result({ id: "start", title: "Cold start", unit: "s", measured: 0.5, ratio: Number.NaN })

describe("The last result of the benchmark", () => {
  it.effect("is kept in a file, and empty where that is missing or damaged", () =>
    Effect.gen(function* () {
      const file = join((yield* scratchDirectory).path, "results", "quick.json")
      assert.deepStrictEqual(readLast(file), {})
      keepLast(file, lastAfter({}, [result({}), start], "2026-01-01"))
      assert.deepStrictEqual(readLast(file), {
        json: { at: "2026-01-01", measured: 2, ratio: 2 },
        start: { at: "2026-01-01", measured: 0.5, ratio: null }
      })
      writeFileSync(file, "{")
      assert.deepStrictEqual(readLast(file), {})
    })
  )

  it("says how ratios changed, and values of figures without a reference", () => {
    const last = lastAfter({}, [result({}), start], "2026-01-01")
    assert.deepStrictEqual(changes(last, [result({ ratio: 3 }), { ...start, measured: 0.4 }]), [
      "CPU per JSON request: 2.00 → 3.00 × raw (+50%) since 2026-01-01",
      "Cold start: 0.50 → 0.40 s (-20%) since 2026-01-01"
    ])
    assert.deepStrictEqual(changes({}, [result({})]), [])
  })

  it("neither compares nor keeps what failed or was disturbed, and keeps what wasn't measured", () => {
    const last = lastAfter({}, [result({}), start], "2026-01-01")
    const bad = [result({ verdict: "disturbed", ratio: 9 }), result({ id: "start", verdict: "failed" })]
    assert.deepStrictEqual(changes(last, bad), [])
    assert.deepStrictEqual(lastAfter(last, bad, "2026-01-02"), last)
    assert.deepStrictEqual(lastAfter(last, [result({ ratio: 4 })], "2026-01-02"), {
      ...last,
      json: { at: "2026-01-02", measured: 2, ratio: 4 }
    })
  })
})
