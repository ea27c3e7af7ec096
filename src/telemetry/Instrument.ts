import { Metric } from "effect"

type Attributes = Readonly<Record<string, string>>

/** One thing that is measured, under one name, split by the values of its labels. */
export interface Instrument<out Series> {
  /** As OpenTelemetry names it. */
  readonly id: string
  /** As Prometheus names it, with its unit. */
  readonly prometheusName: string
  /** The series of these values, one for each label in their order; "" leaves a label out. */
  readonly of: (...values: ReadonlyArray<string>) => Series
}

interface Words {
  readonly description: string
  /** In the case-sensitive code of UCUM: s, By, {token}. */
  readonly unit: string
  readonly labels: ReadonlyArray<string>
}

const unitSuffixes: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes" }

/**
 * Units in braces are left out, as in every translation of OpenTelemetry to Prometheus, so that a dashboard fits whichever
 * way the figures took. Source: OpenTelemetry, Prometheus and OpenMetrics compatibility, metric metadata.
 */
const prometheusNameOf = (id: string, unit: string, suffix: string): string =>
  id.replaceAll(/[^a-zA-Z0-9]/g, "_") + (unitSuffixes[unit] ?? "") + suffix

/** Series are made once for each set of values, so that an update merges no attributes. */
const instrument = <Series>(
  id: string,
  { labels, unit }: Words,
  suffix: string,
  make: (attributes: Attributes) => Series
): Instrument<Series> => {
  const series = new Map<string, Series>()
  const of = (...values: ReadonlyArray<string>): Series => {
    const key = values.join("\n")
    const known = series.get(key)
    if (known !== undefined) return known
    const attributes: Record<string, string> = { unit }
    for (const [position, label] of labels.entries()) {
      const value = values[position] ?? ""
      if (value !== "") attributes[label] = value
    }
    const made = make(attributes)
    series.set(key, made)
    return made
  }
  return { id, prometheusName: prometheusNameOf(id, unit, suffix), of }
}

export const counter = (id: string, words: Words): Instrument<Metric.Counter<number>> =>
  instrument(id, words, "_total", (attributes) =>
    Metric.counter(id, { description: words.description, attributes, incremental: true })
  )

export const gauge = (id: string, words: Words): Instrument<Metric.Gauge<number>> =>
  instrument(id, words, "", (attributes) => Metric.gauge(id, { description: words.description, attributes }))

export const histogram = (
  id: string,
  words: Words & { readonly boundaries: ReadonlyArray<number> }
): Instrument<Metric.Histogram<number>> =>
  instrument(id, words, "", (attributes) =>
    Metric.histogram(id, { description: words.description, attributes, boundaries: words.boundaries })
  )
