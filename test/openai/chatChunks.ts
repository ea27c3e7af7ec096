import { assert } from "@effect/vitest"
import { Schema } from "effect"
import { ChatChunk, type ChatCompletion } from "../../src/api/openai/ChatCompletion.ts"

type Call = NonNullable<ChatCompletion["choices"][number]["message"]["tool_calls"]>[number]

/** The answer that the chunks of a whole stream add up to. Checks their grammar. */
export const foldChunks = (chunks: ReadonlyArray<ChatChunk>) => {
  const [first] = chunks
  assert.deepStrictEqual(first?.choices[0]?.delta, { role: "assistant", content: "" })
  let content: string | null = null
  let thoughts = ""
  let refusal = ""
  const calls: Array<Call> = []
  let finish: ChatCompletion["choices"][number]["finish_reason"] | null = null
  for (const chunk of chunks) {
    assert.strictEqual(chunk.id, first?.id)
    const [choice] = chunk.choices
    if (choice === undefined) continue
    assert.isNull(finish, "nothing follows the finish but the usage")
    finish = choice.finish_reason
    if (chunk !== first && choice.delta.content != null) content = (content ?? "") + choice.delta.content
    thoughts += choice.delta.reasoning_content ?? ""
    refusal += choice.delta.refusal ?? ""
    for (const { custom, function: called, id, index } of choice.delta.tool_calls ?? []) {
      if (id !== undefined) assert.strictEqual(index, calls.length)
      const call = calls[index]
      if (called !== undefined) {
        assert.isTrue(id !== undefined || call?.type === "function")
        const { name, arguments: args } =
          call?.type === "function" ? call.function : { name: called.name ?? "", arguments: "" }
        calls[index] = {
          id: id ?? call?.id ?? "",
          type: "function",
          function: { name, arguments: args + called.arguments }
        }
      }
      if (custom !== undefined) {
        assert.isTrue(id !== undefined || call?.type === "custom")
        const { input, name } = call?.type === "custom" ? call.custom : { name: custom.name ?? "", input: "" }
        calls[index] = {
          id: id ?? call?.id ?? "",
          type: "custom",
          custom: { name, input: input + custom.input }
        }
      }
    }
  }
  return {
    content,
    ...(thoughts === "" ? {} : { thoughts }),
    ...(refusal === "" ? {} : { refusal }),
    calls,
    finish,
    usage: chunks.at(-1)?.usage ?? null
  }
}

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(ChatChunk))

/** The chunks of a whole stream as it is on the wire. */
export const chunksIn = (text: string): ReadonlyArray<ChatChunk> => {
  const frames = text.split("\n\n").filter((frame) => frame !== "" && !frame.startsWith(":"))
  assert.strictEqual(frames.at(-1), "data: [DONE]")
  return frames.slice(0, -1).map((frame) => decode(frame.slice("data: ".length)))
}
