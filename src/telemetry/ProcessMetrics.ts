import { type Context, Effect, Layer, Metric } from "effect"
import { monitorEventLoopDelay } from "node:perf_hooks"
import * as Instruments from "./Instruments.ts"
import { keepRegistered, registerGauge } from "./RegisteredGauge.ts"

/** How finely the event loop is watched. */
const resolutionMillis = 20

const nanosPerSecond = 1_000_000_000
const microsPerSecond = 1_000_000

const registerCounter = (
  metric: Metric.Counter<number>,
  context: Context.Context<never>,
  read: () => number
): Metric.Registration =>
  Metric.registerUnsafe(metric, context, {
    get: () => ({ count: read(), incremental: true }),
    update: () => {},
    modify: () => {}
  })

const watchDelay = Effect.acquireRelease(
  Effect.sync(() => {
    const delay = monitorEventLoopDelay({ resolution: resolutionMillis })
    delay.enable()
    return delay
  }),
  (delay) => Effect.sync(() => delay.disable())
)

/** What the process takes of the machine, while the scope is open. */
export const processMetricsLayer: Layer.Layer<never> = Layer.effectDiscard(
  Effect.gen(function* () {
    const delay = yield* watchDelay
    const delaySeconds = () => {
      const nanos = delay.percentile(99)
      delay.reset()
      // What is measured includes the resolution itself.
      return Math.max(0, nanos / nanosPerSecond - resolutionMillis / 1_000)
    }
    yield* keepRegistered((context) => [
      registerGauge(Instruments.memoryUsage.of(), context, () => process.memoryUsage.rss()),
      registerGauge(Instruments.heapUsed.of(), context, () => process.memoryUsage().heapUsed),
      registerGauge(Instruments.uptime.of(), context, () => process.uptime()),
      registerGauge(Instruments.eventLoopDelay.of(), context, delaySeconds),
      registerCounter(
        Instruments.cpuTime.of("user"),
        context,
        () => process.cpuUsage().user / microsPerSecond
      ),
      registerCounter(
        Instruments.cpuTime.of("system"),
        context,
        () => process.cpuUsage().system / microsPerSecond
      )
    ])
  })
)
