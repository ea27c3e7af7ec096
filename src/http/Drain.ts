import type { Server } from "node:http"
import { Context, Deferred, Duration, Effect, Fiber, Latch, Layer, Option, type Scope } from "effect"
import { ServerShuttingDown } from "../domain/Errors.ts"
import { AppConfig } from "../settings/AppConfig.ts"

/** Time for the last streams to deliver their `error` event after the grace period. */
const cutoffSeconds = 5

/** Time for the last connections to deliver their responses, or the request that they were opened for. */
export const closeSeconds = 2

/** Interval at which connections are closed that have become idle since the listener was closed. */
const idleCheckSeconds = 1

/**
 * Graceful shutdown in three steps. While the process drains, `/readyz` reports 503 and requests are served
 * as before, so that proxies have time to choose other processes. Then the listener and idle connections
 * close. Requests on open connections may finish within the grace period; what is left of them then ends with
 * an error.
 */
export class Drain extends Context.Service<
  Drain,
  {
    /**
     * True if the process is about to end: it reports to be not ready, and each response closes its
     * connection.
     */
    readonly isDraining: Effect.Effect<boolean>
    /** True if no more connections are accepted. */
    readonly isClosed: Effect.Effect<boolean>
    /** Counts the request until its scope closes. Fails once the grace period is over. */
    readonly admit: Effect.Effect<void, ServerShuttingDown, Scope.Scope>
    /** Fails after the grace period; never succeeds. */
    readonly cutoff: Effect.Effect<never, ServerShuttingDown>
    /** Adds a server whose listener and connections the shutdown closes. */
    readonly closes: (server: Server) => Effect.Effect<void>
    /**
     * Completes when no request and no connection is left, or soon after the grace period. `atOnce` closes
     * the listener without the wait for proxies.
     */
    readonly shutdown: (options: { readonly atOnce: boolean }) => Effect.Effect<void>
  }
>()("parley/http/Drain") {
  static readonly layer = Layer.effect(
    Drain,
    Effect.gen(function* () {
      const { drainSeconds, shutdownGraceSeconds: graceSeconds } = (yield* AppConfig).http
      const cutoff = yield* Deferred.make<never, ServerShuttingDown>()
      const idle = yield* Latch.make(true)
      const servers: Array<Server> = []
      let state: "serving" | "draining" | "closed" | "over" = "serving"
      let requests = 0

      const admit = Effect.suspend(() => {
        if (state === "over") return Effect.fail(new ServerShuttingDown())
        requests++
        idle.closeUnsafe()
        return Effect.addFinalizer(() =>
          Effect.sync(() => {
            requests--
            if (requests === 0) idle.openUnsafe()
          })
        )
      })

      /**
       * A connection may have been accepted just before, and its request arrive when no other one is left.
       */
      const finish = (closing: Fiber.Fiber<unknown>) =>
        idle.await.pipe(
          Effect.andThen(Effect.timeoutOption(Fiber.await(closing), Duration.seconds(closeSeconds))),
          Effect.repeat({ until: () => requests === 0 })
        )

      const shutdown = Effect.fn("Drain.shutdown")(function* ({ atOnce }: { readonly atOnce: boolean }) {
        state = "draining"
        const waitSeconds = atOnce ? 0 : drainSeconds
        yield* Effect.logInfo("Shutting down.").pipe(
          Effect.annotateLogs({ requests, drainSeconds: waitSeconds, graceSeconds })
        )
        if (waitSeconds > 0) yield* Effect.sleep(Duration.seconds(waitSeconds))
        state = "closed"
        const closing = yield* Effect.forkChild(
          Effect.forEach(servers, closeServer, { concurrency: "unbounded", discard: true })
        )
        const finished = yield* Effect.timeoutOption(finish(closing), Duration.seconds(graceSeconds))
        if (Option.isSome(finished)) return
        state = "over"
        yield* Deferred.fail(cutoff, new ServerShuttingDown())
        yield* Effect.timeoutOption(finish(closing), Duration.seconds(cutoffSeconds))
      })

      return Drain.of({
        isDraining: Effect.sync(() => state !== "serving"),
        isClosed: Effect.sync(() => state === "closed" || state === "over"),
        admit,
        cutoff: Deferred.await(cutoff),
        closes: (server) => Effect.sync(() => void servers.push(server)),
        shutdown
      })
    })
  )
}

/** Completes when the last connection has ended. */
const closeServer = (server: Server): Effect.Effect<void> => {
  // Before it continues, Node accepts what has connected: the operating system resets the rest with the
  // listener.
  const close = Effect.andThen(
    Effect.yieldNow,
    Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
  )
  const closeIdle = Effect.sync(() => server.closeIdleConnections()).pipe(
    Effect.delay(Duration.seconds(idleCheckSeconds)),
    Effect.forever
  )
  return Effect.raceFirst(close, closeIdle)
}
