import { assert, describe, it } from "@effect/vitest"
import { UserId } from "../../src/domain/Ids.ts"
import { makeUsualOutput } from "../../src/usage/Admission.ts"
import { randomUUID } from "node:crypto"

const user = () => UserId.make(randomUUID())

describe("makeUsualOutput", () => {
  it("is what three of four recent answers of the user stay within", () => {
    const usual = makeUsualOutput()
    const [alice, bob] = [user(), user()]
    for (const tokens of [3_000, 500, 700, 600]) usual.note(alice, tokens)
    assert.strictEqual(usual.of(alice), 700)
    assert.strictEqual(usual.of(bob), 1_024)
  })

  it("follows the newest answers, within bounds", () => {
    const usual = makeUsualOutput()
    const alice = user()
    for (let n = 0; n < 50; n++) usual.note(alice, 50_000)
    assert.strictEqual(usual.of(alice), 4_096)
    for (let n = 0; n < 16; n++) usual.note(alice, 3)
    assert.strictEqual(usual.of(alice), 256)
  })
})
