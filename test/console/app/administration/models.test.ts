import { assert, describe, it } from "@effect/vitest"
import { explainPayload } from "../../../../src/console/app/pages/administration/models/explaining.ts"
import { modelState } from "../../../../src/console/app/pages/administration/models/modelRows.ts"
import { unknownHealth } from "../../../../src/domain/Model.ts"

describe("the state of a model", () => {
  it("the state of a model is unknown without recent requests, and shows failures", () => {
    const label = (health: Partial<typeof unknownHealth>) => modelState({ ...unknownHealth, ...health }).label
    assert.strictEqual(label({}), "No recent request")
    assert.strictEqual(label({ requests: 4 }), "Well")
    assert.strictEqual(label({ requests: 4, failures: 1 }), "Some requests failed")
    assert.strictEqual(label({ requests: 4, failures: 1, coolingDown: true }), "Cooling down")
  })
})

describe("a question why a model is chosen", () => {
  it("explainPayload leaves out what was left empty", () => {
    const empty = { text: "Hello", plan: "", documents: null, tools: "", max_output_tokens: null }
    assert.deepStrictEqual(explainPayload(empty), { text: "Hello" })
    assert.deepStrictEqual(
      explainPayload({ ...empty, plan: "gold", documents: 0, tools: "none", max_output_tokens: 10 }),
      { text: "Hello", plan: "gold", documents: 0, tools: false, max_output_tokens: 10 }
    )
  })
})
