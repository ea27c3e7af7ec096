import type { IncomingHttpHeaders } from "node:http"
import { Predicate } from "effect"
import { type Script, scriptIn } from "./Script.ts"

/** A request in one form, whatever its protocol. */

export type Fields = Readonly<Record<PropertyKey, unknown>>

const noFields: Fields = {}

/** The objects of a list; none where it is no list. */
export const objectsIn = (list: unknown): ReadonlyArray<Fields> =>
  Array.isArray(list) ? list.filter((one) => Predicate.isObject(one)) : []

export const fieldsIn = (value: unknown): Fields => (Predicate.isObject(value) ? value : noFields)

/** A text, or the texts of a list of parts. */
export const textIn = (content: unknown): string =>
  Predicate.isString(content)
    ? content
    : objectsIn(content)
        .map(({ text }) => (Predicate.isString(text) ? text : ""))
        .join("")

export interface AskedCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
  readonly fields: Fields
}

export interface Message {
  readonly role: "system" | "user" | "assistant" | "tool"
  readonly text: string
  readonly images: number
  readonly calls: ReadonlyArray<AskedCall>
  /** The call that a tool's result belongs to. */
  readonly callId: string
  /** The message as it was received. */
  readonly fields: Fields
}

interface Tool {
  readonly name: string
  readonly schema: Fields
}

export interface Asked {
  readonly body: Fields
  readonly headers: IncomingHttpHeaders
  readonly script: Script
  readonly messages: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<Tool>
  /** The name of the function that must be called; "" for any, and null where none must be. */
  readonly forced: string | null
}

export type Protocol = "chat" | "responses" | "messages"

const message = (role: Message["role"], fields: Fields, more: Partial<Message> = {}): Message => ({
  role,
  text: textIn(fields["content"]),
  images: objectsIn(fields["content"]).filter(({ type }) => String(type).includes("image")).length,
  calls: [],
  callId: "",
  fields,
  ...more
})

const roles = ["system", "user", "assistant", "tool"] as const
const roleIn = ({ role }: Fields): Message["role"] => roles.find((name) => name === role) ?? "system"

const chatMessages = (body: Fields): ReadonlyArray<Message> =>
  objectsIn(body["messages"]).map((fields) =>
    message(roleIn(fields), fields, {
      callId: textIn(fields["tool_call_id"]),
      calls: objectsIn(fields["tool_calls"]).map((call) => ({
        id: textIn(call["id"]),
        name: textIn(fieldsIn(call["function"])["name"]),
        arguments: textIn(fieldsIn(call["function"])["arguments"]),
        fields: call
      }))
    })
  )

const itemMessage = (item: Fields): Message => {
  switch (item["type"]) {
    case "function_call": {
      const [id, name, args] = [item["call_id"], item["name"], item["arguments"]].map(textIn)
      return message("assistant", item, {
        calls: [{ id: id ?? "", name: name ?? "", arguments: args ?? "", fields: item }]
      })
    }
    case "function_call_output":
      return message("tool", item, { text: textIn(item["output"]), callId: textIn(item["call_id"]) })
    case "reasoning":
      return message("assistant", item)
    default:
      return message(roleIn(item), item)
  }
}

const blockMessages = (fields: Fields): ReadonlyArray<Message> => {
  const blocks = objectsIn(fields["content"])
  const results = blocks.filter(({ type }) => type === "tool_result")
  const others = blocks.filter(({ type }) => type !== "tool_result")
  const calls = blocks
    .filter(({ type }) => type === "tool_use")
    .map((block) => ({
      id: textIn(block["id"]),
      name: textIn(block["name"]),
      arguments: JSON.stringify(block["input"]),
      fields: block
    }))
  return [
    ...results.map((block) => message("tool", block, { callId: textIn(block["tool_use_id"]) })),
    ...(others.length === 0 && results.length > 0
      ? []
      : [message(roleIn(fields), fields, { calls, text: textIn(fields["content"]) })])
  ]
}

const messagesIn: Readonly<Record<Protocol, (body: Fields) => ReadonlyArray<Message>>> = {
  chat: chatMessages,
  responses: (body) => objectsIn(body["input"]).map(itemMessage),
  messages: (body) => objectsIn(body["messages"]).flatMap(blockMessages)
}

const toolsIn = (body: Fields): ReadonlyArray<Tool> =>
  objectsIn(body["tools"]).map((tool) => {
    const own = fieldsIn(tool["function"] ?? tool)
    return { name: textIn(own["name"]), schema: fieldsIn(own["parameters"] ?? own["input_schema"]) }
  })

const forcedIn = ({ tool_choice: choice }: Fields): string | null => {
  if (choice === "required") return ""
  const { function: called, name, type } = fieldsIn(choice)
  if (type === "any") return ""
  return type === "tool" || type === "function" ? textIn(name ?? fieldsIn(called)["name"]) : null
}

/** Null for a request without a script. */
export const readAsked = (protocol: Protocol, body: Fields, headers: IncomingHttpHeaders): Asked | null => {
  const messages = messagesIn[protocol](body)
  const script = messages.flatMap(({ role, text }) => (role === "user" ? (scriptIn(text) ?? []) : [])).at(-1)
  return script === undefined
    ? null
    : { body, headers, script, messages, tools: toolsIn(body), forced: forcedIn(body) }
}

/** The messages behind the script: the rounds so far. */
export const sinceScript = ({ messages }: Asked): ReadonlyArray<Message> =>
  messages.slice(
    messages.findLastIndex(({ role, text }) => role === "user" && scriptIn(text) !== undefined) + 1
  )

/** The messages that call something, and where they stand. */
export const callingIn = (messages: ReadonlyArray<Message>) =>
  messages.flatMap((one, index) => (one.calls.length > 0 ? [{ ...one, index }] : []))
