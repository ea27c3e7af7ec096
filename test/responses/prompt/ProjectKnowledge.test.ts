import { assert, describe, it } from "@effect/vitest"
import type { StoredTurn, InputMessage } from "../../../src/domain/Conversation.ts"
import { FileId, ItemId, ResponseId } from "../../../src/domain/Ids.ts"
import { searchQuery } from "../../../src/responses/prompt/ProjectKnowledge.ts"

const uuid = "019845e1-682f-4b02-a706-3b2422d13aec"
const user = (text: string): InputMessage => ({
  id: ItemId.make(uuid),
  type: "message",
  role: "user",
  content: [
    { type: "input_text", text },
    { type: "input_file", file_id: FileId.make(uuid) }
  ]
})
const turn = (text: string): StoredTurn => ({
  position: 0,
  responseId: ResponseId.make(uuid),
  input: [user(text)],
  output: [],
  promptTokens: 1
})
const before = [turn("How long is the warranty of the pump?"), turn("Who repairs it?")]

describe("searchQuery", () => {
  it("searchQuery reads both ends of a long message, where a question may stand", () => {
    const pasted = "Dear colleagues, this is a mail. ".repeat(300)
    for (const text of [`What is the lead time? ${pasted}`, `${pasted}What is the lead time?`]) {
      const query = searchQuery([user(text)], [])
      assert.include(query, "What is the lead time?")
      assert.isBelow(query.length, 4_100)
    }
  })

  it.each([
    "What does the warranty of the compressor cover?",
    "notice period employees",
    "Wie lange gilt die Garantie der Pumpe?",
    "水泵的保修期是多久"
  ])("the search query is the message if it says enough: %s", (text) => {
    assert.strictEqual(searchQuery([user(text)], before), text)
  })

  it.each(["And the second one?", "why?", "What about it?", "Und das andere?", "et celui-ci ?", "12?"])(
    "the search query contains earlier questions if the message is vague: %s",
    (text) => {
      assert.strictEqual(
        searchQuery([user(text)], before),
        `How long is the warranty of the pump?\nWho repairs it?\n${text}`
      )
    }
  )

  it("the search query is the message if there are no earlier messages", () => {
    assert.strictEqual(searchQuery([user("why?")], []), "why?")
  })

  it("the search query contains a bounded part of each message", () => {
    assert.isAtMost(searchQuery([user("word number ".repeat(10_000))], []).length, 4_001)
  })
})
