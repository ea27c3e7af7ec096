import { monitorEventLoopDelay } from "node:perf_hooks"
import { Effect, Layer, Logger, Metric, References } from "effect"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import type { Build } from "../settings/Build.ts"
import * as Instruments from "./Instruments.ts"
import { makeLogLines } from "./LogLines.ts"
import type { LogOutput } from "./LogOutput.ts"
import { otlpLayer } from "./Otlp.ts"

const levels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

/** Short lines for a person at a terminal, and JSON for programs, unless the settings name one. */
const formatOf = (format: Settings["logFormat"]): "json" | "pretty" =>
  format === "auto" ? (process.stderr.isTTY ? "pretty" : "json") : format

const logLayer = ({ logFormat, logLevel: level }: Settings, log: LogOutput) =>
  Layer.mergeAll(
    Logger.layer([makeLogLines(log, formatOf(logFormat))]),
    Layer.succeed(References.MinimumLogLevel, levels[level])
  )

/** Creating spans without exporting them would cost every request a part of its time. */
const untracedLayer = Layer.succeed(References.TracerEnabled, false)

const isTraced = ({ otlpEndpoint, otlpSignals }: Settings["observability"]) =>
  otlpEndpoint !== null && otlpSignals.includes("traces")

/** True if anybody can read the metrics. */
const isMeasured = ({ metricsPort, metricsToken, otlpEndpoint, otlpSignals }: Settings["observability"]) =>
  metricsPort !== null || metricsToken !== null || (otlpEndpoint !== null && otlpSignals.includes("metrics"))

/** Resolution of the measured delay of the event loop. */
const resolutionMillis = 20
const nanosPerSecond = 1_000_000_000
const microsPerSecond = 1_000_000

/** The delay of the event loop since it was last read, in seconds; 99 of 100 turns were no later. */
const eventLoopDelay = Effect.acquireRelease(
  Effect.sync(() => {
    const delay = monitorEventLoopDelay({ resolution: resolutionMillis })
    delay.enable()
    return delay
  }),
  (delay) => Effect.sync(() => delay.disable())
).pipe(
  Effect.map((delay) => () => {
    const nanos = delay.percentile(99)
    delay.reset()
    // The measured delay includes the resolution itself.
    return Math.max(0, nanos / nanosPerSecond - resolutionMillis / 1_000)
  })
)

/** Metrics of the machine's resources that the process uses. */
const processMetricsLayer = ({ build, version }: Build, log: LogOutput) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { buildInfo, cpuTime, heapUsed, memoryUsage, observedCounter, observedGauge, uptime } =
        Instruments
      yield* Metric.update(buildInfo.of(version, build), 1)
      yield* Instruments.observe([
        observedGauge(memoryUsage.of(), () => process.memoryUsage.rss()),
        observedGauge(heapUsed.of(), () => process.memoryUsage().heapUsed),
        observedGauge(uptime.of(), () => process.uptime()),
        observedGauge(Instruments.eventLoopDelay.of(), yield* eventLoopDelay),
        observedCounter(Instruments.logLinesLost.of(), log.lost),
        observedCounter(cpuTime.of("user"), () => process.cpuUsage().user / microsPerSecond),
        observedCounter(cpuTime.of("system"), () => process.cpuUsage().system / microsPerSecond)
      ])
    })
  )

/**
 * Logs lines of JSON to `log`, from the level that the settings name, and exports what they name to a
 * collector. All that holds ids, numbers and reasons; never a key, and never the text of a prompt, an answer
 * or a file.
 */
export const telemetryLayer = (build: Build, log: LogOutput) =>
  Layer.unwrap(
    AppConfig.useSync((settings) => {
      const { observability } = settings
      return Layer.mergeAll(
        observability.otlpEndpoint === null
          ? Layer.empty
          : otlpLayer(observability, observability.otlpEndpoint, build.version),
        isTraced(observability) ? Layer.empty : untracedLayer
      ).pipe(
        // Below the exporters, so that their last figures are whole.
        Layer.provideMerge(isMeasured(observability) ? processMetricsLayer(build, log) : Layer.empty),
        Layer.provideMerge(logLayer(settings, log))
      )
    })
  )
