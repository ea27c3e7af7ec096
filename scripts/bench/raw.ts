import { randomUUID } from "node:crypto"
import * as http from "node:http"
import type { ChatCompletion, ChatCompletionChunk } from "openai/resources/chat/completions"

/**
 * The plainest program that turns Chat Completions into the Responses events; every figure is measured
 * against it. node:http on both sides, JSON.parse of every chunk, JSON.stringify and one write for every
 * event; no key, no storage, no check of anything.
 *
 *     node raw.ts UPSTREAM_PORT [fold]
 *
 * With `fold` a JSON answer is put together from the model's stream, where it is otherwise one document from
 * there too.
 */

const upstreamPort = Number(process.argv[2])
const folds = process.argv[3] === "fold"

type Usage = ChatCompletionChunk["usage"]
const readChunk: (text: string) => ChatCompletionChunk = JSON.parse
const readCompletion: (text: string) => ChatCompletion = JSON.parse
const readRequest: (text: string) => { readonly input: string; readonly stream?: boolean } = JSON.parse

const agent = new http.Agent({ keepAlive: true, maxFreeSockets: 10_000 })

const responseObject = (
  id: string,
  conversation: string,
  model: string,
  item: object | null,
  text: string,
  usage: Usage
) => ({
  id,
  object: "response",
  created_at: Date.now(),
  status: item === null ? "in_progress" : "completed",
  model,
  output: item === null ? [] : [item],
  output_text: text,
  conversation_id: conversation,
  conversation: { id: conversation },
  completed_at: item === null ? null : Date.now(),
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  previous_response_id: null,
  parallel_tool_calls: true,
  tool_choice: "auto",
  tools: [],
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  truncation: "disabled",
  text: { format: { type: "text" } },
  reasoning: null,
  store: true,
  background: false,
  usage: usage && {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.total_tokens
  },
  service_tier: "default",
  metadata: {},
  safety_identifier: null,
  prompt_cache_key: null
})

const messageItem = (id: string, content: ReadonlyArray<object>) => ({
  id,
  type: "message",
  status: content.length === 0 ? "in_progress" : "completed",
  role: "assistant",
  content
})
const textPart = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] })

/** The events of one answer, from the chunks of the model. */
class Translation {
  private readonly response: http.ServerResponse
  private readonly id = randomUUID()
  private readonly itemId = randomUUID()
  private readonly conversation = randomUUID()
  private pending = ""
  private sequence = 0
  private model = ""
  private text = ""
  private usage: Usage

  constructor(response: http.ServerResponse) {
    this.response = response
  }

  read(bytes: string): void {
    this.pending += bytes
    for (;;) {
      const end = this.pending.indexOf("\n\n")
      if (end < 0) return
      const line = this.pending.slice(0, end)
      this.pending = this.pending.slice(end + 2)
      if (line.startsWith("data: ") && line !== "data: [DONE]") this.chunk(readChunk(line.slice(6)))
    }
  }

  private chunk(chunk: ChatCompletionChunk): void {
    if (this.sequence === 0) this.begin(chunk.model)
    if (chunk.usage) this.usage = chunk.usage
    const delta = chunk.choices[0]?.delta.content
    if (!delta) return
    this.text += delta
    const sequence_number = this.sequence++
    this.send({ type: "response.output_text.delta", sequence_number, ...this.place(), delta, logprobs: [] })
  }

  private begin(model: string): void {
    this.model = model
    this.response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
      "x-request-id": randomUUID(),
      "x-conversation-id": this.conversation
    })
    const response = responseObject(this.id, this.conversation, model, null, "", null)
    this.send({ type: "response.created", sequence_number: this.sequence++, response })
    const item = messageItem(this.itemId, [])
    this.send({ type: "response.output_item.added", sequence_number: this.sequence++, output_index: 0, item })
    const sequence_number = this.sequence++
    const part = textPart("")
    this.send({ type: "response.content_part.added", sequence_number, ...this.place(), part })
  }

  end(): void {
    const text = this.text
    const sequence_number = this.sequence++
    this.send({ type: "response.output_text.done", sequence_number, ...this.place(), text, logprobs: [] })
    const item = messageItem(this.itemId, [textPart(text)])
    this.send({ type: "response.output_item.done", sequence_number: this.sequence++, output_index: 0, item })
    const response = responseObject(this.id, this.conversation, this.model, item, text, this.usage)
    this.send({ type: "response.completed", sequence_number: this.sequence++, response })
    this.response.end()
  }

  private place() {
    return { item_id: this.itemId, output_index: 0, content_index: 0 }
  }

  private send(event: object): void {
    this.response.write(`event: message\ndata: ${JSON.stringify(event)}\n\n`)
  }
}

type Last = Pick<ChatCompletionChunk, "model" | "usage">

const fold = (body: string): readonly [text: string, last: Last] => {
  let text = ""
  let last: Last = { model: "", usage: null }
  for (const line of body.split("\n\n")) {
    if (!line.startsWith("data: ") || line === "data: [DONE]") continue
    const chunk = readChunk(line.slice(6))
    text += chunk.choices[0]?.delta.content ?? ""
    last = chunk
  }
  return [text, last]
}

const document = (response: http.ServerResponse, text: string, { model, usage }: Last): void => {
  const item = messageItem(randomUUID(), [textPart(text)])
  const answer = responseObject(randomUUID(), randomUUID(), model, item, text, usage)
  const bytes = Buffer.from(JSON.stringify(answer))
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": bytes.length,
    "x-request-id": randomUUID(),
    "x-conversation-id": answer.conversation_id
  })
  response.end(bytes)
}

const translate = (body: string, response: http.ServerResponse): void => {
  const request = readRequest(body)
  const streamed = request.stream !== false
  const question = JSON.stringify({
    model: "bench-model-1",
    messages: [{ role: "user", content: request.input }],
    stream: streamed || folds,
    ...(streamed || folds ? { stream_options: { include_usage: true } } : {})
  })
  const call = http.request({
    agent,
    host: "127.0.0.1",
    port: upstreamPort,
    path: "/v1/chat/completions",
    method: "POST",
    headers: { "content-type": "application/json", "content-length": Buffer.byteLength(question) }
  })
  call.on("response", (answer) => {
    answer.setEncoding("utf8")
    if (streamed) {
      const translation = new Translation(response)
      answer.on("data", (text: string) => translation.read(text))
      answer.on("end", () => translation.end())
    } else {
      let text = ""
      answer.on("data", (part: string) => (text += part))
      answer.on("end", () => {
        if (folds) return document(response, ...fold(text))
        const completion = readCompletion(text)
        document(response, completion.choices[0]?.message.content ?? "", completion)
      })
    }
  })
  call.on("error", () => response.destroy())
  response.on("close", () => {
    if (!response.writableFinished) call.destroy()
  })
  call.end(question)
}

const server = http.createServer({ noDelay: true, keepAliveTimeout: 300_000 }, (request, response) => {
  if (request.method === "GET") return void response.writeHead(200).end("{}")
  let body = ""
  request.setEncoding("utf8")
  request.on("data", (part: string) => (body += part))
  request.on("end", () => translate(body, response))
})

server.listen({ port: Number(process.env["PORT"]), host: "127.0.0.1", backlog: 4096 })
// Started by the benchmark, it ends with the benchmark, however that ends.
process.on("disconnect", () => process.exit(0))
