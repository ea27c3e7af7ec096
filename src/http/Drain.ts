import { Context, Deferred, Duration, Effect, Layer, type Scope } from "effect"
import { type Alarm, makeAlarm } from "../domain/Alarm.ts"
import { ServerShuttingDown } from "../domain/Errors.ts"
import { onClose } from "../domain/onClose.ts"
import { AppConfig } from "../settings/AppConfig.ts"

/** Time for the last streams to deliver their `error` event after the grace period. */
const cutoffSeconds = 5

/** Graceful shutdown: not ready and no new requests; streams may finish within the grace period; the rest end with an error. */
export class Drain extends Context.Service<
  Drain,
  {
    readonly isDraining: Effect.Effect<boolean>
    /** Counts the request until its scope closes. */
    readonly admit: Effect.Effect<void, ServerShuttingDown, Scope.Scope>
    /** Raised after the grace period. */
    readonly cutoff: Alarm<ServerShuttingDown>
    /** Completes when no request is left, or `cutoffSeconds` after the grace period. */
    readonly shutdown: Effect.Effect<void>
  }
>()("parley/http/Drain") {
  static readonly layer = Layer.effect(
    Drain,
    Effect.gen(function* () {
      const settings = yield* AppConfig
      const cutoff = makeAlarm<ServerShuttingDown>()
      const idle = yield* Deferred.make<void>()
      let draining = false
      let requests = 0

      const signalIdle = Effect.suspend(() =>
        draining && requests === 0 ? Deferred.succeed(idle, undefined) : Effect.void
      )

      const admit = Effect.suspend(() => {
        if (draining) return Effect.fail(new ServerShuttingDown())
        requests++
        return onClose(() => {
          requests--
          return signalIdle
        })
      })

      const shutdown = Effect.gen(function* () {
        draining = true
        yield* signalIdle
        const graceSeconds = settings.http.shutdownGraceSeconds
        yield* Effect.logInfo("Shutting down.").pipe(Effect.annotateLogs({ requests, graceSeconds }))
        yield* Deferred.await(idle).pipe(Effect.timeoutOption(Duration.seconds(graceSeconds)))
        cutoff.raise(new ServerShuttingDown())
        yield* Deferred.await(idle).pipe(Effect.timeoutOption(Duration.seconds(cutoffSeconds)))
      }).pipe(Effect.withSpan("Drain.shutdown"))

      return Drain.of({
        isDraining: Effect.sync(() => draining),
        admit,
        cutoff,
        shutdown
      })
    })
  )
}
