import { assert, describe, it } from "@effect/vitest"
import { bend, lineOf, type ScaleSample, scaleTable } from "../../scripts/bench/scaleReport.ts"

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

describe("The benchmark of scale", () => {
  it("takes medians, per answer and per process", () => {
    const line = lineOf(2, 8, [
      sample({ seconds: 1 }),
      sample({ serviceCpuSeconds: 5 }),
      sample({ seconds: 50, serviceCpuSeconds: 40 })
    ])
    assert.strictEqual(line.answersPerSecond, 200)
    assert.strictEqual(line.perProcess, 100)
    assert.strictEqual(line.serviceMs, 5)
    assert.strictEqual(line.databaseMs, 1)
    assert.strictEqual(line.statements, 9)
    assert.strictEqual(line.transactionStatements, 4)
    assert.strictEqual(line.walBytes, 4096)
    assert.strictEqual(line.databaseBytes, 2048)
  })

  it("names what limits: a process, the machine with what others take of it, or waiting", () => {
    assert.strictEqual(lineOf(1, 8, [sample({})]).limit, "process")
    assert.strictEqual(lineOf(2, 8, [sample({})]).limit, "waiting")
    assert.strictEqual(lineOf(2, 2, [sample({})]).limit, "waiting")
    assert.strictEqual(lineOf(2, 2, [sample({ others: 0.35 })]).limit, "processors")
    assert.strictEqual(lineOf(2, 2, [sample({ loadCpuSeconds: 3.5 })]).limit, "processors")
  })

  it("leaves out what others disturbed, unless that is all there is", () => {
    const disturbed = sample({ seconds: 10, others: 0.5 })
    assert.strictEqual(lineOf(1, 8, [sample({}), disturbed, disturbed]).answersPerSecond, 200)
    assert.strictEqual(lineOf(1, 8, [disturbed]).answersPerSecond, 100)
  })

  it("says where the line bends, what limits there, and how the cost of an answer grows", () => {
    const straight = [lineOf(1, 8, [sample({})]), lineOf(2, 8, [sample({ answers: 1850 })])]
    assert.isNull(bend(straight))
    const bent = [...straight, lineOf(4, 8, [sample({ answers: 3000, serviceCpuSeconds: 18 })])]
    assert.strictEqual(bend(bent)?.processes, 4)
    const text = scaleTable("streams", bent)
    assert.include(text, "The line bends at 4, by its one thread.")
    assert.include(
      text,
      "With 4, an answer costs 15 % more processor time of service and database than with 1."
    )
    assert.include(text, "a process answers 222/s")
    assert.include(scaleTable("streams", straight), "The line is straight.")
  })
})
