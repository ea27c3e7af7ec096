import { Effect, type Exit, Scope } from "effect"

/**
 * Runs `finalizer` when the scope closes, in the context of what closes it. `Effect.addFinalizer` and `Effect.acquireRelease` bring the
 * whole context of now along, which costs every request more than the finalizers themselves (docs/decisions/speed.md).
 */
export const onClose = (
  finalizer: (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<unknown>
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(Effect.scope, (scope) => Scope.addFinalizerExit(scope, finalizer))

/** Acquires without interruption, and releases when the scope closes, in the same way. */
export const acquired = <A, E, R>(
  acquire: Effect.Effect<A, E, R>,
  release: (acquired: A) => Effect.Effect<unknown>
): Effect.Effect<A, E, R | Scope.Scope> =>
  Effect.uninterruptible(Effect.tap(acquire, (one) => onClose(() => release(one))))
