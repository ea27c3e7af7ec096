import { Effect, Redacted, Stream } from "effect"
import { createServer, type Server, type Socket } from "node:net"
import type { ModelFailure } from "../../src/domain/Errors.ts"
import type { ModelPart, ModelRequest } from "../../src/domain/ModelCall.ts"
import type { ModelSpec } from "../../src/domain/ModelSpec.ts"
import { makeOpenAiChat } from "../../src/models/OpenAiChat.ts"
import { makeUpstream } from "../../src/models/Upstream.ts"
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

export const patience = { connectSeconds: 5, firstTokenSeconds: 20, idleSeconds: 10 }

export const request = (text: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: [{ role: "user", text }],
  maxOutputTokens: 50,
  tools: [],
  ...more
})

export const serverAt = (url: string, tokenParameter: "max_completion_tokens" | null = null) => ({
  provider: "mock",
  baseUrl: new URL(url),
  key: Redacted.make(secretKey),
  tokenParameter
})

/** A mock server, and the adapter that talks to it. */
export const setUp = Effect.gen(function* () {
  const server = yield* makeMockModelServer
  const upstream = yield* makeUpstream(patience)
  const call = makeOpenAiChat(upstream, serverAt(server.url))(model)
  return {
    server,
    upstream,
    call,
    ask: (behaviour: MockBehaviour) => Stream.runCollect(call(request(mockDirective(behaviour))))
  }
})

/** What came before the stream failed, and how it failed. */
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
