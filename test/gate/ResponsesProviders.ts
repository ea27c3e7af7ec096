import { type Answer, piecesOf } from "./Answer.ts"
import { type Asked, type Fields, fieldsIn, objectsIn, textIn } from "./Asked.ts"
import { checkCacheKey, checkOpenAiSchemas, firstOf, unknownName } from "./ChatRules.ts"
import { event } from "./ChatStream.ts"
import { hasMark } from "./Marks.ts"
import type { Memory, Provider } from "./Provider.ts"
import { type Failures, openAiError, openAiFailures, type Refusal, streamed } from "./Refusal.ts"

/** OpenAI and Azure on Responses. */

const known =
  "model input instructions stream store max_output_tokens temperature top_p reasoning text tools tool_choice parallel_tool_calls include metadata previous_response_id prompt_cache_key safety_identifier service_tier truncation user".split(
    " "
  )

const named = (message: string, param: string, code: string) => openAiError(400, message, { param, code })

const checkFields = ({ body }: Asked): Refusal | null => {
  const alien = unknownName(body, known)
  if (alien !== undefined) return named(`Unknown parameter: '${alien}'.`, alien, "unknown_parameter")
  const sampled = ["temperature", "top_p"].find((name) => body[name] !== undefined)
  if (sampled !== undefined)
    return named(
      `Unsupported parameter: '${sampled}' is not supported with this model.`,
      sampled,
      "unsupported_parameter"
    )
  return Number(body["max_output_tokens"]) < 16
    ? named(
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.",
        "max_output_tokens",
        "integer_below_min_value"
      )
    : null
}

const input = (message: string) => openAiError(400, message, { param: "input" })

/** Calls have results and the other way round, and reasoning stands directly before what it led to. */
const checkItems = ({ body }: Asked, { issued, note, server }: Memory): Refusal | null => {
  const items = objectsIn(body["input"])
  const idsOf = (type: string) =>
    items.flatMap((item) => (item["type"] === type ? [textIn(item["call_id"])] : []))
  const [calls, results] = [idsOf("function_call"), idsOf("function_call_output")]
  const orphan = results.find((id) => !calls.includes(id))
  if (orphan !== undefined)
    return input(`No tool call found for function call output with call_id ${orphan}.`)
  const open = calls.find((id) => !results.includes(id))
  if (open !== undefined) return input(`No tool output found for function call ${open}.`)
  for (const [index, item] of items.entries()) {
    const { id, type } = item
    if (type === "function_call" && id !== undefined)
      return input(
        `Item '${String(id)}' of type 'function_call' was provided without its required 'reasoning' item.`
      )
    if (type !== "reasoning") continue
    if (!issued.has(textIn(item["encrypted_content"])))
      return named("The encrypted content could not be verified.", "input", "invalid_encrypted_content")
    const next = items[index + 1]
    if (
      next?.["role"] !== "assistant" &&
      next?.["type"] !== "function_call" &&
      next?.["type"] !== "reasoning"
    )
      return input("Item of type 'reasoning' was provided without its required following item.")
  }
  // Calls of other models and of clients have none.
  const bare = items.find(
    ({ type }, index) =>
      type === "function_call" && !["reasoning", "function_call"].includes(String(items[index - 1]?.["type"]))
  )
  if (bare !== undefined && hasMark(textIn(bare["call_id"]), server)) note("calls without their reasoning")
  return null
}

const check = (asked: Asked, memory: Memory): Refusal | null =>
  firstOf(
    checkFields(asked),
    checkItems(asked, memory),
    checkOpenAiSchemas(asked, fieldsIn(fieldsIn(asked.body["text"])["format"]), {
      tool: (index) => `tools[${index}].parameters`,
      format: "text.format.schema"
    }),
    checkCacheKey(asked, memory)
  )

/** Numbers the events. */
const makeSend = () => {
  const sent: Array<string> = []
  const send = (type: string, fields: Fields) =>
    void sent.push(event({ type, sequence_number: sent.length, ...fields }, type))
  return { sent, send }
}

const tooLongInStream: Failures["tooLong"] = () => {
  const message =
    "Your input exceeds the context window of this model. Please adjust your input and try again."
  const error = { type: "invalid_request_error", code: "context_length_exceeded", message, param: "input" }
  const { send, sent } = makeSend()
  send("response.created", { response: { object: "response", status: "in_progress" } })
  send("error", { error })
  send("response.failed", { response: { object: "response", status: "failed", error } })
  return streamed(message, sent)
}

const reasoningItem = ({ body }: Asked, { mark, thought }: Answer, { issued }: Memory): Fields => {
  const sealed = mark()
  issued.set(sealed, thought)
  const isEncrypted = JSON.stringify(body["include"])?.includes("reasoning.encrypted_content") === true
  return {
    id: `rs_${mark()}`,
    type: "reasoning",
    summary:
      fieldsIn(body["reasoning"])["summary"] === undefined ? [] : [{ type: "summary_text", text: thought }],
    ...(isEncrypted ? { encrypted_content: sealed } : {})
  }
}

const events = (asked: Asked, answer: Answer, memory: Memory): ReadonlyArray<string> => {
  const { calls, counts, end, mark, text, thought } = answer
  const { send, sent } = makeSend()
  const response = { id: `resp_${mark()}`, object: "response", model: asked.body["model"], output: [] }
  const output: Array<Fields> = []
  const item = (empty: Fields, whole: Fields, inside: (place: Fields) => void) => {
    const output_index = output.length
    send("response.output_item.added", { output_index, item: { ...whole, ...empty, status: "in_progress" } })
    inside({ item_id: whole["id"], output_index })
    output.push(whole)
    send("response.output_item.done", { output_index, item: whole })
  }
  send("response.created", { response })
  send("keepalive", {})
  if (thought !== "") {
    const reasoning = reasoningItem(asked, answer, memory)
    const shown = objectsIn(reasoning["summary"]).length > 0 ? piecesOf(thought) : []
    item({ summary: [], encrypted_content: "not yet" }, reasoning, (place) => {
      for (const delta of shown)
        send("response.reasoning_summary_text.delta", { ...place, summary_index: 0, delta })
    })
  }
  if (text !== "") {
    const kind = end === "refusal" ? "refusal" : "output_text"
    const part = { type: kind, [end === "refusal" ? "refusal" : "text"]: text }
    const said = {
      id: `msg_${mark()}`,
      type: "message",
      role: "assistant",
      phase: "final_answer",
      content: [part]
    }
    const pieces = end === "cut" ? piecesOf(text).slice(0, 1) : piecesOf(text)
    item({ content: [] }, said, (place) => {
      for (const delta of pieces) send(`response.${kind}.delta`, { ...place, content_index: 0, delta })
    })
    if (end === "cut") return sent.slice(0, -1)
  }
  for (const { arguments: args, name } of calls) {
    const call = {
      id: `fc_${mark()}`,
      type: "function_call",
      call_id: `call_${mark()}`,
      name,
      arguments: args
    }
    item({ arguments: "" }, call, (place) => {
      for (const delta of piecesOf(args)) send("response.function_call_arguments.delta", { ...place, delta })
    })
  }
  const usage = {
    input_tokens: counts.input,
    input_tokens_details: { cached_tokens: counts.cached, cache_write_tokens: counts.written },
    output_tokens: counts.output,
    output_tokens_details: { reasoning_tokens: counts.reasoning },
    total_tokens: counts.input + counts.output
  }
  send("response.completed", { response: { ...response, status: "completed", output, usage } })
  return sent
}

const common = {
  protocol: "responses",
  check,
  events,
  entry: { dialect: "openai", encryptedReasoning: true }
} as const

export const responsesProviders: ReadonlyArray<Provider> = [
  {
    ...common,
    name: "openai",
    label: "OpenAI Responses",
    key: "authorization",
    failures: { ...openAiFailures, tooLong: tooLongInStream },
    model: { id: "gpt-6-terra", vision: true, structuredOutput: true }
  },
  {
    ...common,
    name: "azure",
    label: "Azure OpenAI Responses",
    key: "api-key",
    failures: {
      ...openAiFailures,
      filter: openAiError(
        400,
        "The response was filtered due to the prompt triggering a content management policy.",
        {
          code: "content_filter"
        }
      )
    },
    model: { id: "gpt-5.5", vision: true, structuredOutput: true }
  }
]
