import { readFileSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted, Schema } from "effect"
import { freePort } from "../support/freePort.ts"
import { makeMockModelServer, mockDirective } from "../support/MockModelServer.ts"
import { startService } from "../support/ServiceProcess.ts"
import { TestApp } from "../support/TestApp.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until, untilValue } from "../support/until.ts"
import { call, errorOf, openCall, responseOf } from "../support/Wire.ts"

/** A key as `parley key generate` makes it; it opens nothing but the database of this test. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"
const token = "a-token-for-metrics"
const slow = 120_000

const occupiedPort = Effect.acquireRelease(
  Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      resume(Effect.succeed({ port, close: () => void server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

const start = Effect.fnUntraced(function* (more: Readonly<Record<string, string>>) {
  const fs = yield* FileSystem.FileSystem
  return yield* startService({
    DATABASE_URL: Redacted.value((yield* TestDatabase).url),
    PARLEY_DATA_DIR: yield* fs.makeTempDirectoryScoped({ prefix: "parley-metrics-" }),
    PARLEY_INIT_API_KEY: key,
    // Each process has a directory of its own here.
    PARLEY_FILES_STORE: "postgres",
    ...more
  })
})

/** One sample: a name, its labels and its value. */
interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * The samples of a text, having checked that every line is one, or says something about a metric of that
 * name.
 */
const samplesOf = (text: string): ReadonlyArray<Sample> => {
  assert.isTrue(text.endsWith("\n"))
  const types = new Map<string, string>()
  return text
    .trimEnd()
    .split("\n")
    .flatMap((line) => {
      const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line)
      if (type !== null) {
        assert.isFalse(types.has(type[1]!), `${type[1]} has one type`)
        types.set(type[1]!, type[2]!)
        return []
      }
      if (line.startsWith("# HELP ")) return []
      const match = /^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line)
      assert.isNotNull(match, line)
      const [, name = "", labels = "", value = ""] = match!
      const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "")
      assert.isTrue(types.has(family), line)
      if (types.get(family) === "counter") assert.isTrue(name.endsWith("_total"), line)
      return [
        {
          name,
          labels: Object.fromEntries(
            [...labels.matchAll(/([a-z_][a-z0-9_]*)="([^"]*)"(?:,|$)/g)].map(([, label = "", text = ""]) => [
              label,
              text
            ])
          ),
          value: value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value)
        }
      ]
    })
}

const valueOf = (
  samples: ReadonlyArray<Sample>,
  name: string,
  labels: Readonly<Record<string, string>> = {}
) =>
  samples.find(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, text]) => sample.labels[label] === text)
  )?.value

const post = (url: string, body: object) => call(`${url}/v1/responses`, { key, body })

/** A little of everything that is measured. */
const traffic = Effect.fnUntraced(function* (url: string) {
  responseOf(yield* post(url, { input: "What is 12*12?", stream: false }))
  yield* post(url, { input: "Hi", stream: true })
  yield* post(url, { input: 5 })
  const failed = yield* post(url, {
    input: `Hi ${mockDirective({ status: 501, errorBody: "{}" })}`,
    stream: false
  })
  assert.isAtLeast(failed.status, 500)
  yield* call(`${url}/v1/files/0197f0a0-0000-7000-8000-000000000000`, { key })
})

const trafficRequests = 5

/** Requests to the interface that are over. */
const requestsIn = (samples: ReadonlyArray<Sample>): number =>
  samples
    .filter(
      ({ labels, name }) =>
        name === "http_server_request_duration_seconds_count" && labels["http_route"]?.startsWith("/v1/")
    )
    .reduce((sum, { value }) => sum + value, 0)

const Dashboard = Schema.fromJsonString(
  Schema.Struct({
    panels: Schema.Array(
      Schema.Struct({
        type: Schema.String,
        title: Schema.NonEmptyString,
        fieldConfig: Schema.optionalKey(
          Schema.Struct({ defaults: Schema.Struct({ unit: Schema.NonEmptyString }) })
        ),
        targets: Schema.optionalKey(Schema.NonEmptyArray(Schema.Struct({ expr: Schema.NonEmptyString })))
      })
    ),
    templating: Schema.Struct({
      list: Schema.Array(
        Schema.Struct({
          name: Schema.String,
          type: Schema.String,
          definition: Schema.optionalKey(Schema.String)
        })
      )
    })
  })
)

const readDashboard = Schema.decodeUnknownSync(Dashboard)

/**
 * The metrics that a query reads, and their labels: every metric is followed by its labels in braces, and
 * may be split by others.
 */
const readsOf = (query: string) => {
  const split = [...query.matchAll(/by \(([^)]*)\)/g)].flatMap(([, labels = ""]) => labels.split(", "))
  return [...query.matchAll(/([a-z_][a-z0-9_]*)\{([^}]*)\}/g)].map(([, name = "", selector = ""]) => ({
    name,
    labels: [
      ...split,
      ...[...selector.matchAll(/([a-z_]+)(?:=~|!=|=)/g)].map(([, label = ""]) => label)
    ].filter((label) => label !== "instance" && label !== "le")
  }))
}

layer(Layer.mergeAll(TestDatabase.clone, NodeFileSystem.layer), { excludeTestServices: true })(
  "metrics of a process",
  (it) => {
    it.effect(
      "the metrics of a process are served on a port of their own and, with the token, on the service's port, and feed the dashboard",
      () =>
        Effect.gen(function* () {
          const port = yield* freePort
          const upstream = yield* makeMockModelServer
          const service = yield* start({
            PARLEY_METRICS_PORT: String(port),
            PARLEY_METRICS_TOKEN: token,
            OPENAI_BASE_URL: upstream.url,
            OPENAI_MODEL: "mock-model"
          })
          const url = yield* service.url
          yield* upstream.script({
            calls: [{ id: "c1", name: "calculator", arguments: '{"expression":"12*12"}' }],
            finish: "tool_calls"
          })
          yield* traffic(url)
          const own = `http://127.0.0.1:${port}`
          const scraped = yield* call(`${own}/metrics`, {})
          assert.strictEqual(scraped.status, 200)
          assert.strictEqual(scraped.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8")
          for (const [path, method] of [
            ["/", "GET"],
            ["/metrics", "POST"],
            ["/healthz", "GET"],
            ["/v1/files", "GET"],
            ["/metricsx", "GET"]
          ] as const) {
            const { body, status } = yield* openCall(own + path, { method, key })
            yield* Effect.promise(async () => body?.cancel())
            assert.strictEqual(status, 404, `${method} ${path}`)
          }
          // A request is counted when it is over, which is a moment after the client has its answer.
          const read = Effect.map(call(`${url}/metrics`, { key: token }), ({ text }) => samplesOf(text))
          yield* until(Effect.map(read, (samples) => requestsIn(samples) === trafficRequests))
          const samples = yield* read
          checkSamples(samples)

          const background = { input: "Hi", background: true }
          yield* call(`${url}/openai/v1/responses`, { key, body: background })
          const isCounted = (all: ReadonlyArray<Sample>) =>
            all.some(
              ({ labels, name }) => name === "parley_response_jobs_total" && labels["status"] === "completed"
            )
          checkDashboard(yield* untilValue(read, isCounted))

          const open = yield* openCall(`${url}/v1/responses`, {
            key,
            body: { input: `Hi ${mockDirective({ endless: true, gapMillis: 5 })}` }
          })
          const openStreams = Effect.map(call(`${own}/metrics`, {}), ({ text }) =>
            valueOf(samplesOf(text), "parley_streams_open")
          )
          assert.strictEqual(yield* openStreams, 1)
          yield* Effect.promise(() => open.body!.cancel())
          yield* until(Effect.map(openStreams, (streams) => streams === 0))
          yield* service.signal("SIGTERM")
          assert.strictEqual(yield* service.exit, 0)
        }),
      slow
    )

    it.effect(
      "a metrics port that is in use fails the start with the setting to change",
      () =>
        Effect.gen(function* () {
          const { port } = yield* occupiedPort
          const service = yield* start({ PARLEY_METRICS_PORT: String(port) })
          assert.strictEqual(yield* service.exit, 1)
          const { err, out } = service.output()
          assert.include(err, `address already in use 127.0.0.1:${port}`)
          assert.include(err, "PARLEY_METRICS_HOST and PARLEY_METRICS_PORT say where")
          assert.notInclude(err, ". HOST and PORT")
          assert.notInclude(out, "is ready")
        }),
      slow
    )
  }
)

const checkSamples = (samples: ReadonlyArray<Sample>) => {
  const model = { gen_ai_provider_name: "openai", gen_ai_request_model: "mock-model" }
  assert.strictEqual(valueOf(samples, "parley_responses_total", { outcome: "completed" }), 2)
  assert.strictEqual(valueOf(samples, "parley_responses_total", { outcome: "refused" }), 1)
  assert.strictEqual(valueOf(samples, "parley_responses_total", { outcome: "failed" }), 1)
  assert.strictEqual(
    valueOf(samples, "parley_tool_calls_total", { tool: "calculator", outcome: "completed" }),
    1
  )
  assert.strictEqual(valueOf(samples, "gen_ai_server_time_to_first_token_seconds_count", model), 2)
  // Two rounds of the first response, and the second one.
  assert.strictEqual(
    samples
      .filter(
        ({ labels, name }) =>
          name === "gen_ai_client_operation_duration_seconds_count" && !("error_type" in labels)
      )
      .reduce((sum, { value }) => sum + value, 0),
    3
  )
  assert.isAbove(
    valueOf(samples, "gen_ai_client_token_usage_sum", { ...model, gen_ai_token_type: "output" }) ?? 0,
    0
  )
  for (const operation of ["read", "write"]) {
    const tokens = valueOf(samples, "parley_prompt_cache_tokens_total", { ...model, operation })
    assert.isAbove(tokens ?? 0, 0, operation)
  }
  assert.strictEqual(
    valueOf(samples, "http_server_request_duration_seconds_count", {
      http_request_method: "GET",
      http_route: "/v1/files/:file_id",
      http_response_status_code: "404"
    }),
    1
  )
  assert.strictEqual(valueOf(samples, "parley_provider_state", { state: "open" }), 0)
  assert.strictEqual(valueOf(samples, "db_client_connection_max"), 10)
  const info = samples.find(({ name }) => name === "parley_build_info")?.labels ?? {}
  assert.match(info["version"] ?? "", /^\d/)
  assert.match(info["build"] ?? "", /^[\w.+-]{1,64}$/)
  for (const { labels } of samples) {
    for (const value of Object.values(labels))
      assert.notMatch(value, /[0-9a-f]{8}-[0-9a-f]{4}-/, "no id is a label")
  }
  for (const { labels, name, value } of samples) {
    if (labels["le"] !== "+Inf") continue
    const { le: _, ...others } = labels
    assert.strictEqual(valueOf(samples, name.replace(/_bucket$/, "_count"), others), value)
  }
}

const checkDashboard = (samples: ReadonlyArray<Sample>) => {
  const { panels, templating } = readDashboard(
    readFileSync(new URL("../../ops/grafana/parley-dashboard.json", import.meta.url), "utf8")
  )
  assert.isTrue(templating.list.some(({ name, type }) => name === "datasource" && type === "datasource"))
  const graphs = panels.filter(({ type }) => type !== "row")
  assert.isAbove(graphs.length, 15)
  for (const { fieldConfig, title } of graphs) assert.isDefined(fieldConfig, `${title} has a unit`)
  const queries = [
    ...graphs.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...templating.list.flatMap(({ definition }) => (definition === undefined ? [] : [definition]))
  ]
  for (const query of queries) {
    const reads = readsOf(query)
    assert.isNotEmpty(reads, query)
    for (const { labels, name } of reads) {
      const series = samples.filter((sample) => sample.name === name)
      assert.isNotEmpty(series, `${name} of ${query}`)
      for (const label of labels) {
        assert.isTrue(
          series.some((sample) => label in sample.labels),
          `${label} of ${name} in ${query}`
        )
      }
    }
  }
  // Every metric is shown in a dashboard or an alert: one that nobody looks at only costs.
  const shown = new Set(queries.flatMap((query) => readsOf(query).map(({ name }) => familyOf(name))))
  assert.deepStrictEqual(
    [...new Set(samples.map(({ name }) => familyOf(name)))].filter((name) => !shown.has(name)),
    []
  )
}

const familyOf = (name: string): string => name.replace(/_(bucket|sum|count)$/, "")

layer(TestApp.layer({ observability: { metricsToken: Redacted.make(token) } }), {
  excludeTestServices: true
})("/metrics with a token", (it) => {
  it.effect("/metrics is served with the token and refused without it", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      assert.strictEqual((yield* call(`${url}/metrics`, { key: token })).status, 200)
      const lower = yield* call(`${url}/metrics`, { headers: { authorization: `bearer ${token}` } })
      assert.strictEqual(lower.status, 200)
      for (const authorization of [
        undefined,
        "",
        token,
        "Bearer",
        "Bearer ",
        `Bearer ${alice.key}`,
        `Bearer ${token}x`,
        `Bearer ${token.slice(1)}`,
        `Basic ${token}`,
        `Bearer ${token} ${token}`
      ]) {
        const reply = yield* call(`${url}/metrics`, {
          headers: authorization === undefined ? {} : { authorization }
        })
        const error = errorOf(reply, 401)
        assert.strictEqual(error.code, "invalid_metrics_token")
        assert.strictEqual(reply.headers.get("www-authenticate"), "Bearer")
      }
      const inQuery = yield* call(`${url}/metrics?token=${token}`, {})
      assert.strictEqual(inQuery.status, 401)
      const posted = yield* call(`${url}/metrics`, { method: "POST", key: token })
      assert.strictEqual(errorOf(posted, 405).type, "invalid_request_error")
      // The token opens nothing else.
      assert.strictEqual((yield* call(`${url}/v1/files`, { key: token })).status, 401)
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("/metrics without a token", (it) => {
  it.effect("/metrics without a configured token is an unknown route", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const one = yield* call(`${url}/metrics`, { key: alice.key })
      const other = yield* call(`${url}/nothing`, { key: alice.key })
      errorOf(one, 404)
      assert.strictEqual(one.text.replaceAll("/metrics", "/nothing"), other.text)
    })
  )
})
