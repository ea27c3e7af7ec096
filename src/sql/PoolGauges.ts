import { Effect } from "effect"
import { databaseConnections, databaseConnectionsMax, databasePending } from "../observability/Instruments.ts"
import { registerGauge } from "../observability/RegisteredGauge.ts"

/** Shows how busy a pool is, while the scope is open. `takers` are those who have a connection or wait for one. */
export const showPool = (connectionsMax: number) =>
  Effect.fnUntraced(function* (takers: () => number) {
    const context = yield* Effect.context<never>()
    const gauges = [
      registerGauge(databaseConnections.of("used"), context, () => Math.min(takers(), connectionsMax)),
      registerGauge(databasePending.of(), context, () => Math.max(0, takers() - connectionsMax)),
      registerGauge(databaseConnectionsMax.of(), context, () => connectionsMax)
    ]
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const gauge of gauges) gauge.remove()
      })
    )
  })
