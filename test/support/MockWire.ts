/** Everything is optional; without anything the answer is "Hello, world." with usage. */
export interface MockBehaviour {
  // ---- what is said
  readonly deltas?: ReadonlyArray<string>
  /** The deltas are repeated for ever. */
  readonly endless?: boolean
  /** Thoughts before the answer. */
  readonly reasoning?: ReadonlyArray<string>
  readonly calls?: ReadonlyArray<{ readonly id: string; readonly name: string; readonly arguments: string }>
  /** In how many fragments a call's arguments come; 2 by default. */
  readonly callFragments?: number
  /** In the words of Chat Completions, whatever the protocol; null leaves the finish out. */
  readonly finish?: string | null
  /** In the words of the protocol; null leaves the usage out, also where it is asked for. */
  readonly usage?: Readonly<Record<string, unknown>> | null
  /** false leaves out what comes last, where the protocol has such. */
  readonly done?: boolean
  /** One JSON document, though a stream was asked for. */
  readonly json?: boolean
  /** The body to the byte, in place of all of the above; each piece is written by itself. */
  readonly raw?: ReadonlyArray<string>

  // ---- how it is cut
  readonly lineEnd?: "\n" | "\r\n" | "\r"
  readonly comments?: boolean
  /** false: `data:` without a blank after it. */
  readonly blank?: boolean
  /** So many bytes to a write, wherever that cuts; each write is a turn of the event loop. */
  readonly bytesPerWrite?: number
  readonly gapMillis?: number

  // ---- faults
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly errorBody?: string
  /** A status of 400, with a complaint, as long as the request has this field. */
  readonly refusesField?: string
  /**
   * Nothing comes any more: before the headers, after so many deltas (0: after the headers), or after the
   * finish reason.
   */
  readonly hangAt?: "headers" | number | "finish"
  /** The connection is cut, at one of the same places. */
  readonly cutAt?: "headers" | number | "finish"
  readonly malformedAt?: number
  readonly errorAt?: number
}

/** One event of a stream; Chat Completions names none. */
export interface MockEvent {
  readonly name: string | null
  readonly data: string
}

/** The mock server's form of each message in one protocol. Each answer has one of its own. */
export interface MockWire {
  /** Whatever may be part of a request's prompt. */
  readonly texts: (body: Body) => ReadonlyArray<string>
  readonly begin: () => ReadonlyArray<MockEvent>
  readonly thought: (text: string) => ReadonlyArray<MockEvent>
  readonly text: (text: string) => ReadonlyArray<MockEvent>
  readonly call: (call: MockCall, fragments: ReadonlyArray<string>) => ReadonlyArray<MockEvent>
  /** `finish` is in the words of Chat Completions; `usage` in the protocol's own. */
  readonly finish: (finish: string, usage: Body | null | undefined) => ReadonlyArray<MockEvent>
  /** The events behind the finish. */
  readonly last: (usage: Body | null | undefined, done: boolean) => ReadonlyArray<MockEvent>
  readonly error: () => ReadonlyArray<MockEvent>
  readonly malformed: () => MockEvent
  readonly document: (text: string, calls: ReadonlyArray<MockCall>, behaviour: MockBehaviour) => string
  readonly errorBody: (message: string) => string
}

type Body = Readonly<Record<string, unknown>>

export interface MockCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

const unnamed = (data: Body): MockEvent => ({ name: null, data: JSON.stringify(data) })
const named = (data: Body & { readonly type: string }): MockEvent => ({
  name: data.type,
  data: JSON.stringify(data)
})

const contentTexts = (messages: unknown): ReadonlyArray<string> =>
  (Array.isArray(messages) ? messages : []).flatMap((message: Body) => {
    const content = message["content"]
    if (!Array.isArray(content)) return [String(content)]
    return content.map((block: Body) => String(block["text"] ?? block["content"] ?? ""))
  })

/** A token, with so many others in its place. */
export const mockLogprob = (token: string, others: unknown) => ({
  token,
  logprob: -0.25,
  bytes: [...Buffer.from(token)],
  top_logprobs: Array.from({ length: Number(others ?? 0) }, (_, index) => ({
    token: `other ${index}`,
    logprob: -1 - index,
    bytes: [...Buffer.from(`other ${index}`)]
  }))
})

const failure = { message: "The mock fails.", type: "server_error", code: "mock" }

// ---- Chat Completions

const chatUsage = {
  prompt_tokens: 11,
  completion_tokens: 7,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
  completion_tokens_details: { reasoning_tokens: 2 }
}

const makeChatWire = (body: Body): MockWire => {
  const head = { id: "chatcmpl-mock", created: 1_780_000_000, model: body["model"] }
  const choice = (delta: Body, finish: string | null = null, told: Body = {}) =>
    unnamed({ ...head, choices: [{ index: 0, delta, finish_reason: finish, ...told }] })
  /** Each text is a token. */
  const logprobs = (text: string): Body =>
    body["logprobs"] === true ? { logprobs: { content: [mockLogprob(text, body["top_logprobs"])] } } : {}
  let calls = 0
  return {
    texts: (asked) => contentTexts(asked["messages"]),
    begin: () => [choice({ role: "assistant" })],
    thought: (text) => [choice({ reasoning_content: text })],
    text: (content) => [choice({ content }, null, logprobs(content))],
    call: ({ id, name }, fragments) => {
      const index = calls++
      return [
        choice({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
        ...fragments.map((fragment) => choice({ tool_calls: [{ index, function: { arguments: fragment } }] }))
      ]
    },
    finish: (finish) => [choice({}, finish)],
    last: (given, done) => {
      const usage = given === undefined ? ("stream_options" in body ? chatUsage : null) : given
      return [
        ...(usage === null ? [] : [unnamed({ ...head, choices: [], usage })]),
        ...(done ? [{ name: null, data: "[DONE]" }] : [])
      ]
    },
    error: () => [unnamed({ error: failure })],
    malformed: () => ({ name: null, data: `{"choices":[{"delta":{"content":` }),
    document: (content, asked, { finish, usage }) => {
      const called = asked.map((call) => ({ id: call.id, type: "function", function: call }))
      const message = { role: "assistant", content, ...(asked.length === 0 ? {} : { tool_calls: called }) }
      const choices = [{ index: 0, message, finish_reason: finish ?? "stop" }]
      return JSON.stringify({ ...head, choices, usage: usage ?? chatUsage })
    },
    errorBody: (message) =>
      JSON.stringify({ error: { message, type: "mock_error", code: null, param: null } })
  }
}

// ---- Responses

const responsesUsage = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 18
}

const responseEnd = (finish: string): Body => {
  if (finish === "length")
    return { status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, error: null }
  if (finish === "content_filter")
    return { status: "incomplete", incomplete_details: { reason: "content_filter" }, error: null }
  return { status: "completed", incomplete_details: null, error: null }
}

const makeResponsesWire = (body: Body): MockWire => {
  const response = { id: "resp_mock", object: "response", created_at: 1_780_000_000, model: body["model"] }
  const running = { ...response, status: "in_progress", error: null, output: [], usage: null }
  let number = 0
  let items = 0
  let message: Body | null = null
  /** Each text is a token. */
  const logprobs = (text: string): ReadonlyArray<Body> =>
    JSON.stringify(body["include"] ?? []).includes("message.output_text.logprobs")
      ? [mockLogprob(text, body["top_logprobs"])]
      : []
  const event = (type: string, fields: Body) => named({ type, sequence_number: number++, ...fields })
  const callItem = (call: MockCall, args: string, status: string) => ({
    type: "function_call",
    id: `fc_${call.id}`,
    call_id: call.id,
    name: call.name,
    arguments: args,
    status
  })
  const openMessage = (): ReadonlyArray<MockEvent> => {
    if (message !== null) return []
    message = { item_id: `msg_${items}`, output_index: items++ }
    const item = {
      type: "message",
      id: message["item_id"],
      role: "assistant",
      status: "in_progress",
      content: []
    }
    return [
      event("response.output_item.added", { output_index: message["output_index"], item }),
      event("response.content_part.added", {
        ...message,
        content_index: 0,
        part: { type: "output_text", text: "" }
      })
    ]
  }
  return {
    texts: (asked) => [String(asked["instructions"] ?? ""), ...contentTexts(asked["input"])],
    begin: () => [
      event("response.created", { response: running }),
      event("response.in_progress", { response: running })
    ],
    thought: (delta) => [
      event("response.reasoning_summary_text.delta", {
        item_id: "rs_mock",
        output_index: 0,
        summary_index: 0,
        delta
      })
    ],
    text: (delta) => [
      ...openMessage(),
      event("response.output_text.delta", { ...message, content_index: 0, delta, logprobs: logprobs(delta) })
    ],
    call: (call, fragments) => {
      const place = { item_id: `fc_${call.id}`, output_index: items++ }
      return [
        event("response.output_item.added", {
          output_index: place.output_index,
          item: callItem(call, "", "in_progress")
        }),
        ...fragments.map((delta) => event("response.function_call_arguments.delta", { ...place, delta })),
        event("response.function_call_arguments.done", {
          ...place,
          name: call.name,
          arguments: call.arguments
        }),
        event("response.output_item.done", {
          output_index: place.output_index,
          item: callItem(call, call.arguments, "completed")
        })
      ]
    },
    finish: (finish, usage) => {
      const end = responseEnd(finish)
      const full = { ...response, ...end, output: [], usage: usage === undefined ? responsesUsage : usage }
      return [event(`response.${String(end["status"])}`, { response: full })]
    },
    last: () => [],
    error: () => [
      event("error", { code: failure.type, message: failure.message, param: null }),
      event("response.failed", {
        response: { ...running, status: "failed", error: { code: "server_error", message: "" } }
      })
    ],
    malformed: () => ({
      name: "response.output_text.delta",
      data: `{"type":"response.output_text.delta","delta":`
    }),
    document: (text, calls, { finish, usage }) =>
      JSON.stringify({
        ...response,
        ...responseEnd(finish ?? "stop"),
        output: [
          { type: "reasoning", id: "rs_mock", summary: [] },
          {
            type: "message",
            id: "msg_0",
            role: "assistant",
            content: [{ type: "output_text", text, annotations: [] }]
          },
          ...calls.map((call) => callItem(call, call.arguments, "completed"))
        ],
        usage: usage ?? responsesUsage
      }),
    errorBody: (message) =>
      JSON.stringify({ error: { message, type: "mock_error", code: null, param: null } })
  }
}

// ---- Anthropic Messages

/** The first and the last event of an answer: the output is counted at the end. */
const anthropicBegin = {
  input_tokens: 6,
  cache_creation_input_tokens: 2,
  cache_read_input_tokens: 3,
  output_tokens: 1
}
const anthropicEnd = { output_tokens: 7, output_tokens_details: { thinking_tokens: 2 } }

const stopReasons: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal"
}

const makeAnthropicWire = (body: Body, { usage: given }: MockBehaviour): MockWire => {
  const head = {
    id: "msg_mock",
    type: "message",
    role: "assistant",
    model: body["model"],
    stop_sequence: null
  }
  let blocks = 0
  let open: string | null = null
  const closeBlock = (): ReadonlyArray<MockEvent> => {
    if (open === null) return []
    open = null
    return [named({ type: "content_block_stop", index: blocks - 1 })]
  }
  const block = (kind: string, content: Body): ReadonlyArray<MockEvent> => {
    if (open === kind && kind !== "tool_use") return []
    const closing = closeBlock()
    open = kind
    return [
      ...closing,
      named({ type: "content_block_start", index: blocks++, content_block: { type: kind, ...content } })
    ]
  }
  const delta = (fields: Body) => named({ type: "content_block_delta", index: blocks - 1, delta: fields })
  return {
    texts: (asked) => [String(asked["system"] ?? ""), ...contentTexts(asked["messages"])],
    begin: () => [
      named({
        type: "message_start",
        message: {
          ...head,
          content: [],
          stop_reason: null,
          ...(given === null ? {} : { usage: anthropicBegin })
        }
      }),
      named({ type: "ping" })
    ],
    thought: (thinking) => [
      ...block("thinking", { thinking: "", signature: "" }),
      delta({ type: "thinking_delta", thinking })
    ],
    text: (text) => [...block("text", { text: "" }), delta({ type: "text_delta", text })],
    call: ({ id, name }, fragments) => [
      ...block("tool_use", { id, name, input: {} }),
      ...["", ...fragments].map((partial_json) => delta({ type: "input_json_delta", partial_json }))
    ],
    finish: (finish, usage) => [
      ...closeBlock(),
      named({
        type: "message_delta",
        delta: { stop_reason: stopReasons[finish] ?? finish, stop_sequence: null },
        ...(usage === null ? {} : { usage: usage ?? anthropicEnd })
      })
    ],
    last: (_usage, done) => (done ? [named({ type: "message_stop" })] : []),
    error: () => [named({ type: "error", error: { type: "overloaded_error", message: failure.message } })],
    malformed: () => ({
      name: "content_block_delta",
      data: `{"type":"content_block_delta","delta":{"text":`
    }),
    document: (text, calls, { finish, usage }) =>
      JSON.stringify({
        ...head,
        content: [
          { type: "text", text },
          ...calls.map((call) => ({
            type: "tool_use",
            id: call.id,
            name: call.name,
            input: JSON.parse(call.arguments)
          }))
        ],
        stop_reason: stopReasons[finish ?? "stop"],
        usage: usage ?? { ...anthropicBegin, ...anthropicEnd }
      }),
    errorBody: (message) =>
      JSON.stringify({ type: "error", error: { type: "mock_error", message }, request_id: "req_mock" })
  }
}

/** The protocol that is spoken where a request went. */
export const wireAt = (path: string, body: Body, behaviour: MockBehaviour): MockWire => {
  if (path.endsWith("/responses")) return makeResponsesWire(body)
  if (path.endsWith("/messages")) return makeAnthropicWire(body, behaviour)
  return makeChatWire(body)
}
