import { Context, Effect, Layer, Metric } from "effect"
import { AppConfig } from "../settings/AppConfig.ts"
import { type ProviderHealth, providerStates } from "../domain/Model.ts"
import { Router } from "../routing/Router.ts"
import * as Instruments from "../telemetry/Instruments.ts"
import { prometheusText } from "../telemetry/Instruments.ts"

/** How often the health of the providers is read for a collector, which doesn't ask for it. */
const refreshSeconds = 10

const show = ({ provider, running, state, waiting }: ProviderHealth): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const one of providerStates) {
      yield* Metric.update(Instruments.providerState.of(provider, one), one === state ? 1 : 0)
    }
    yield* Metric.update(Instruments.providerRunning.of(provider), running)
    yield* Metric.update(Instruments.providerWaiting.of(provider), waiting)
  })

/** What hasn't happened yet counts as 0, so that its first time shows as a rise. */
const begin = Effect.gen(function* () {
  yield* Metric.modify(Instruments.openStreams.of(), 0)
  for (const outcome of ["completed", "failed", "abandoned", "refused"]) {
    yield* Metric.update(Instruments.responses.of(outcome), 0)
  }
  for (const window of ["daily", "monthly"]) {
    yield* Metric.update(Instruments.allowanceRefusals.of(window), 0)
  }
})

/** The metrics as Prometheus reads them. */
export class MetricsText extends Context.Service<
  MetricsText,
  {
    /** As they are now; asks no model server. */
    readonly text: Effect.Effect<string>
  }
>()("parley/http/MetricsText") {
  static readonly layer = Layer.effect(
    MetricsText,
    Effect.gen(function* () {
      const router = yield* Router
      const { otlpEndpoint, otlpSignals } = (yield* AppConfig).observability
      const refresh = Effect.flatMap(router.health, Effect.forEach(show, { discard: true }))
      yield* begin
      if (otlpEndpoint !== null && otlpSignals.includes("metrics")) {
        yield* refresh.pipe(
          Effect.andThen(Effect.sleep(`${refreshSeconds} seconds`)),
          Effect.forever,
          Effect.forkScoped
        )
      }
      return MetricsText.of({ text: Effect.andThen(refresh, prometheusText) })
    })
  )
}
