import { databaseConnections, databaseConnectionsMax, databasePending } from "../telemetry/Instruments.ts"
import { keepRegistered, registerGauge } from "../telemetry/RegisteredGauge.ts"

/** Shows how busy a pool is, while the scope is open. `takers` are those who have a connection or wait for one. */
export const showPool = (connectionsMax: number) => (takers: () => number) =>
  keepRegistered((context) => [
    registerGauge(databaseConnections.of("used"), context, () => Math.min(takers(), connectionsMax)),
    registerGauge(databasePending.of(), context, () => Math.max(0, takers() - connectionsMax)),
    registerGauge(databaseConnectionsMax.of(), context, () => connectionsMax)
  ])
