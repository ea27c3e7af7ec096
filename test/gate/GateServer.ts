import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Effect, Schema, type Scope } from "effect"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"
import { answerTo, type Counts, roundsDone, tokensOf } from "./Answer.ts"
import { anthropicProviders } from "./AnthropicProviders.ts"
import { type Asked, type Protocol, readAsked } from "./Asked.ts"
import { googleProviders } from "./GoogleProviders.ts"
import { foreignMarks } from "./Marks.ts"
import { openAiProviders } from "./OpenAiProviders.ts"
import { ownServers } from "./OwnServers.ts"
import type { Memory, Provider } from "./Provider.ts"
import { openAiError, type Refusal } from "./Refusal.ts"
import { responsesProviders } from "./ResponsesProviders.ts"
import { strictProviders } from "./StrictProviders.ts"
import { thinkingProviders } from "./ThinkingProviders.ts"

/** All providers that the gate covers. */
export const providers: ReadonlyArray<Provider> = [
  ...openAiProviders,
  ...responsesProviders,
  ...anthropicProviders,
  ...thinkingProviders,
  ...googleProviders,
  ...strictProviders,
  ...ownServers
]

/** A request that a scripted server got, and what became of it. */
export interface Received {
  readonly provider: string
  readonly cell: string
  readonly asked: Asked
  /** The words of the refusal; null if it was answered. */
  readonly refused: string | null
  /** The token counts of an answer; null for a refusal. */
  readonly counts: Counts | null
  /** Remarks about requests that were answered, but should be sent differently. */
  readonly notes: ReadonlyArray<string>
  /** The other servers whose values reached this one. */
  readonly foreign: ReadonlyArray<string>
}

/** The scripted servers of all providers, each below its name. */
export interface GateServer {
  readonly url: string
  readonly received: ReadonlyArray<Received>
}

/** The key of a provider. No other one may get it. */
export const keyOf = (name: string): string => `key-of-${name}`

const paths: Readonly<Record<Protocol, string>> = {
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  messages: "/v1/messages"
}

const decodeBody = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
)

/** One provider's server: the request in, and the answer or the refusal out. */
const makeRespond = ({ check, events, failures, key, name, protocol }: Provider) => {
  let made = 0
  const issued = new Map<string, string>()
  const met = new Map<string, number>()
  const numbers = () => ++made

  /** The number of earlier requests of the cell. */
  const before = (cell: string): number => {
    const times = met.get(cell) ?? 0
    met.set(cell, times + 1)
    return times
  }

  const failureOf = ({ messages, script }: Asked): Refusal | null => {
    const { cell, contextTokens, fails, times = Number.POSITIVE_INFINITY } = script
    const tokens = tokensOf(messages.map(({ text }) => text).join(""))
    if (contextTokens !== undefined && tokens > contextTokens)
      return failures.tooLong?.(tokens, contextTokens) ?? null
    const failed = fails === undefined ? times : before(cell)
    if (fails === undefined || failed >= times) return null
    const failure = failures[fails]
    // Who asks again too soon has to wait for longer than the service does.
    return failure === null || failed === 0 ? failure : { ...failure, headers: { "retry-after": "3600" } }
  }

  const hangs = (asked: Asked): boolean => {
    const { cell, hangsBehind } = asked.script
    return hangsBehind === roundsDone(asked) && before(cell) === 0
  }

  const isAllowed = ({ headers }: Asked): boolean => {
    const given = [headers.authorization, headers["api-key"], headers["x-api-key"]]
    const expected = key === "authorization" ? `Bearer ${keyOf(name)}` : keyOf(name)
    return key === null ? given.every((one) => one === undefined) : headers[key] === expected
  }

  return (text: string, headers: IncomingMessage["headers"]) => {
    const asked = readAsked(protocol, decodeBody(text), headers)
    if (asked === null) return null
    const notes: Array<string> = []
    const memory: Memory = { server: name, issued, note: (note) => void notes.push(note) }
    const refused = isAllowed(asked)
      ? (failureOf(asked) ?? check(asked, memory))
      : openAiError(401, "Incorrect API key provided.", { code: "invalid_api_key" })
    const answer = refused === null ? answerTo(name, asked, numbers) : null
    const received: Received = {
      provider: name,
      cell: asked.script.cell,
      asked,
      refused: refused?.sentence ?? null,
      counts: answer?.counts ?? null,
      notes,
      foreign: foreignMarks(text, name)
    }
    const sent = answer === null ? [] : events(asked, answer, memory)
    const isCut = answer?.end === "cut" && answer.text !== ""
    return { received, refused, stream: sent.join(""), isCut, isSilent: hangs(asked) }
  }
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const pieces: Array<Uint8Array> = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces).toString("utf8")
}

const streamType = { "content-type": "text/event-stream; charset=utf-8" }

/** Listens until the scope closes. */
export const makeGateServer: Effect.Effect<GateServer, never, Scope.Scope> = Effect.gen(function* () {
  const received: Array<Received> = []
  const responds = new Map(
    providers.map((provider) => [`/${provider.name}${paths[provider.protocol]}`, makeRespond(provider)])
  )
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const given = responds.get(request.url ?? "")?.(await bodyOf(request), request.headers)
    if (given === undefined || given === null) return void response.writeHead(404).end()
    received.push(given.received)
    const { isCut, isSilent, refused, stream } = given
    if (isSilent) return
    if (refused !== null) {
      const type = refused.isStream ? streamType : { "content-type": "application/json" }
      return void response.writeHead(refused.status, { ...type, ...refused.headers }).end(refused.body)
    }
    response.writeHead(200, streamType)
    if (isCut) response.write(stream, () => void response.destroy())
    else response.end(stream)
  }
  const server = createServer(
    { keepAliveTimeout: 60_000 },
    (request, response) => void handle(request, response)
  )
  const port = yield* serveOnLoopback(server)
  return { url: `http://127.0.0.1:${port}`, received }
})
