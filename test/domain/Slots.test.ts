import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Slots } from "../../src/domain/Slots.ts"

/** An item is added, or one of those that are there is removed. */
const Steps = Schema.Array(Schema.Union([Schema.Literal("add"), Schema.Int]))

describe("Slots", () => {
  it.prop("have what was added and not removed, like a set", [Steps], ([steps]) => {
    const slots = new Slots<object>()
    const set = new Set<object>()
    const added: Array<{ readonly slot: number; readonly item: object }> = []
    for (const step of steps) {
      if (step === "add") {
        const item = {}
        set.add(item)
        added.push({ slot: slots.add(item), item })
      } else if (added.length > 0) {
        const one = added[Math.abs(step) % added.length]
        if (one === undefined) continue
        set.delete(one.item)
        slots.remove(one.slot, one.item)
      }
    }
    assert.deepStrictEqual(new Set(slots), set)
    assert.lengthOf([...slots], set.size)
  })

  it("use the slot of an item that was removed, of which a second removal takes nothing", () => {
    const slots = new Slots<object>()
    const [first, second] = [{}, {}]
    const slot = slots.add(first)
    slots.remove(slot, first)
    assert.strictEqual(slots.add(second), slot)
    slots.remove(slot, first)
    assert.deepStrictEqual([...slots], [second])
  })
})
