import { assert, describe, it } from "@effect/vitest"
import type { ModelMessage, ToolCall } from "../../src/domain/ModelCall.ts"
import { withServersIds } from "../../src/providers/SentMessages.ts"

const call = (id: string, callId?: string): ToolCall => ({
  id,
  name: "calc",
  arguments: "{}",
  ...(callId === undefined ? {} : { opaque: { origin: "o", data: "", callId } })
})

const round = (...calls: ReadonlyArray<ToolCall>): ReadonlyArray<ModelMessage> => [
  { role: "assistant", text: "", toolCalls: calls },
  ...calls.map(({ id, name }): ModelMessage => ({ role: "tool", callId: id, name, text: "5" }))
]

/** The ids of the calls, and those of their results. */
const idsIn = (messages: ReadonlyArray<ModelMessage>) => [
  messages.flatMap((message) => (message.role === "assistant" ? message.toolCalls.map(({ id }) => id) : [])),
  messages.flatMap((message) => (message.role === "tool" ? [message.callId] : []))
]

describe("the ids of calls", () => {
  it.each<readonly [name: string, messages: ReadonlyArray<ModelMessage>, ids: ReadonlyArray<string>]>([
    ["are those of their server", round(call("a", "x"), call("b", "y")), ["x", "y"]],
    ["stay if another model made the call", round(call("a"), call("b", "y")), ["a", "y"]],
    [
      "are those of their server for the first of several calls with the same id",
      [...round(call("a", "call_0")), ...round(call("b", "call_0")), ...round(call("c", "z"))],
      ["call_0", "b", "z"]
    ],
    ["stay if another call has the id", [...round(call("a", "b")), ...round(call("b"))], ["a", "b"]],
    ["stay if the server has the same ids", round(call("a", "a")), ["a"]]
  ])("the ids of calls %s", (_, messages, ids) => {
    assert.deepStrictEqual(idsIn(withServersIds(messages)), [ids, ids])
  })
})
