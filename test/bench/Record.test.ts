import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { experiments } from "../../scripts/bench/figures.ts"
import {
  bestOf,
  judge,
  lineOf,
  readFiguresOfRecord,
  recordAfter,
  worseningMax,
  writeFiguresOfRecord
} from "../../scripts/bench/record.ts"
import { resultOf, type Result } from "../../scripts/bench/report.ts"
import { program } from "../../scripts/bench/rig.ts"
import { scratchDirectory } from "../support/ScratchDirectory.ts"

const figures = experiments.flatMap((experiment) => experiment.figures)
const result = (id: string, value: number, failure: string | null = null): Result => {
  const figure = figures.find((one) => one.id === id)
  if (figure === undefined) throw new Error(`no figure ${id}`)
  return resultOf({ figure, measured: [{ value }], reference: [{ value: 1 }], others: 0, failure })
}
const heldIds = (record: Record<string, number>, results: ReadonlyArray<Result>): ReadonlyArray<string> =>
  judge(record, results)
    .filter(({ held }) => held)
    .map(({ id }) => id)

describe("The figures of record", () => {
  it("allow a ratio up to 1.5 times the recorded one", () => {
    assert.strictEqual(worseningMax, 1.5)
    assert.deepStrictEqual(heldIds({ short: 2 }, [result("short", 1)]), ["short"])
    assert.deepStrictEqual(heldIds({ short: 2 }, [result("short", 3)]), ["short"])
    assert.deepStrictEqual(heldIds({ short: 2 }, [result("short", 3.01)]), [])
  })

  it("count a figure that failed or wasn't measured as worsened", () => {
    const record = { short: 2, long: 1, json: 4 }
    assert.deepStrictEqual(heldIds(record, [result("short", 1, "HTTP 500"), result("long", 1)]), ["long"])
  })

  it("forgive a worsened figure that holds when it is measured again, and no other", () => {
    const record = { short: 2, long: 1 }
    const first = judge(record, [result("short", 9), result("long", 9)])
    const again = judge(record, [result("short", 2), result("long", 8)])
    assert.deepStrictEqual(bestOf(first, again).map(lineOf), [
      "ok    short: 2.00 × raw, recorded 2.00, allowed 3.00",
      "FAIL  long: 9.00 × raw, recorded 1.00, allowed 1.50"
    ])
    const fine = judge(record, [result("short", 2), result("long", 1)])
    assert.deepStrictEqual(bestOf(fine, judge(record, [])), fine)
  })

  it("are recorded as ratios of three digits, and not from a run that failed", () => {
    const record = recordAfter({ json: 4, short: 9 }, [result("short", 1.23456)])
    assert.deepStrictEqual(record, { json: 4, short: 1.235 })
    assert.throws(() => recordAfter({}, [result("short", 1, "HTTP 500")]), /not recorded: short failed/)
  })

  it.effect("are kept in a file, and a damaged or missing one is an error", () =>
    Effect.gen(function* () {
      const file = join((yield* scratchDirectory).path, "record.json")
      assert.throws(() => readFiguresOfRecord(file))
      writeFiguresOfRecord(file, { short: 1.5 })
      assert.deepStrictEqual(readFiguresOfRecord(file), { short: 1.5 })
      writeFileSync(file, '{"short":-1}')
      assert.throws(() => readFiguresOfRecord(file))
    })
  )

  it("in the repository are of the figures that CI measures", () => {
    const ids = Object.keys(readFiguresOfRecord(program("figures-of-record.json")))
    assert.deepStrictEqual(ids, ["cpu-paced", "first", "short", "long", "json", "json-fold"])
  })
})
