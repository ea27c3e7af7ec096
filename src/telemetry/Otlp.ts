import { hostname } from "node:os"
import { Cause, Effect, Exit, Layer, Logger, Option, Predicate, Redacted, Tracer } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { OtlpExporter, OtlpLogger, OtlpMetrics, OtlpSerialization, OtlpTracer } from "effect/observability"
import type { Settings } from "../settings/AppConfig.ts"
import { pairsIn } from "../settings/TextCodec.ts"
import { makeCollectorClient } from "./Collector.ts"

/** The name of an error, which holds nothing of its content. */
const kindOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (Predicate.hasProperty(error, "_tag") && typeof error._tag === "string") return error._tag
  return error instanceof Error ? error.name : "Error"
}

const withoutStack = (kind: string): Error => {
  const error = new Error(kind)
  error.name = kind
  error.stack = kind
  return error
}

/** A failed exit with only the name of the failure: its message may hold what a user or a model wrote. */
const bare = (exit: Exit.Exit<unknown, unknown>): Exit.Exit<unknown, unknown> =>
  Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)
    ? exit
    : Exit.fail(withoutStack(kindOf(exit.cause)))

/**
 * The same tracer, which gets only the names of failures, and only the spans of requests: background work
 * would create traces without end.
 */
export const bareTracer = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      const isOfRequest = options.kind === "server" || Option.isSome(options.parent)
      const span = tracer.span({ ...options, sampled: options.sampled && isOfRequest })
      const end = span.end.bind(span)
      span.end = (endTime, exit) => end(endTime, bare(exit))
      return span
    }
  })

/** The time that each exporter may take at the end of the process to send what it still has. */
const shutdownTimeout = "2 seconds"

/** Interval of the export of metrics. */
const metricsSeconds = 10

const recordOf = (text: string | null): Record<string, string> =>
  Object.fromEntries(text === null ? [] : Option.getOrElse(pairsIn(text), () => []))

/** The unit belongs to a metric once, and is none of its labels. */
const withoutUnit = <Point extends { readonly attributes?: ReadonlyArray<{ readonly key: string }> }>(
  points: ReadonlyArray<Point>
): Array<Point> =>
  points.map((point) => ({
    ...point,
    attributes: (point.attributes ?? []).filter(({ key }) => key !== "unit")
  }))

const withoutUnits = (data: OtlpMetrics.MetricsData): OtlpMetrics.MetricsData => ({
  resourceMetrics: data.resourceMetrics.map((resource) => ({
    ...resource,
    scopeMetrics: resource.scopeMetrics.map((scope) => ({
      ...scope,
      metrics: scope.metrics.map(({ gauge, histogram, sum, ...metric }) => ({
        ...metric,
        ...(gauge === undefined ? {} : { gauge: { dataPoints: withoutUnit(gauge.dataPoints) } }),
        ...(sum === undefined ? {} : { sum: { ...sum, dataPoints: withoutUnit(sum.dataPoints) } }),
        ...(histogram === undefined
          ? {}
          : { histogram: { ...histogram, dataPoints: withoutUnit(histogram.dataPoints) } })
      }))
    }))
  }))
})

const serializationLayer = Layer.effect(
  OtlpSerialization.OtlpSerialization,
  Effect.map(OtlpSerialization.OtlpSerialization, (serialization) => ({
    ...serialization,
    metrics: (data: OtlpMetrics.MetricsData) => serialization.metrics(withoutUnits(data))
  }))
).pipe(Layer.provide(OtlpSerialization.layerJson))

/** The headers may hold a key, which is sent only to the collector that the settings name. */
const noRedirects = Layer.succeed(FetchHttpClient.RequestInit, { redirect: "manual" })

const collectorLayer = Layer.effect(HttpClient.HttpClient, makeCollectorClient).pipe(
  Layer.provide(FetchHttpClient.layer),
  Layer.provide(noRedirects)
)

/** Exports the signals that the settings name; at the end of the process the rest is sent within seconds. */
export const otlpLayer = (settings: Settings["observability"], endpoint: string, version: string) => {
  const sends = (signal: Settings["observability"]["otlpSignals"][number]) =>
    settings.otlpSignals.includes(signal)
  const common = {
    headers: recordOf(settings.otlpHeaders === null ? null : Redacted.value(settings.otlpHeaders)),
    resource: {
      serviceName: settings.serviceName,
      serviceVersion: version,
      attributes: {
        // Metrics of two processes must not be mixed up, unless the operator has names for them.
        "service.instance.id": `${hostname()}:${process.pid}`,
        ...recordOf(settings.resourceAttributes)
      }
    },
    shutdownTimeout
  } as const
  const traces = Layer.effect(
    Tracer.Tracer,
    Effect.map(OtlpTracer.make({ ...common, url: `${endpoint}/v1/traces` }), bareTracer)
  )
  const logs = Logger.layer(
    [OtlpLogger.make({ ...common, url: `${endpoint}/v1/logs`, excludeLogSpans: true })],
    {
      mergeWithExisting: true
    }
  )
  const metrics = Layer.effectDiscard(
    OtlpMetrics.make({
      ...common,
      url: `${endpoint}/v1/metrics`,
      exportInterval: `${metricsSeconds} seconds`
    })
  )
  return Layer.mergeAll(
    sends("traces") ? traces : Layer.empty,
    sends("logs") ? logs : Layer.empty,
    sends("metrics") ? metrics : Layer.empty
  ).pipe(Layer.provide([serializationLayer, collectorLayer, OtlpExporter.layerFlusher]))
}
