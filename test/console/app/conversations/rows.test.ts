import { assert, describe, it } from "@effect/vitest"
import type { ConversationList, ConversationObject } from "../../../../src/api/ConversationObject.ts"
import { mergedPage, rowsOfPages } from "../../../../src/console/app/pages/conversations/list/rows.ts"
import { ConversationId } from "../../../../src/domain/Ids.ts"

const conversation = (n: number, updated_at: number): ConversationObject => ({
  id: ConversationId.make(`0190f000-0000-7000-8000-${String(n).padStart(12, "0")}`),
  object: "conversation",
  title: `Conversation ${n}`,
  created_at: 0,
  updated_at,
  hidden: false,
  project_id: null,
  turn_count: 1
})

const page = (...data: ReadonlyArray<ConversationObject>): ConversationList => ({
  object: "list",
  data,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null,
  has_more: true
})

const titles = (rows: ReadonlyArray<ConversationObject>) => rows.map(({ title }) => title)

describe("The rows of the list of conversations", () => {
  it("rowsOfPages has a conversation once that was used while pages were read", () => {
    const rows = rowsOfPages([page(conversation(1, 9), conversation(2, 8)), page(conversation(1, 3)), page()])
    assert.deepStrictEqual(rows, [conversation(1, 9), conversation(2, 8)])
  })

  it("mergedPage keeps the conversations that newer ones have moved out of the first page", () => {
    const old = page(conversation(3, 3), conversation(2, 2), conversation(1, 1))
    const fresh = page(conversation(2, 5), conversation(4, 4), conversation(3, 3))
    const merged = mergedPage(old, fresh)
    assert.deepStrictEqual(titles(merged.data), [
      "Conversation 2",
      "Conversation 4",
      "Conversation 3",
      "Conversation 1"
    ])
    assert.strictEqual(merged.last_id, old.last_id)
  })

  it("mergedPage leaves out conversations that were deleted elsewhere", () => {
    const old = page(conversation(3, 3), conversation(2, 2))
    const fresh = page(conversation(3, 3), conversation(1, 1))
    assert.deepStrictEqual(titles(mergedPage(old, fresh).data), ["Conversation 3", "Conversation 1"])
  })
})
