import { assert, describe, it } from "@effect/vitest"
import { failed, ok } from "../../src/admin/Outcome.ts"

describe("the detail of a check", () => {
  it("the detail of a check is one line, whatever the text", () => {
    assert.strictEqual(ok("All is well.").detail, "All is well.")
    assert.strictEqual(
      failed("The file can't be used:\n  plans.free: Expected a number\r\n\n  plans.gold: Missing key\n")
        .detail,
      "The file can't be used: plans.free: Expected a number; plans.gold: Missing key"
    )
    assert.strictEqual(failed("One thing.\n- Another.").detail, "One thing. Another.")
  })
})
