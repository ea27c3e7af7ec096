import { assert, describe, it } from "@effect/vitest"
import { limitOf, type ScaleSample, scaleTable } from "../../scripts/bench/scaleReport.ts"

const sample = (changed: Partial<ScaleSample>): ScaleSample => ({
  answers: 1000,
  seconds: 5,
  serviceCpuSeconds: 4.5,
  databaseCpuSeconds: 1,
  loadCpuSeconds: 1.5,
  statements: 9000,
  transactionStatements: 4000,
  walBytes: 4_096_000,
  databaseBytes: 2_048_000,
  others: 0,
  ...changed
})

/** The cells of the only line, by the titles of the columns. */
const cellsOf = (
  processes: number,
  samples: ReadonlyArray<ScaleSample>
): Readonly<Record<string, string>> => {
  const [titles = [], cells = []] = scaleTable([{ processes, samples }], 8)
    .split("\n")
    .map((line) => line.trim().split(/ {2,}/))
  return Object.fromEntries(titles.map((title, n) => [title, cells[n] ?? ""]))
}
const limit = (processes: number, processors: number, changed: Partial<ScaleSample>): string =>
  limitOf({ processes, samples: [sample(changed)] }, processors)

describe("The benchmark of scale", () => {
  it("the benchmark of scale shows medians, per answer and per process", () => {
    const samples = [
      sample({ seconds: 1 }),
      sample({ serviceCpuSeconds: 5 }),
      sample({ seconds: 50, serviceCpuSeconds: 40 })
    ]
    assert.deepStrictEqual(cellsOf(2, samples), {
      processes: "2",
      "answers/s": "200",
      "per process": "100",
      "CPU ms: service": "5.00",
      database: "1.00",
      load: "1.50",
      statements: "9.0",
      "BEGIN, COMMIT": "4.0",
      "WAL KiB": "4.0",
      "stored KiB": "2.0",
      "busy: process": "0.50",
      machine: "1.50",
      others: "0.00",
      limit: "waiting: commits, locks, the load"
    })
  })

  it("the benchmark of scale names what limits: a process, the machine with what others take of it, or waiting", () => {
    assert.strictEqual(limit(1, 8, {}), "its one thread")
    assert.strictEqual(limit(2, 8, {}), "waiting: commits, locks, the load")
    assert.strictEqual(limit(2, 2, {}), "waiting: commits, locks, the load")
    assert.strictEqual(limit(2, 2, { others: 0.35 }), "the processors of the machine")
    assert.strictEqual(limit(2, 2, { loadCpuSeconds: 3.5 }), "the processors of the machine")
  })

  it("the benchmark of scale leaves out what others disturbed, unless that is all there is", () => {
    const disturbed = sample({ seconds: 10, others: 0.5 })
    assert.strictEqual(cellsOf(1, [sample({}), disturbed, disturbed])["answers/s"], "200")
    assert.strictEqual(cellsOf(1, [disturbed])["answers/s"], "100")
  })
})
