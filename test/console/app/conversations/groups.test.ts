import { assert, describe, it } from "@effect/vitest"
import { makeGroupOf, rowsOf } from "../../../../src/console/app/pages/conversations/list/groups.ts"
import { ConversationId } from "../../../../src/domain/Ids.ts"

const now = new Date(2026, 2, 10, 15, 30).getTime()
const groupOf = makeGroupOf(now)
const at = (...parts: [number, number, number, number?]) => new Date(...parts).getTime()

describe("The groups of conversations", () => {
  it("the groups of conversations are days, then months, by the time of the last use", () => {
    assert.strictEqual(groupOf(at(2026, 2, 10, 0)), "Today")
    assert.strictEqual(groupOf(at(2026, 2, 9, 23)), "Yesterday")
    assert.strictEqual(groupOf(at(2026, 2, 9, 0)), "Yesterday")
    assert.strictEqual(groupOf(at(2026, 2, 8, 23)), "Previous 7 days")
    assert.strictEqual(groupOf(at(2026, 2, 2, 12)), "March")
    assert.strictEqual(groupOf(at(2026, 0, 31)), "January")
    assert.strictEqual(groupOf(at(2025, 11, 31)), "December 2025")
  })

  it("the groups of conversations have a heading each", () => {
    const conversation = (updated_at: number, n: number) => ({
      id: ConversationId.make(`01a2094d-d1d4-7183-b54c-00000000000${n}`),
      object: "conversation" as const,
      title: null,
      project_id: null,
      hidden: false,
      turn_count: 1,
      created_at: 0,
      updated_at
    })
    const rows = rowsOf(
      [conversation(at(2026, 2, 10), 1), conversation(at(2026, 2, 10), 2), conversation(0, 3)],
      now
    )
    assert.deepStrictEqual(
      rows.map((row) => (row.kind === "heading" ? row.text : row.conversation.id.at(-1))),
      ["Today", "1", "2", "January 1970", "3"]
    )
  })
})
