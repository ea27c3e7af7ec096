import { assert, describe, it } from "@effect/vitest"
import type { StoredItem } from "../../../src/domain/Conversation.ts"
import { ItemId } from "../../../src/domain/Ids.ts"
import type { ModelMessage } from "../../../src/domain/ModelCall.ts"
import { linkCalls } from "../../../src/responses/prompt/LinkedCalls.ts"
import { messagesOf } from "../../../src/responses/prompt/PromptMessages.ts"

const idOf = (number: number) => ItemId.make(`00000000-0000-7000-8000-${String(number).padStart(12, "0")}`)

const reasoning = (number: number, text: string): StoredItem => ({
  id: idOf(number),
  type: "reasoning",
  status: "completed",
  text,
  opaque: { origin: "a server", data: text }
})

const call = (number: number): StoredItem => ({
  id: idOf(number),
  type: "function_call",
  status: "completed",
  call_id: `call_${number}`,
  name: "weather",
  arguments: "{}",
  round: idOf(2)
})

const result = (number: number, of: number): StoredItem => ({
  id: idOf(number),
  type: "function_call_output",
  status: "completed",
  call_id: `call_${of}`,
  output: `result ${of}`
})

const message = (number: number, role: "user" | "assistant", text: string): StoredItem => ({
  id: idOf(number),
  type: "message",
  role,
  content: [{ type: "input_text", text }]
})

/** The contents of the messages, in their order. */
const shown = (messages: ReadonlyArray<ModelMessage>) =>
  messages.flatMap((one) => {
    if (one.role !== "assistant") return [`${one.role} ${one.text}`]
    return [
      ...(one.reasoning ?? []).map(({ text }) => text),
      ...(one.text === "" ? [] : [one.text]),
      ...one.toolCalls.flatMap((made) => [...(made.reasoning ?? []).map(({ text }) => text), "call"])
    ]
  })

const messagesOfTurns = (turns: ReadonlyArray<ReadonlyArray<StoredItem>>) =>
  linkCalls(turns).flatMap((turn) => messagesOf(turn, true, () => ""))

describe("linkCalls", () => {
  it("linkCalls keeps the reasoning of each call directly before it in the turn of its result", () => {
    const first = [message(1, "user", "hi"), reasoning(2, "first"), call(3), reasoning(4, "second"), call(5)]
    const second = [result(6, 5), result(7, 3)]
    assert.deepStrictEqual(shown(messagesOfTurns([first, second])), [
      "user hi",
      "first",
      "call",
      "second",
      "call",
      "tool result 3",
      "tool result 5"
    ])
  })

  it("linkCalls leaves the reasoning before a text with the text", () => {
    const first = [message(1, "user", "hi"), reasoning(2, "first"), message(3, "assistant", "text"), call(4)]
    const [earlier, later] = linkCalls([first, [result(5, 4)]]).map(({ items }) =>
      items.map(({ type }) => type)
    )
    assert.deepStrictEqual(earlier, ["message", "reasoning", "message"])
    assert.deepStrictEqual(later, ["mcp_call"])
  })

  it("linkCalls moves a round as a whole, with the service's own and unanswered calls", () => {
    const own: StoredItem = {
      id: idOf(3),
      type: "mcp_call",
      status: "completed",
      server_label: "builtin",
      name: "calculator",
      arguments: "{}",
      output: "5",
      error: null,
      approval_request_id: null,
      round: idOf(2)
    }
    const first = [
      message(1, "user", "hi"),
      reasoning(2, "first"),
      own,
      call(4),
      reasoning(5, "second"),
      call(6)
    ]
    assert.deepStrictEqual(shown(messagesOfTurns([first, [result(7, 6)]])), [
      "user hi",
      "first",
      "call",
      "call",
      "second",
      "call",
      "tool 5",
      "tool Error: The result of this call is not known.",
      "tool result 6"
    ])
    assert.strictEqual(linkCalls([first])[0]?.items.length, first.length)
  })

  it("linkCalls gives the reasoning of a call with two results to the first of the turns", () => {
    const first = [message(1, "user", "hi"), reasoning(2, "first"), call(3)]
    const turns = linkCalls([first, [result(4, 3)], [result(5, 3)]])
    assert.deepStrictEqual(
      turns.map(({ items }) => items.map(({ type }) => type)),
      [["message"], ["reasoning", "mcp_call"], ["mcp_call"]]
    )
  })

  it("linkCalls leaves out a call that was cut, unless the client answers it", () => {
    const cut: StoredItem = { ...call(2), status: "failed" }
    const asked = message(1, "user", "hi")
    assert.deepStrictEqual(shown(messagesOfTurns([[asked, cut], [message(3, "user", "so?")]])), [
      "user hi",
      "user so?"
    ])
    assert.deepStrictEqual(shown(messagesOfTurns([[asked, cut], [result(3, 2)]])), [
      "user hi",
      "call",
      "tool result 2"
    ])
  })

  it("linkCalls puts texts behind and between calls before them, with all results behind", () => {
    const turn = [
      message(1, "user", "hi"),
      call(2),
      message(3, "assistant", "between"),
      call(4),
      message(5, "assistant", "behind"),
      result(6, 2),
      result(7, 4),
      message(8, "assistant", "done")
    ]
    assert.deepStrictEqual(shown(messagesOfTurns([turn])), [
      "user hi",
      "between",
      "behind",
      "call",
      "call",
      "tool result 2",
      "tool result 4",
      "done"
    ])
  })
})
