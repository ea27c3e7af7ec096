import { Context, Deferred, Duration, Effect, Layer, type Scope } from "effect"
import { AppConfig } from "../settings/AppConfig.ts"
import { ServerShuttingDown } from "../domain/Errors.ts"

/** How long the last streams get to deliver their `error` event once the grace is over. */
const farewellSeconds = 5

/**
 * The end of the process, in order: not ready and no new work; streams may finish within the grace; the rest are cut
 * off and end with an error.
 */
export class Drain extends Context.Service<
  Drain,
  {
    readonly isDraining: Effect.Effect<boolean>
    /** Counts the request until its scope closes; refused while draining. */
    readonly admit: Effect.Effect<void, ServerShuttingDown, Scope.Scope>
    /** Never succeeds; fails when the grace is over. */
    readonly cutoff: Effect.Effect<never, ServerShuttingDown>
    /** Drains. Done when no request is left, or the last ones had their farewell. */
    readonly shutdown: Effect.Effect<void>
  }
>()("parley/http/Drain") {
  static readonly layer = Layer.effect(
    Drain,
    Effect.gen(function* () {
      const settings = yield* AppConfig
      const cut = yield* Deferred.make<never, ServerShuttingDown>()
      const idle = yield* Deferred.make<void>()
      let draining = false
      let requests = 0

      const signalIdle = Effect.suspend(() =>
        draining && requests === 0 ? Deferred.succeed(idle, undefined) : Effect.void
      )

      const admit = Effect.suspend(() => {
        if (draining) return Effect.fail(new ServerShuttingDown())
        requests++
        return Effect.addFinalizer(() => {
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
        yield* Deferred.fail(cut, new ServerShuttingDown())
        yield* Deferred.await(idle).pipe(Effect.timeoutOption(Duration.seconds(farewellSeconds)))
      }).pipe(Effect.withSpan("Drain.shutdown"))

      return Drain.of({
        isDraining: Effect.sync(() => draining),
        admit,
        cutoff: Deferred.await(cut),
        shutdown
      })
    })
  )
}
