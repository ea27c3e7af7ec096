import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import { Effect, Schema, type Scope } from "effect"
import { serveOnLoopback } from "./serveOnLoopback.ts"

type Attributes = Readonly<Record<string, unknown>>

/** A span as the collector got it, its attributes flat. */
export interface CollectedSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly status: number
  readonly attributes: Attributes
}

export interface CollectedLog {
  readonly body: unknown
  readonly severity: string
  readonly traceId: string | undefined
  readonly spanId: string | undefined
  readonly attributes: Attributes
}

/** One series of a metric, as it was last told. */
export interface CollectedPoint {
  readonly name: string
  readonly unit: string
  readonly kind: "gauge" | "sum" | "histogram"
  readonly attributes: Attributes
  /** The value; for a histogram, its count. */
  readonly value: number
  readonly sum: number | undefined
}

export interface Delivery {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** A collector of OpenTelemetry that takes OTLP over HTTP as JSON, and answers as a test tells it to. */
export interface TelemetryCollector {
  readonly url: string
  readonly deliveries: ReadonlyArray<Delivery>
  /** Sets the later answers: a status, or none ever. */
  readonly answer: (how: number | "never") => Effect.Effect<void>
  readonly spans: () => ReadonlyArray<CollectedSpan>
  readonly logs: () => ReadonlyArray<CollectedLog>
  readonly points: () => ReadonlyArray<CollectedPoint>
  /** The attributes of the process in the first delivery. */
  readonly resource: () => Attributes
}

/** OTLP's rules for JSON: ids as hexadecimal digits, times as decimal ones, numbers for kinds. */
const Id = (digits: number) => Schema.String.check(Schema.isPattern(new RegExp(`^[0-9a-f]{${digits}}$`)))
const Nanos = Schema.String.check(Schema.isPattern(/^\d{18,20}$/))
const Value = Schema.Union([
  Schema.Struct({ stringValue: Schema.String }),
  Schema.Struct({ boolValue: Schema.Boolean }),
  Schema.Struct({ intValue: Schema.Union([Schema.Int, Schema.String]) }),
  Schema.Struct({ doubleValue: Schema.Finite }),
  Schema.Struct({ arrayValue: Schema.Struct({ values: Schema.Array(Schema.Unknown) }) })
])
const AttributeList = Schema.Array(Schema.Struct({ key: Schema.NonEmptyString, value: Value }))
const Resource = Schema.Struct({ attributes: AttributeList })

const Traces = Schema.Struct({
  resourceSpans: Schema.Array(
    Schema.Struct({
      resource: Resource,
      scopeSpans: Schema.Array(
        Schema.Struct({
          spans: Schema.Array(
            Schema.Struct({
              name: Schema.NonEmptyString,
              kind: Schema.Int,
              traceId: Id(32),
              spanId: Id(16),
              parentSpanId: Schema.optionalKey(Id(16)),
              startTimeUnixNano: Nanos,
              endTimeUnixNano: Nanos,
              status: Schema.Struct({ code: Schema.Int }),
              attributes: AttributeList
            })
          )
        })
      )
    })
  )
})

const Logs = Schema.Struct({
  resourceLogs: Schema.Array(
    Schema.Struct({
      resource: Resource,
      scopeLogs: Schema.Array(
        Schema.Struct({
          logRecords: Schema.Array(
            Schema.Struct({
              body: Value,
              severityText: Schema.String,
              timeUnixNano: Nanos,
              traceId: Schema.optionalKey(Id(32)),
              spanId: Schema.optionalKey(Id(16)),
              attributes: AttributeList
            })
          )
        })
      )
    })
  )
})

const Points = Schema.Struct({
  dataPoints: Schema.Array(
    Schema.Struct({
      attributes: AttributeList,
      timeUnixNano: Nanos,
      asDouble: Schema.optionalKey(Schema.Finite),
      asInt: Schema.optionalKey(Schema.Union([Schema.Int, Schema.String])),
      count: Schema.optionalKey(Schema.Int),
      sum: Schema.optionalKey(Schema.Finite)
    })
  )
})

const Metrics = Schema.Struct({
  resourceMetrics: Schema.Array(
    Schema.Struct({
      resource: Resource,
      scopeMetrics: Schema.Array(
        Schema.Struct({
          metrics: Schema.Array(
            Schema.Struct({
              name: Schema.NonEmptyString,
              unit: Schema.String,
              gauge: Schema.optionalKey(Points),
              sum: Schema.optionalKey(Points),
              histogram: Schema.optionalKey(Points)
            })
          )
        })
      )
    })
  )
})

const readTraces = Schema.decodeUnknownSync(Schema.fromJsonString(Traces))
const readLogs = Schema.decodeUnknownSync(Schema.fromJsonString(Logs))
const readMetrics = Schema.decodeUnknownSync(Schema.fromJsonString(Metrics))

const valueOf = (value: typeof Value.Type): unknown => {
  if ("intValue" in value) return Number(value.intValue)
  return Object.values(value)[0]
}

const attributesOf = (list: typeof AttributeList.Type = []): Attributes =>
  Object.fromEntries(list.map(({ key, value }) => [key, valueOf(value)]))

type Metric = (typeof Metrics.Type)["resourceMetrics"][number]["scopeMetrics"][number]["metrics"][number]

const pointsOf = (metric: Metric): ReadonlyArray<CollectedPoint> =>
  (["gauge", "sum", "histogram"] as const).flatMap((kind) =>
    (metric[kind]?.dataPoints ?? []).map((point) => ({
      name: metric.name,
      unit: metric.unit,
      kind,
      attributes: attributesOf(point.attributes),
      value: Number(point.asDouble ?? point.asInt ?? point.count),
      sum: point.sum
    }))
  )

export const makeTelemetryCollector: Effect.Effect<TelemetryCollector, never, Scope.Scope> = Effect.gen(
  function* () {
    const deliveries: Array<Delivery> = []
    const held: Array<ServerResponse> = []
    let how: number | "never" = 200
    const server = createServer((request, response) => {
      let text = ""
      request.setEncoding("utf8").on("data", (piece: string) => (text += piece))
      request.on("end", () => {
        deliveries.push({ path: request.url ?? "", headers: request.headers, text })
        if (how === "never") held.push(response)
        else response.writeHead(how, { "content-type": "application/json" }).end("{}")
      })
    })
    const port = yield* serveOnLoopback(server)
    const at = (path: string) => deliveries.filter((delivery) => delivery.path === path)
    const lastMetrics = () => {
      const last = at("/v1/metrics").at(-1)
      return last === undefined ? [] : readMetrics(last.text).resourceMetrics
    }
    return {
      url: `http://127.0.0.1:${port}`,
      deliveries,
      answer: (next) => Effect.sync(() => void (how = next)),
      spans: () =>
        at("/v1/traces")
          .flatMap(({ text }) => readTraces(text).resourceSpans)
          .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
          .map(({ attributes, status, ...span }) => ({
            ...span,
            parentSpanId: span.parentSpanId,
            status: status.code,
            attributes: attributesOf(attributes)
          })),
      logs: () =>
        at("/v1/logs")
          .flatMap(({ text }) => readLogs(text).resourceLogs)
          .flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
          .map(({ attributes, body, severityText, spanId, traceId }) => ({
            body: valueOf(body),
            severity: severityText,
            traceId,
            spanId,
            attributes: attributesOf(attributes)
          })),
      points: () =>
        lastMetrics().flatMap(({ scopeMetrics }) =>
          scopeMetrics.flatMap(({ metrics }) => metrics.flatMap(pointsOf))
        ),
      resource: () => attributesOf(lastMetrics()[0]?.resource.attributes)
    }
  }
)
