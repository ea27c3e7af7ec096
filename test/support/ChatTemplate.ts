import { Option, Schema } from "effect"

const Call = Schema.Struct({
  id: Schema.String,
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
})
const Message = Schema.Struct({
  role: Schema.Literals(["system", "user", "assistant", "tool"]),
  content: Schema.NullOr(Schema.String),
  tool_calls: Schema.optionalKey(Schema.Array(Call)),
  tool_call_id: Schema.optionalKey(Schema.String)
})
const Body = Schema.fromJsonString(Schema.Struct({ messages: Schema.Array(Message) }))
const decodeObject = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

/**
 * The problem that the strictest servers find in a Chat Completions request, or null: a system message that
 * isn't the first, roles that don't alternate from the user on (calls and their results don't count, as in
 * Mistral's template; two of one role in a row never pass), results without calls, and names and arguments
 * of calls that can't be parsed, as with vLLM.
 */
export const templateProblem = (body: string): string | null => {
  const { messages } = Schema.decodeUnknownSync(Body)(body)
  const [first, ...others] = messages
  const rest = first?.role === "system" ? others : messages
  let expected: "user" | "assistant" = "user"
  let open: Array<string> = []
  for (const [index, { content, role, tool_call_id: callId, tool_calls: calls = [] }] of rest.entries()) {
    if (role === "system") return "a system message that isn't the first"
    if (role !== "tool" && role === rest[index - 1]?.role) return `two messages of the ${role} in a row`
    if (role === "tool") {
      if (!open.includes(callId ?? "")) return "a result without a call"
      open = open.filter((id) => id !== callId)
      continue
    }
    if (open.length > 0) return "a call without a result"
    if (calls.length > 0) {
      open = calls.map(({ id }) => id)
      if (new Set(open).size < open.length) return "two calls of one id"
      const bad = calls.find(
        ({ function: f }) => Option.isNone(decodeObject(f.arguments)) || !/^[\w-]{1,64}$/.test(f.name)
      )
      if (bad !== undefined) return `a call that can't be parsed: ${JSON.stringify(bad)}`
      continue
    }
    if (role === "assistant" && (content ?? "").trim() === "") return "an empty answer"
    if (role !== expected) return `${role} instead of ${expected}`
    expected = role === "user" ? "assistant" : "user"
  }
  return open.length > 0 ? "a call without a result" : null
}
