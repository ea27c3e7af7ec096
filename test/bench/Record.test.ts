import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { experiments } from "../../scripts/bench/figures.ts"
import { lineOf, ratiosOf, readFiguresOfRecord, worsened, worseningMax } from "../../scripts/bench/record.ts"
import { resultOf, type Result } from "../../scripts/bench/report.ts"
import { program } from "../../scripts/bench/rig.ts"
import { scratchDirectory } from "../support/ScratchDirectory.ts"

const figures = experiments.flatMap((experiment) => experiment.figures)
const result = (id: string, value: number, failure: string | null = null): Result => {
  const figure = figures.find((one) => one.id === id)
  if (figure === undefined) throw new Error(`no figure ${id}`)
  return resultOf({ figure, measured: [{ value }], reference: [{ value: 1 }], others: 0, failure })
}

describe("The figures of record", () => {
  it("the recorded figures allow a ratio up to 1.4 times the recorded one", () => {
    assert.strictEqual(worseningMax, 1.4)
    assert.deepStrictEqual(worsened({ short: 2 }, { short: 1 }), [])
    assert.deepStrictEqual(worsened({ short: 2 }, { short: 2.8 }), [])
    assert.deepStrictEqual(worsened({ short: 2 }, { short: 2.81 }), ["short"])
  })

  it("a figure that failed or wasn't measured counts as worsened", () => {
    const ratios = ratiosOf([result("short", 1, "HTTP 500"), result("long", 1)])
    assert.deepStrictEqual(worsened({ short: 2, long: 1, json: 4 }, ratios), ["short", "json"])
  })

  it("the figures of record are shown beside what was measured", () => {
    assert.strictEqual(
      lineOf("short", { short: 2 }, { short: 2 }),
      "ok    short: 2.00 × raw, recorded 2.00, allowed 2.80"
    )
    assert.strictEqual(
      lineOf("long", { long: 1 }, { long: 8 }),
      "FAIL  long: 8.00 × raw, recorded 1.00, allowed 1.40"
    )
  })

  it("the figures of record are ratios of three digits, without the gap between tokens", () => {
    assert.deepStrictEqual(ratiosOf([result("short", 1.23456), result("gap", 1)]), { short: 1.235 })
  })

  it.effect("the figures of record are read from a file, and a damaged or missing one is an error", () =>
    Effect.gen(function* () {
      const file = join((yield* scratchDirectory).path, "record.json")
      assert.throws(() => readFiguresOfRecord(file))
      writeFileSync(file, '{"short":1.5}')
      assert.deepStrictEqual(readFiguresOfRecord(file), { short: 1.5 })
      writeFileSync(file, '{"short":-1}')
      assert.throws(() => readFiguresOfRecord(file))
    })
  )

  it("the figures of record in the repository are those that CI measures", () => {
    const ids = Object.keys(readFiguresOfRecord(program("figures-of-record.json")))
    assert.deepStrictEqual(ids, ["cpu-paced", "first", "short", "long", "json", "json-fold"])
  })
})
