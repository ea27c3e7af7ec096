import { createServer, type Server, type Socket } from "node:net"
import { Effect, Redacted, Stream } from "effect"
import type { ModelFailure } from "../../src/domain/Errors.ts"
import type { ModelSpec } from "../../src/domain/Model.ts"
import type { ModelPart, ModelRequest } from "../../src/domain/ModelCall.ts"
import type { Dialect } from "../../src/providers/Dialect.ts"
import { type ModelServer, type ProtocolName, protocols } from "../../src/providers/ModelServer.ts"
import { makeProviderCircuits } from "../../src/providers/ProviderCircuit.ts"
import { ProviderGate } from "../../src/providers/ProviderGate.ts"
import { makeServerCall } from "../../src/providers/ServerCall.ts"
import { makeUpstream, type Upstream } from "../../src/providers/Upstream.ts"
import { makeMockModelServer, type MockBehaviour, mockDirective } from "../support/MockModelServer.ts"

export const secretKey = "sk-mock-0123456789abcdef"

export const model: ModelSpec = {
  id: "mock-model",
  provider: "mock",
  contextWindow: 1000,
  maxOutputTokens: 100,
  tools: true,
  quality: 1,
  cost: 1
}

/** Nothing is left out. */
export const fullDialect: Dialect = {
  tokenParameter: "max_tokens",
  streamOptions: true,
  ownTools: true,
  format: true,
  verbosity: true,
  hintedEffort: true,
  logprobs: true,
  cacheControl: true,
  thinkingControls: true,
  thoughts: true,
  encryptedReasoning: false,
  reasoningSummary: false,
  customTools: false,
  imagesBehindResults: true,
  lastMessage: "sent",
  reasoning: "returned",
  signsCalls: false,
  promptCacheKey: false
}

export const timeouts = { connectSeconds: 5, firstTokenSeconds: 20, idleSeconds: 10, fallbackSeconds: 3 }

export const request = (text: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: [{ role: "user", text }],
  maxOutputTokens: 50,
  tools: [],
  ...more
})

export const serverAt = (
  url: string,
  protocol: ProtocolName = "openai-chat",
  more: Partial<ModelServer> = {}
): ModelServer => ({
  provider: "mock",
  protocol: protocols[protocol],
  baseUrl: new URL(url),
  key: Redacted.make(secretKey),
  headers: {},
  tokenParameter: null,
  family: null,
  encryptedReasoning: null,
  concurrentMax: null,
  models: new Map(),
  sdk: null,
  ...more
})

export const gate = (limits: { readonly concurrentMax?: number; readonly queueSeconds?: number } = {}) =>
  Effect.map(
    makeProviderCircuits,
    (circuits) => new ProviderGate("mock", { concurrentMax: 1000, queueSeconds: 10, ...limits }, circuits)
  )

/** A way to call that asks only once, so that one fault is one failure. */
export const callOnce = (upstream: Upstream, server: ModelServer) =>
  Effect.map(gate(), (through) => makeServerCall(upstream, server, { gate: through, retrySeconds: 0 }))

/** A mock server, and the adapter that talks to it. */
export const setUpFor = (protocol: ProtocolName) =>
  Effect.gen(function* () {
    const server = yield* makeMockModelServer
    const upstream = yield* makeUpstream(timeouts)
    const call = (yield* callOnce(upstream, serverAt(server.url, protocol)))(model)
    return {
      server,
      upstream,
      call,
      ask: (behaviour: MockBehaviour) => Stream.runCollect(call(request(mockDirective(behaviour))))
    }
  })

/** Events as they come. */
export const frames = (...events: ReadonlyArray<Readonly<Record<string, unknown>>>): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")

/** The parts before the stream failed, and the failure. */
export const untilFailure = (stream: Stream.Stream<ModelPart, ModelFailure>) =>
  Effect.gen(function* () {
    const parts: Array<ModelPart> = []
    const failure = yield* Effect.flip(
      Stream.runForEach(stream, (part) => Effect.sync(() => void parts.push(part)))
    )
    return { parts, failure }
  })

export const textOf = (parts: ReadonlyArray<ModelPart>): string =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("")

/** A server below HTTP. */
export const rawServer = (onSocket: (socket: Socket) => unknown) =>
  Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(socket)
        socket.on("error", () => sockets.delete(socket))
        onSocket(socket)
      })
      server.on("close", () => sockets.clear())
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  ).pipe(
    Effect.map((server) => {
      const address = server.address()
      return `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}/v1`
    })
  )
