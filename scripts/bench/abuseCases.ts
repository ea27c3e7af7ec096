import { randomUUID } from "node:crypto"
import { directive } from "./directive.ts"

/** Requests that one user may send to take the processor from others. */

/** The objects that the abusive user has on the service before the load begins. */
export interface Belongings {
  readonly conversation: string
  readonly items: ReadonlyArray<string>
  readonly files: ReadonlyArray<string>
  readonly project: string
}

export interface AbuseCase {
  readonly id: string
  readonly connections: number
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: (has: Belongings, turn: number) => string
  /** `unread`: the answer is requested and never read. `socket`: the body is a message of a WebSocket. */
  readonly way?: "unread" | "socket"
}

const profile = "/openai/v1/responses"
const many = <A>(count: number, make: (index: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, index) => make(index))
const fields = (count: number, value: unknown) =>
  Object.fromEntries(many(count, (index) => [`f${index}`, value]))
const json = JSON.stringify
/** Bodies are made once, so that the load generator isn't what limits the load. */
const always = (make: (has: Belongings) => unknown) => {
  let made: string | null = null
  return (has: Belongings) => (made ??= json(make(has)))
}

const calls = (count: number) =>
  many(count, (index) => ({ type: "function_call", call_id: `call_${index}`, name: "look", arguments: "{}" }))
const results = (count: number) =>
  many(count, (index) => ({ type: "function_call_output", call_id: `call_${index}`, output: "found" }))
const messages = (count: number) =>
  many(count, (index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: `Message ${index} of many.`
  }))
const tool = (index: number, properties: number) => ({
  type: "function",
  name: `tool_${index}`,
  parameters: {
    type: "object",
    properties: fields(properties, { type: "string", description: "Some words." })
  }
})
const words = (characters: number) => "Some words of a long text. ".repeat(characters / 27)
const stored = (input: unknown) => ({ input, model: "auto" })

export const abuseCases: ReadonlyArray<AbuseCase> = [
  { id: "control", connections: 40, path: profile, body: always(() => stored("Hi")) },
  {
    id: "metadata",
    connections: 16,
    path: profile,
    body: always(() => ({ ...stored("Hi"), metadata: fields(250_000, "") }))
  },
  {
    id: "unknown-fields",
    connections: 16,
    path: "/v1/responses",
    body: always(() => ({ ...stored("Hi"), stream: false, ...fields(200_000, 1) }))
  },
  {
    id: "unknown-profile",
    connections: 16,
    path: profile,
    body: always(() => ({ ...stored("Hi"), ...fields(200_000, 1) }))
  },
  {
    id: "unknown-nested",
    connections: 16,
    path: profile,
    body: always(() => ({ ...stored("Hi"), other: many(190, () => many(1_000, () => 1)) }))
  },
  {
    id: "schema",
    connections: 16,
    path: profile,
    body: always(() => ({
      ...stored("Hi"),
      text: {
        format: {
          type: "json_schema",
          name: "s",
          schema: { type: "object", properties: fields(60_000, { type: "string" }) }
        }
      }
    }))
  },
  {
    id: "items",
    connections: 16,
    path: profile,
    body: always(() => stored([...calls(5_000), ...results(5_000)]))
  },
  {
    id: "items-v1",
    connections: 16,
    path: "/v1/responses",
    body: always(() => ({ ...stored(messages(10_000)), stream: false }))
  },
  {
    id: "chat",
    connections: 16,
    path: "/openai/v1/chat/completions",
    body: always(() => ({ model: "auto", messages: messages(8_000) }))
  },
  {
    id: "tools",
    connections: 16,
    path: profile,
    body: always(() => ({ ...stored("Hi"), tools: many(10_000, (index) => tool(index, 1)) }))
  },
  {
    id: "tools-large",
    connections: 16,
    path: profile,
    body: always(() => ({ ...stored("Hi"), tools: many(128, (index) => tool(index, 100)) }))
  },
  { id: "text-4m", connections: 16, path: profile, body: always(() => stored(words(4_000_000))) },
  { id: "text-400k", connections: 16, path: profile, body: always(() => stored(words(400_000))) },
  { id: "brackets", connections: 16, path: profile, body: always(() => stored("[(<{".repeat(50_000))) },
  {
    id: "urls",
    connections: 16,
    path: profile,
    body: always(() => stored("https://example.com/a?b=c ".repeat(8_000)))
  },
  {
    id: "references",
    connections: 16,
    path: profile,
    body: always(({ items }) =>
      stored([
        ...many(5_000, (index) => ({
          type: "item_reference",
          id: items[index % items.length] ?? `msg_${randomUUID()}`
        })),
        { role: "user", content: "Hi" }
      ])
    )
  },
  {
    id: "compaction",
    connections: 16,
    path: "/openai/v1/responses/compact",
    body: always(() => ({ model: "auto", input: messages(4_000) }))
  },
  {
    id: "files",
    connections: 16,
    path: profile,
    body: always(({ files }) =>
      stored([
        {
          role: "user",
          content: many(499, (index) => ({ type: "input_file", file_id: files[index % files.length] }))
        }
      ])
    )
  },
  {
    id: "conversation",
    connections: 16,
    path: profile,
    body: always(({ conversation }) => ({ ...stored("Hi"), conversation, store: false }))
  },
  { id: "nested", connections: 16, path: profile, body: () => `{"input":${"[".repeat(2_000_000)}` },
  {
    id: "unread",
    connections: 40,
    path: "/v1/responses",
    way: "unread",
    body: always(() => ({ input: directive({ tokens: 20_000, burst: 50 }), stream: true }))
  },
  {
    id: "project",
    connections: 16,
    path: "/v1/responses",
    body: always(({ project }) => ({
      input: many(1_600, (index) => `word${index % 97}`)
        .join(" ")
        .slice(0, 9_900),
      project_id: project,
      stream: false
    }))
  },
  {
    id: "sign-ins",
    connections: 16,
    path: "/console/session",
    headers: { "sec-fetch-site": "same-origin" },
    body: (_, turn) => json({ email: `nobody${turn}@example.com`, password: "a long enough password" })
  },
  {
    id: "background",
    connections: 8,
    path: profile,
    body: always(() => ({ ...stored(words(400_000)), background: true }))
  },
  {
    id: "idempotent",
    connections: 8,
    path: profile,
    headers: { "idempotency-key": "?" },
    body: always(() => stored([...calls(5_000), ...results(5_000)]))
  },
  {
    id: "socket",
    connections: 40,
    path: profile,
    way: "socket",
    body: always(() => ({ type: "response.create", ...stored(words(3_500_000)) }))
  }
]
