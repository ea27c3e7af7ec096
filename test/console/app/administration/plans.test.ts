import { assert, describe, it } from "@effect/vitest"
import { planFacts } from "../../../../src/console/app/pages/administration/plans/terms.ts"
import { formatBytes } from "../../../../src/domain/formatBytes.ts"

const factsOf = (terms: Parameters<typeof planFacts>[0]) =>
  Object.fromEntries(planFacts(terms).map(({ label, value }) => [label, value]))

describe("the terms of a plan", () => {
  it("factsOf distinguishes terms without a limit from terms that permit nothing", () => {
    assert.deepInclude(factsOf({}), { Models: "All", "Tokens per day": "As the settings say" })
    assert.deepInclude(factsOf({ models: [], tokens: { daily: null, monthly: 0 } }), {
      Models: "None",
      "Tokens per day": "No limit",
      "Tokens per month": "0"
    })
    assert.deepInclude(factsOf({ models: ["a*", "b"], storage: { bytes: 1_500_000 } }), {
      Models: "a*, b",
      "Bytes of files": "1.5 MB"
    })
  })
})

describe("a number of bytes", () => {
  it("formatBytes uses the largest unit of which there is at least one", () => {
    assert.deepStrictEqual([0, 1, 999, 1_000, 2_500_000, 3e12, 7e15].map(formatBytes), [
      "0 bytes",
      "1 byte",
      "999 bytes",
      "1 kB",
      "2.5 MB",
      "3 TB",
      "7,000 TB"
    ])
  })
})
