import { type Cause, Channel, Effect, Redacted, Scope, Stream } from "effect"
import type { ModelFailure } from "../domain/Errors.ts"
import type { ModelPart, ModelRequest, ModelUsage } from "../domain/ModelCall.ts"
import type { ModelSpec } from "../domain/ModelSpec.ts"
import { ChatReader } from "./ChatReader.ts"
import { adaptDialect, type Dialect, encodeChatRequest, type TokenParameter } from "./ChatRequest.ts"
import { Exchange, type Parts, type Pull } from "./Exchange.ts"
import { type Fault, toModelFailure } from "./Fault.ts"
import { countPromptTokens, countTokens } from "./Tokenizer.ts"
import type { Endpoint, Upstream } from "./Upstream.ts"

/** A server that speaks OpenAI Chat Completions. */
export interface ChatServer {
  /** How the catalog names it. */
  readonly provider: string
  readonly baseUrl: URL
  readonly key: Redacted.Redacted | null
  /** null leaves it to the server's name: OpenAI's own knows the newer parameter, most others the older. */
  readonly tokenParameter: TokenParameter | null
}

/** A request is put at most so often: in other words, or over a fresh connection. */
const attemptsMax = 4

/** Everything that the calls of one server share. */
interface Line {
  readonly upstream: Upstream
  readonly server: ChatServer
  readonly endpoint: Endpoint
  /**
   * How each model's server wants to be asked, where the first guess was wrong. It is found out by asking, and remembered,
   * so that it costs a second request only once.
   */
  readonly dialects: Map<string, Dialect>
}

/** Where a server's resource is, and the headers that every request to it carries. */
export const endpointOf = (server: ChatServer, path: string): Endpoint => ({
  origin: server.baseUrl.origin,
  path: server.baseUrl.pathname.replace(/\/+$/, "") + path + server.baseUrl.search,
  headers: {
    "content-type": "application/json",
    ...(server.key === null ? {} : { authorization: `Bearer ${Redacted.value(server.key)}` })
  }
})

/** The way to call the models of a server. */
export const makeOpenAiChat = (upstream: Upstream, server: ChatServer) => {
  const line: Line = {
    upstream,
    server,
    endpoint: endpointOf(server, "/chat/completions"),
    dialects: new Map()
  }
  return (model: ModelSpec) =>
    (request: ModelRequest): Stream.Stream<ModelPart, ModelFailure> =>
      Stream.fromChannel(
        Channel.fromTransform((_: unknown, scope) =>
          Effect.suspend(() => {
            const { close, pull } = openCall(line, model, request)
            return Effect.as(Scope.addFinalizer(scope, Effect.sync(close)), pull)
          })
        )
      )
}

const firstGuess = (server: ChatServer, model: ModelSpec): Dialect => ({
  tokenParameter:
    server.tokenParameter ??
    (server.baseUrl.hostname === "api.openai.com" ? "max_completion_tokens" : "max_tokens"),
  streamOptions: true,
  tools: model.tools
})

/** One call: the request goes out at the first pull. */
const openCall = (
  line: Line,
  model: ModelSpec,
  request: ModelRequest
): { readonly pull: Pull<ModelFailure>; readonly close: () => void } => {
  let exchange: Exchange<ModelFailure> | null = null
  let attempts = 0

  const begin = (dialect: Dialect): Exchange<ModelFailure> => {
    attempts++
    exchange = new Exchange<ModelFailure>({
      reader: new ChatReader(),
      patience: line.upstream.patience,
      recover: (fault) => recover(fault, dialect),
      count: (reader) => estimate(request, reader)
    })
    line.upstream.post(line.endpoint, encodeChatRequest(model.id, request, dialect), exchange)
    return exchange
  }

  const recover = (fault: Fault, dialect: Dialect): Pull<ModelFailure> => {
    if (attempts >= attemptsMax) return failWith(line, model, fault)
    if (fault.staleConnection === true) return Effect.callback((resume) => begin(dialect).next(resume))
    const other =
      fault.reason === "bad_request" ? adaptDialect(dialect, `${fault.detail} ${fault.message ?? ""}`) : null
    if (other === null) return failWith(line, model, fault)
    return Effect.callback<Parts, ModelFailure | Cause.Done<void>>((resume) =>
      begin(other).next(resume)
    ).pipe(Effect.tap(() => Effect.sync(() => line.dialects.set(model.id, other))))
  }

  return {
    pull: Effect.callback((resume) =>
      (exchange ?? begin(line.dialects.get(model.id) ?? firstGuess(line.server, model))).next(resume)
    ),
    close: () => exchange?.close()
  }
}

const failWith = (line: Line, model: ModelSpec, fault: Fault): Pull<ModelFailure> =>
  Effect.flatMap(toModelFailure(fault, { provider: line.server.provider, model: model.id }), Effect.fail)

/** The finish of an answer whose server counts nothing. */
const estimate = Effect.fnUntraced(function* (request: ModelRequest, reader: ChatReader) {
  const usage: ModelUsage = {
    inputTokens: yield* countPromptTokens(request.messages),
    cachedInputTokens: 0,
    outputTokens: yield* countTokens(reader.written),
    reasoningTokens: 0,
    source: "estimate"
  }
  return reader.finishWith(usage)
})
