import { Effect, Layer, Logger, Metric, References } from "effect"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { makeLogLines } from "./LogLines.ts"
import * as Instruments from "./Instruments.ts"
import { otlpLayer } from "./Otlp.ts"
import { processMetricsLayer } from "./ProcessMetrics.ts"

const levels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

const logLayer = (level: Settings["logLevel"]) =>
  Layer.mergeAll(Logger.layer([makeLogLines()]), Layer.succeed(References.MinimumLogLevel, levels[level]))

/** Where nobody takes the spans, making them would cost every request a part of its time. */
const untracedLayer = Layer.succeed(References.TracerEnabled, false)

const isTraced = ({ otlpEndpoint, otlpSignals }: Settings["observability"]) =>
  otlpEndpoint !== null && otlpSignals.includes("traces")

/** Whether anybody reads the metrics. */
const areMeasured = ({ metricsPort, metricsToken, otlpEndpoint, otlpSignals }: Settings["observability"]) =>
  metricsPort !== null || metricsToken !== null || (otlpEndpoint !== null && otlpSignals.includes("metrics"))

const measureLayer = (version: string) =>
  Layer.merge(processMetricsLayer, Layer.effectDiscard(Metric.update(Instruments.buildInfo.of(version), 1)))

/**
 * Logs as lines of JSON on the standard error, from the level that the settings name, and sends a collector what it is to
 * have. All that holds ids, numbers and reasons; never a key, and never the text of a prompt, an answer or a file.
 */
export const observabilityLayer = (version: string) =>
  Layer.unwrap(
    AppConfig.use(({ logLevel, observability }) =>
      Effect.succeed(
        Layer.mergeAll(
          observability.otlpEndpoint === null
            ? Layer.empty
            : otlpLayer(observability, observability.otlpEndpoint, version),
          isTraced(observability) ? Layer.empty : untracedLayer
        ).pipe(
          // Below the exporters, so that their last figures are whole.
          Layer.provideMerge(areMeasured(observability) ? measureLayer(version) : Layer.empty),
          Layer.provideMerge(logLayer(logLevel))
        )
      )
    )
  )
