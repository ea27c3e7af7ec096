import { type Context, Effect, Metric, type Scope } from "effect"
import { PrometheusMetrics } from "effect/observability"

/** One thing that is measured, under one name, split by the values of its labels. */
interface Instrument<out Series> {
  /** The name in OpenTelemetry. */
  readonly id: string
  /** The name in Prometheus, with its unit. */
  readonly prometheusName: string
  /** The series with these values of the labels, in the labels' order; "" leaves a label out. */
  readonly of: (...values: ReadonlyArray<string>) => Series
}

const unitSuffixes: Readonly<Record<string, string>> = { s: "_seconds", By: "_bytes" }

/**
 * Units in braces are left out, as in every translation of OpenTelemetry to Prometheus, so that a dashboard
 * fits both. Source: OpenTelemetry, Prometheus and OpenMetrics compatibility, metric metadata.
 */
const prometheusNameOf = (id: string, unit: string, suffix: string): string =>
  id.replaceAll(/[^a-zA-Z0-9]/g, "_") + (unitSuffixes[unit] ?? "") + suffix

/**
 * `unit` is in the case-sensitive code of UCUM. A series is created once, so that an update merges no
 * attributes.
 */
const instrument = <Series>(
  id: string,
  unit: string,
  labels: ReadonlyArray<string>,
  suffix: string,
  create: (attributes: Readonly<Record<string, string>>) => Series
): Instrument<Series> => {
  const series = new Map<string, Series>()
  const of = (...values: ReadonlyArray<string>): Series => {
    const key = values.join("\n")
    const known = series.get(key)
    if (known !== undefined) return known
    const labeled = labels.flatMap((label, index) => (values[index] ? [[label, values[index]]] : []))
    const created = create({ unit, ...Object.fromEntries(labeled) })
    series.set(key, created)
    return created
  }
  return { id, prometheusName: prometheusNameOf(id, unit, suffix), of }
}

const counter = (id: string, unit: string, description: string, labels: ReadonlyArray<string> = []) =>
  instrument(id, unit, labels, "_total", (attributes) =>
    Metric.counter(id, { description, attributes, incremental: true })
  )

const gauge = (id: string, unit: string, description: string, labels: ReadonlyArray<string> = []) =>
  instrument(id, unit, labels, "", (attributes) => Metric.gauge(id, { description, attributes }))

const histogram = (
  id: string,
  unit: string,
  description: string,
  labels: ReadonlyArray<string>,
  boundaries: ReadonlyArray<number>
) =>
  instrument(id, unit, labels, "", (attributes) =>
    Metric.histogram(id, { description, attributes, boundaries })
  )

/*
 * Everything that is measured. No label names a user, a key, a conversation or a path: each has few values,
 * and a model is one of the catalog. Names, labels and boundaries are those of OpenTelemetry where it has
 * any. Source: OpenTelemetry semantic conventions, generative AI metrics, HTTP metrics, database client
 * metrics.
 */

const callLabels = [
  "gen_ai.operation.name",
  "gen_ai.provider.name",
  "gen_ai.request.model",
  "gen_ai.response.model"
]

export const tokenUsage = histogram(
  "gen_ai.client.token.usage",
  "{token}",
  "Tokens of a response that models read and wrote",
  [...callLabels, "gen_ai.token.type"],
  [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864]
)
/** Parts of the input in `tokenUsage`, whose types have to add up to all tokens. */
export const promptCacheTokens = counter(
  "parley.prompt_cache.tokens",
  "{token}",
  "Input tokens that providers read from their prompt caches, or wrote to them",
  [...callLabels, "operation"]
)
export const operationDuration = histogram(
  "gen_ai.client.operation.duration",
  "s",
  "Time that a call of a model took",
  [...callLabels, "error.type"],
  [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
)
export const timeToFirstToken = histogram(
  "gen_ai.server.time_to_first_token",
  "s",
  "Time from a request to the first output of a model",
  callLabels,
  [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
)
export const requestDuration = histogram(
  "http.server.request.duration",
  "s",
  "Time from a request to the end of its response",
  ["http.request.method", "http.route", "http.response.status_code"],
  [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
)
export const responses = counter(
  "parley.responses",
  "{response}",
  "Requests for a response, by what became of them",
  ["outcome"]
)
export const errors = counter("parley.errors", "{error}", "Errors sent to clients, by code", ["code"])
export const openStreams = gauge("parley.streams.open", "{stream}", "Event streams that are open")
export const responseJobs = counter(
  "parley.response.jobs",
  "{response}",
  "Responses in the background, and those with an Idempotency-Key, that ended",
  ["status"]
)
export const responseJobsRunning = gauge(
  "parley.response.jobs.running",
  "{response}",
  "Such responses that this process is making"
)
export const toolCalls = counter("parley.tool.calls", "{call}", "Calls of tools, by tool and outcome", [
  "tool",
  "outcome"
])
export const allowanceRefusals = counter(
  "parley.allowance.refusals",
  "{request}",
  "Requests that were refused because the tokens of a day or a month were spent",
  ["window"]
)
export const providerState = gauge(
  "parley.provider.state",
  "1",
  "1 for the state that a provider is in, and 0 for the others",
  ["gen_ai.provider.name", "state"]
)
export const providerRunning = gauge(
  "parley.provider.requests.running",
  "{request}",
  "Requests that a provider works at",
  ["gen_ai.provider.name"]
)
export const providerWaiting = gauge(
  "parley.provider.requests.waiting",
  "{request}",
  "Requests that wait for their turn at a provider",
  ["gen_ai.provider.name"]
)
export const databaseConnections = gauge(
  "db.client.connection.count",
  "{connection}",
  "Connections to the database that are at work",
  ["db.client.connection.state"]
)
export const databaseConnectionsMax = gauge(
  "db.client.connection.max",
  "{connection}",
  "Most connections to the database that are opened"
)
export const databasePending = gauge(
  "db.client.connection.pending_requests",
  "{request}",
  "Statements that wait for a connection to the database"
)
export const lastBackupTime = gauge(
  "parley.backup.last_success.timestamp",
  "s",
  "Time of the newest good backup, in seconds since 1970; 0 where there is none"
)
export const backupFailures = counter("parley.backup.failures", "{backup}", "Scheduled backups that failed")
export const buildInfo = gauge("parley.build.info", "1", "1, with the version and the build as labels", [
  "version",
  "build"
])
export const memoryUsage = gauge("process.memory.usage", "By", "Memory that the process holds")
export const heapUsed = gauge("v8js.memory.heap.used", "By", "Memory of the heap that is in use")
export const cpuTime = counter("process.cpu.time", "s", "Processor time that the process took", ["cpu.mode"])
export const uptime = gauge("process.uptime", "s", "Time that the process has been running")
export const eventLoopDelay = gauge(
  "nodejs.eventloop.delay.p99",
  "s",
  "How late the event loop was in 99 of 100 turns since this was last read"
)

export const logLinesLost = counter(
  "parley.log.lines.lost",
  "{line}",
  "Log lines that could not be written to the standard error"
)

const instruments = [
  tokenUsage,
  promptCacheTokens,
  operationDuration,
  timeToFirstToken,
  requestDuration,
  responses,
  errors,
  openStreams,
  responseJobs,
  responseJobsRunning,
  toolCalls,
  allowanceRefusals,
  providerState,
  providerRunning,
  providerWaiting,
  databaseConnections,
  databaseConnectionsMax,
  databasePending,
  lastBackupTime,
  backupFailures,
  buildInfo,
  memoryUsage,
  heapUsed,
  cpuTime,
  uptime,
  eventLoopDelay,
  logLinesLost
]

const prometheusNames = new Map(instruments.map(({ id, prometheusName }) => [id, prometheusName]))

/** The type of the text. Source: Prometheus, exposition formats. */
export const prometheusContentType = "text/plain; version=0.0.4; charset=utf-8"

/** Every series as it is now, in the text format of Prometheus. */
export const prometheusText: Effect.Effect<string> = PrometheusMetrics.format({
  metricNameMapper: (id) => prometheusNames.get(id) ?? id
})

/** A series whose value is read when the metrics are. */
type ObservedSeries = (context: Context.Context<never>) => Metric.Registration

const unused = { update: () => {}, modify: () => {} }

export const observedGauge =
  (series: Metric.Gauge<number>, read: () => number): ObservedSeries =>
  (context) =>
    Metric.registerUnsafe(series, context, { get: () => ({ value: read() }), ...unused })

export const observedCounter =
  (series: Metric.Counter<number>, read: () => number): ObservedSeries =>
  (context) =>
    Metric.registerUnsafe(series, context, {
      get: () => ({ count: read(), incremental: true }),
      ...unused
    })

/** Shows the series while the scope is open. */
export const observe = (series: ReadonlyArray<ObservedSeries>): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.contextWith((context: Context.Context<never>) =>
      Effect.sync(() => series.map((register) => register(context)))
    ),
    (registrations) => Effect.sync(() => registrations.forEach((registration) => registration.remove()))
  ).pipe(Effect.asVoid)
