import { Effect, Result, type Scope } from "effect"
import type { Exchange } from "./Exchange.ts"
import { type Fault, FirstTokenTimeout } from "./Fault.ts"
import { statusFault, transportFault } from "./FaultCause.ts"

const listBytesMax = 4 * 1024 * 1024
const listSeconds = 10

/** An idle connection is kept this long, unless the server announces a shorter time. */
const keepAliveSeconds = 30

/** The interval at which the timeouts of open exchanges are checked. */
const sweepSecondsMax = 0.5
const sweepSecondsMin = 0.02

export interface Endpoint {
  readonly origin: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

interface AnswerTimeouts {
  readonly firstTokenSeconds: number
  /** Replaces `firstTokenSeconds` while a fallback is available. */
  readonly fallbackSeconds: number
  readonly idleSeconds: number
}

/** Sends the body; the exchange receives the answer. */
export type Send = (to: Endpoint, body: string, exchange: Exchange) => void

/** The connections to the model servers, without a limit on their number: each stream has its own. */
export interface Upstream {
  readonly timeouts: AnswerTimeouts
  /** Sends the body by HTTP, or by a package of the AI SDK, and watches the timeouts of the exchange. */
  readonly post: (to: Endpoint, body: string, exchange: Exchange, send?: Send) => void
  /** A small JSON document by GET, or by POST where there is a body. */
  readonly ask: (from: Endpoint, body?: string) => Effect.Effect<string, Fault>
}

/**
 * Keeps the pool until the scope closes. Uses HTTP/1.1 only: with a connection per stream, backpressure on
 * one stream does not affect others.
 */
export const makeUpstream = Effect.fnUntraced(function* (
  settings: AnswerTimeouts & { readonly connectSeconds: number }
): Effect.fn.Return<Upstream, never, Scope.Scope> {
  // A service without a model server doesn't load it. A bundle has the default export only.
  const { default: undici } = yield* Effect.promise(() => import("@effect/platform-node/Undici"))
  const agent = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new undici.Agent({
          allowH2: false,
          pipelining: 1,
          connect: { timeout: settings.connectSeconds * 1000 },
          keepAliveTimeout: keepAliveSeconds * 1000,
          // The sweep below checks the timeouts, and distinguishes output from comments.
          headersTimeout: 0,
          bodyTimeout: 0
        })
    ),
    (agent) => Effect.promise(() => agent.destroy())
  )

  const open = new Set<Exchange>()
  const sendByHttp: Send = (to, body, exchange) => {
    agent.dispatch({ ...to, method: "POST", body, headers: to.headers }, exchange)
  }
  const post: Upstream["post"] = (to, body, exchange, send = sendByHttp) => {
    open.add(exchange)
    send(to, body, exchange)
  }
  const firstTokenSeconds = Math.min(settings.firstTokenSeconds, settings.fallbackSeconds)
  const sweepSeconds = Math.max(
    sweepSecondsMin,
    Math.min(sweepSecondsMax, firstTokenSeconds / 10, settings.idleSeconds / 10)
  )
  yield* Effect.sync(() => {
    for (const exchange of open) {
      if (exchange.hasEnded) open.delete(exchange)
      else exchange.tick(sweepSeconds)
    }
  }).pipe(Effect.delay(`${sweepSeconds * 1000} millis`), Effect.forever, Effect.forkScoped)

  const ask: Upstream["ask"] = (from, body) =>
    Effect.tryPromise({
      try: async (signal) => {
        const answer = await agent.request({
          ...from,
          ...(body === undefined ? { method: "GET" } : { method: "POST", body }),
          signal,
          headers: from.headers
        })
        if (answer.statusCode !== 200) {
          await answer.body.dump()
          return Result.fail(statusFault(answer.statusCode))
        }
        return Result.succeed(await readBounded(answer.body))
      },
      catch: (error) => transportFault(error, false)
    }).pipe(
      Effect.flatMap(Effect.fromResult),
      Effect.timeoutOrElse({
        duration: `${listSeconds} seconds`,
        orElse: () => Effect.fail(new FirstTokenTimeout({ detail: `no answer in ${listSeconds} seconds` }))
      })
    )

  return { timeouts: settings, post, ask }
})

const readBounded = async (body: AsyncIterable<Uint8Array>): Promise<string> => {
  const pieces: Array<Uint8Array> = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.byteLength
    if (bytes > listBytesMax) throw new Error("the list is too long")
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString("utf8")
}
