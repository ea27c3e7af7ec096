import type { Effect } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { instruments } from "./Instruments.ts"

const names = new Map(instruments.map(({ id, prometheusName }) => [id, prometheusName]))

/** The type of the text. Source: Prometheus, exposition formats. */
export const prometheusContentType = "text/plain; version=0.0.4; charset=utf-8"

/** Every series as it is now, in the text format of Prometheus. */
export const prometheusText: Effect.Effect<string> = PrometheusMetrics.format({
  metricNameMapper: (id) => names.get(id) ?? id
})
