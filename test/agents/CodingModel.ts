import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { text } from "node:stream/consumers"
import { Effect, Schema, type Scope } from "effect"
import { event } from "../gate/ChatStream.ts"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"

/**
 * A scripted model of Chat Completions that does what prompts of these tests ask for, by whatever tools it is
 * offered.
 */

const Part = Schema.Struct({
  type: Schema.String,
  text: Schema.optionalKey(Schema.String),
  image_url: Schema.optionalKey(Schema.Struct({ url: Schema.String }))
})

const Call = Schema.Struct({
  id: Schema.String,
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
})

const Message = Schema.Struct({
  role: Schema.String,
  content: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.String, Schema.Array(Part)]))),
  tool_calls: Schema.optionalKey(Schema.Array(Call)),
  tool_call_id: Schema.optionalKey(Schema.String)
})
type Message = typeof Message.Type

/** The part of a parameter's schema that this model reads. */
interface Parameter {
  readonly type?: unknown
  readonly enum?: ReadonlyArray<unknown>
  readonly items?: Parameter
  readonly properties?: Readonly<Record<string, Parameter>>
  readonly required?: ReadonlyArray<string>
}

const Parameter: Schema.Codec<Parameter> = Schema.Struct({
  type: Schema.optionalKey(Schema.Unknown),
  enum: Schema.optionalKey(Schema.Array(Schema.Unknown)),
  items: Schema.optionalKey(Schema.suspend((): Schema.Codec<Parameter> => Parameter)),
  properties: Schema.optionalKey(
    Schema.Record(
      Schema.String,
      Schema.suspend((): Schema.Codec<Parameter> => Parameter)
    )
  ),
  required: Schema.optionalKey(Schema.Array(Schema.String))
})

const Tool = Schema.Struct({ function: Schema.Struct({ name: Schema.String, parameters: Parameter }) })
type Tool = (typeof Tool.Type)["function"]

const ChatRequest = Schema.Struct({
  model: Schema.String,
  messages: Schema.Array(Message),
  tools: Schema.optionalKey(Schema.Array(Tool))
})
export type ChatRequest = typeof ChatRequest.Type

const decodeRequest = Schema.decodeUnknownOption(Schema.fromJsonString(ChatRequest))

const partsOf = ({ content }: Message) =>
  typeof content === "string" ? [{ type: "text", text: content }] : (content ?? [])

export const textOf = (message: Message): string =>
  partsOf(message)
    .map(({ text }) => text ?? "")
    .join("")

/** The addresses of the images in these messages. */
export const imagesIn = (messages: ReadonlyArray<Message>): ReadonlyArray<string> =>
  messages.flatMap((message) =>
    partsOf(message).flatMap((part) => ("image_url" in part && part.image_url ? [part.image_url.url] : []))
  )

/** The content of every file that this model writes. */
export const written = "Written by a tool.\n"

/** The model's answer to the result of a call that wrote a file. */
export const wrote = (path: string): string => `I wrote ${path}.`
/** The model's answer if the history has the call that wrote a file, and its result. */
export const recalled = (path: string): string => `I remember that I wrote ${path}.`
/** The model's answer to a picture. */
export const saw = "I see a picture."

interface Task {
  readonly verb: string
  readonly path: string
  /** The place of the message that asks for it. */
  readonly index: number
}

const directive = /\b(WRITE|RECALL|LOOK)(?: (\/[^\s"]+))?/

const taskIn = (messages: ReadonlyArray<Message>): Task | null => {
  const index = messages.findLastIndex((one) => one.role === "user" && directive.test(textOf(one)))
  const [, verb, path = ""] = directive.exec(index < 0 ? "" : textOf(messages[index]!)) ?? []
  return verb === undefined ? null : { verb, path, index }
}

// The meanings of a tool's parameters are recognized by the names that agents give them.
const pathName = /^(path|file_?path|absolute_path)$/i
const contentName = /^(content|new_text)$/
const commandName = /^(command|cmd)$/

const namesOf = ({ parameters }: Tool): ReadonlyArray<string> => Object.keys(parameters.properties ?? {})
const hasParameter = (tool: Tool, name: RegExp): boolean => namesOf(tool).some((one) => name.test(one))

const toolFor = (tools: ReadonlyArray<Tool>, { verb }: Task): Tool | undefined =>
  verb === "WRITE"
    ? (tools.find((tool) => hasParameter(tool, pathName) && hasParameter(tool, contentName)) ??
      tools.find((tool) => hasParameter(tool, commandName)))
    : tools.find(({ name }) => /^(read|view)/i.test(name))

const filler = ({ enum: allowed, type }: Parameter): unknown => {
  if (allowed !== undefined) return allowed[0]
  if (type === "boolean") return false
  return type === "number" || type === "integer" ? 1 : "as the test asks"
}

/** The arguments of a call: what the task says, and something for each other parameter that is required. */
const argumentsFor = (schema: Parameter, task: Task): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([name, parameter]): ReadonlyArray<[string, unknown]> => {
      if (pathName.test(name)) return [[name, task.path]]
      if (contentName.test(name)) return [[name, written]]
      if (commandName.test(name)) return [[name, `printf '%s' '${written}' > '${task.path}'`]]
      if (schema.required?.includes(name) !== true) return []
      return [
        [name, parameter.items === undefined ? filler(parameter) : [argumentsFor(parameter.items, task)]]
      ]
    })
  )

/** An answer of the model: a text, or a call of a tool. */
type Answer = { readonly text: string } | { readonly tool: string; readonly arguments: string }

const hasWritten = (messages: ReadonlyArray<Message>, path: string): boolean => {
  const ids = messages.flatMap(({ tool_calls = [] }) =>
    tool_calls.filter((call) => call.function.arguments.includes(path)).map(({ id }) => id)
  )
  return messages.some(({ role, tool_call_id }) => role === "tool" && ids.includes(tool_call_id ?? ""))
}

const answerTo = ({ messages, tools = [] }: ChatRequest): Answer => {
  const task = taskIn(messages)
  if (task === null) return { text: "Nothing to do." }
  const { index, path, verb } = task
  if (verb === "RECALL")
    return { text: hasWritten(messages.slice(0, index), path) ? recalled(path) : "I don't remember." }
  const since = messages.slice(index)
  if (imagesIn(since).length > 0) return { text: saw }
  if (verb === "WRITE" && hasWritten(since, path)) return { text: wrote(path) }
  const tool = toolFor(
    tools.map((one) => one.function),
    task
  )
  if (tool === undefined || path === "") return { text: "There is nothing to do it with." }
  if (since.some(({ role }) => role === "tool")) return { text: "The tool didn't help." }
  return { tool: tool.name, arguments: JSON.stringify(argumentsFor(tool.parameters, task)) }
}

const streamOf = (model: string, answer: Answer, id: string): string => {
  const chunk = (delta: object, finish: string | null = null) =>
    event({
      id,
      object: "chat.completion.chunk",
      created: 1,
      model,
      choices: [{ index: 0, delta, finish_reason: finish }]
    })
  const usage = { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 }
  const delta =
    "text" in answer
      ? { content: answer.text }
      : {
          tool_calls: [
            {
              index: 0,
              id: `call_${id}`,
              type: "function",
              function: { name: answer.tool, arguments: answer.arguments }
            }
          ]
        }
  return [
    chunk({ role: "assistant", content: "" }),
    chunk(delta),
    chunk({}, "text" in answer ? "stop" : "tool_calls"),
    event({ id, object: "chat.completion.chunk", created: 1, model, choices: [], usage }),
    event("[DONE]")
  ].join("")
}

export interface CodingModel {
  /** Its base URL. */
  readonly url: string
  /** The requests so far. */
  readonly requests: ReadonlyArray<ChatRequest>
}

/** Listens until the scope closes. */
export const makeCodingModel: Effect.Effect<CodingModel, never, Scope.Scope> = Effect.gen(function* () {
  const requests: Array<ChatRequest> = []
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const asked = decodeRequest(await text(request))
    if (asked._tag === "None") return void response.writeHead(400).end()
    requests.push(asked.value)
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.end(streamOf(asked.value.model, answerTo(asked.value), String(requests.length)))
  }
  const server = createServer((request, response) => void answer(request, response))
  const port = yield* serveOnLoopback(server)
  return { url: `http://127.0.0.1:${port}/v1`, requests }
})
