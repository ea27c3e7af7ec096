import { type Context, Effect, Metric, type Scope } from "effect"

/** A gauge whose value is read when somebody asks for it. */
export const registerGauge = (
  metric: Metric.Gauge<number>,
  context: Context.Context<never>,
  read: () => number
): Metric.Registration =>
  Metric.registerUnsafe(metric, context, {
    get: () => ({ value: read() }),
    update: () => {},
    modify: () => {}
  })

/** Keeps what reads its values when asked, for as long as the scope is open. */
export const keepRegistered = (
  register: (context: Context.Context<never>) => ReadonlyArray<Metric.Registration>
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => register(context)),
        (registrations) =>
          Effect.sync(() => {
            for (const registration of registrations) registration.remove()
          })
      )
    )
  )
