import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  type ModelMessage,
  type ModelRequest,
  type Reasoning,
  saidByClient,
  type ToolCall
} from "../../src/domain/ModelCall.ts"
import { chatFamilyNames } from "../../src/providers/ChatFamilies.ts"
import {
  demandsReasoning,
  firstDialect,
  type ModelServer,
  originOf,
  protocolNames,
  protocols
} from "../../src/providers/ModelServer.ts"
import { readableBy } from "../../src/providers/SentMessages.ts"
import { serverAt } from "./ServerSetup.ts"

const model = {
  id: "m",
  provider: "p",
  contextWindow: 1000,
  maxOutputTokens: 100,
  tools: true,
  quality: 1,
  cost: 0
}

const serverOf = (protocol: (typeof protocolNames)[number], more: Partial<ModelServer> = {}): ModelServer =>
  serverAt("https://models.example/v1", protocol, more)

const servers: ReadonlyArray<ModelServer> = [
  ...protocolNames.map((name) => serverOf(name)),
  ...chatFamilyNames.map((family) => serverOf("openai-chat", { family }))
]

/** Everything of which a server differs from the one that an opaque value came from. */
const elsewhere = (server: ModelServer): ReadonlyArray<string> => [
  originOf(server, "another"),
  originOf({ ...server, baseUrl: new URL("https://other.example/v1") }, "m"),
  originOf({ ...server, baseUrl: new URL("https://models.example/v2") }, "m"),
  ...protocolNames
    .filter((name) => protocols[name] !== server.protocol)
    .map((name) => originOf(serverOf(name), "m"))
]

/** In the words of every protocol. */
const secretData = JSON.stringify({
  field: "reasoning_content",
  reasoning_details: [{ type: "reasoning.encrypted", data: "SECRET" }],
  thinking_blocks: [{ type: "thinking", thinking: "SECRET", signature: "SECRET" }],
  extra_content: { google: { thought_signature: "SECRET" } },
  type: "thinking",
  thinking: "SECRET",
  signature: "SECRET",
  encrypted_content: "SECRET",
  summary: []
})

const Index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))
const Turn = Schema.Struct({
  text: Schema.Literals(["", "Yes."]),
  reasoning: Schema.Array(Index),
  calls: Schema.Array(Schema.Struct({ from: Index, reasoning: Schema.Array(Index) }))
})

describe("what only one model can read", () => {
  it.prop("opaque data reaches no other server or model", [Index, Schema.Array(Turn)], ([at, turns]) => {
    const server = servers[at % servers.length]!
    const others = elsewhere(server)
    const opaqueFrom = (index: number) => ({ origin: others[index % others.length]!, data: secretData })
    const reasoningFrom = (index: number): Reasoning => ({ text: "SECRET", opaque: opaqueFrom(index) })
    const messages = turns.flatMap(({ calls, reasoning, text }, turn): ReadonlyArray<ModelMessage> => {
      const toolCalls = calls.map((call, index): ToolCall => ({
        id: `c${turn}x${index}`,
        name: "calc",
        arguments: "{}",
        opaque: opaqueFrom(call.from),
        reasoning: call.reasoning.map(reasoningFrom)
      }))
      return [
        { role: "user", text: "?" },
        { role: "assistant", text, toolCalls, reasoning: reasoning.map(reasoningFrom) },
        ...toolCalls.map(({ id, name }): ModelMessage => ({ role: "tool", callId: id, name, text: "5" }))
      ]
    })
    const request: ModelRequest = {
      messages: readableBy(originOf(server, model.id), [...messages, { role: "user", text: "?" }]),
      maxOutputTokens: 9,
      tools: [{ name: "calc", description: "d", parameters: { type: "object" } }]
    }
    assert.notInclude(server.protocol.encode(model.id, request, firstDialect(server, model)), "SECRET")
  })
})

describe("what a client says that a model thought", () => {
  it("reasoning that a client sends reaches only the Chat servers that demand it", () => {
    const opaque = { origin: saidByClient("m"), data: JSON.stringify({ field: "reasoning_content" }) }
    const messages: ReadonlyArray<ModelMessage> = [
      { role: "user", text: "?" },
      { role: "assistant", text: "Yes.", toolCalls: [], reasoning: [{ text: "SAID", opaque }] },
      { role: "user", text: "?" }
    ]
    const reachedAs = (id: string) =>
      servers.filter((server) => {
        const dialect = firstDialect(server, model)
        const clients = demandsReasoning(server, dialect) ? saidByClient(id) : null
        const readable = readableBy(originOf(server, id), messages, clients)
        return server.protocol
          .encode(id, { messages: readable, maxOutputTokens: 9, tools: [] }, dialect)
          .includes("SAID")
      })
    assert.deepStrictEqual(reachedAs("another"), [])
    assert.deepStrictEqual(
      reachedAs("m").map(({ family, protocol }) => [protocol.name, family]),
      [
        ["openai-chat", "deepseek"],
        ["openai-chat", "moonshot"]
      ]
    )
    const others = ["anthropic", "openai-responses"] as const
    for (const name of others) {
      const server = serverOf(name, { baseUrl: new URL("https://api.deepseek.com/anthropic") })
      assert.isFalse(demandsReasoning(server, firstDialect(server, model)))
    }
  })
})
