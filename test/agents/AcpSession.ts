import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import { Option, Schema } from "effect"

/**
 * A message of an agent in the Agent Client Protocol: an answer by its id, or a piece of what the model
 * writes.
 */
const Message = Schema.fromJsonString(
  Schema.Struct({
    id: Schema.optionalKey(Schema.Int),
    error: Schema.optionalKey(Schema.Struct({ message: Schema.String })),
    params: Schema.optionalKey(
      Schema.Struct({
        update: Schema.Struct({
          sessionUpdate: Schema.String,
          content: Schema.optionalKey(Schema.Unknown)
        })
      })
    )
  })
)
const decode = Schema.decodeUnknownOption(Message)

const isText = Schema.is(Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }))

export interface AcpPrompt {
  readonly sessionId: string
  readonly directory: string
  readonly model: string
  readonly prompt: string
}

/**
 * Goes on with a session as editors do, and gives what the model answers. The protocol is JSON-RPC with a
 * message in each line. Fails with the agent's words.
 */
export const continueByAcp = async (
  agent: { readonly stdin: Writable; readonly stdout: Readable },
  { directory, model, prompt, sessionId }: AcpPrompt
): Promise<string> => {
  const lines = createInterface({ input: agent.stdout })[Symbol.asyncIterator]()
  let calls = 0

  const call = async (method: string, params: object): Promise<string> => {
    const id = ++calls
    agent.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`)
    let said = ""
    for (;;) {
      const { done, value } = await lines.next()
      if (done === true) throw new Error(`The agent ended before it answered ${method}.`)
      const message = Option.getOrUndefined(decode(value))
      if (message?.id === id) {
        if (message.error !== undefined) throw new Error(`${method}: ${message.error.message}`)
        return said
      }
      const update = message?.params?.update
      if (update?.sessionUpdate === "agent_message_chunk" && isText(update.content))
        said += update.content.text
    }
  }

  await call("initialize", { protocolVersion: 1, clientCapabilities: {} })
  await call("session/load", { sessionId, cwd: directory, mcpServers: [] })
  await call("session/set_model", { sessionId, modelId: model })
  return call("session/prompt", { sessionId, prompt: [{ type: "text", text: prompt }] })
}
