import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { makeMockModelServer, mockDirective, type MockModelServer } from "../support/MockModelServer.ts"
import { startService } from "../support/ServiceProcess.ts"
import { makeTelemetryCollector, type TelemetryCollector } from "../support/TelemetryCollector.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import { call, eventsOf, openCall, responseOf } from "../support/Wire.ts"

/** A key as `parley key generate` makes it; it opens nothing but the database of this test. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"
const metricsToken = "TOKENMARK-0123456789"
const collectorKey = "COLLECTORMARK"

/** Words that are nowhere but in what people, models, tools and operators keep to themselves. */
const marks = [
  "PROMPTMARK",
  "ANSWERMARK",
  "INSTRUCTIONSMARK",
  "FILEMARK",
  "NAMEMARK",
  "ARGUMENTMARK",
  "URLMARK",
  "QUERYMARK",
  "PATHMARK",
  "UPSTREAMMARK",
  metricsToken,
  collectorKey,
  key
]

const processLayer = Layer.mergeAll(TestDatabase.clone, NodeFileSystem.layer)
const slow = 120_000

const start = Effect.fnUntraced(function* (
  upstream: MockModelServer,
  collector: TelemetryCollector,
  more: Readonly<Record<string, string>> = {}
) {
  const fs = yield* FileSystem.FileSystem
  return yield* startService({
    DATABASE_URL: Redacted.value((yield* TestDatabase).url),
    // The processes of these tests share a database, but no directory.
    PARLEY_FILES_STORE: "postgres",
    PARLEY_DATA_DIR: yield* fs.makeTempDirectoryScoped({ prefix: "parley-telemetry-" }),
    OPENAI_BASE_URL: upstream.url,
    OPENAI_MODEL: "mock-model",
    OPENAI_API_KEY: "UPSTREAMMARK",
    PARLEY_INIT_API_KEY: key,
    PARLEY_METRICS_TOKEN: metricsToken,
    PARLEY_LOG_LEVEL: "debug",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${collectorKey}`,
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=a%20test,service.instance.id=one",
    ...more
  })
})

const post = (url: string, body: object, headers: Record<string, string> = {}) =>
  call(`${url}/v1/responses`, { key, headers, body })

const uploadFile = (url: string) =>
  Effect.promise(async (): Promise<string> => {
    const form = new FormData()
    form.append("file", new Blob(["FILEMARK is in the file."]), "NAMEMARK.txt")
    const response = await fetch(`${url}/v1/files?q=QUERYMARK`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: form
    })
    return JSON.parse(await response.text()).id
  })

const trace = "0af7651916cd43dd8448eb211c80319c"
const client = "b7ad6b7169203331"

/** One of everything that could leak. */
const traffic = Effect.fnUntraced(function* (url: string) {
  const file = yield* uploadFile(url)
  const answers = { deltas: ["ANSWERMARK", " and more"] }
  const json = yield* post(
    url,
    { input: `PROMPTMARK ${mockDirective(answers)}`, instructions: "INSTRUCTIONSMARK", stream: false },
    { "x-request-id": "json", traceparent: `00-${trace}-${client}-01` }
  )
  assert.include(responseOf(json).output_text, "ANSWERMARK")
  const content = [
    { type: "input_text", text: "PROMPTMARK" },
    { type: "input_file", file_id: file }
  ]
  const stream = yield* post(
    url,
    { input: [{ role: "user", content }], stream: true },
    { "x-request-id": "sse" }
  )
  assert.include(stream.text, "ANSWERMARK")
  assert.strictEqual(
    eventsOf(stream.text).filter(({ type }) => type === "response.output_item.done").length,
    4
  )
  yield* post(url, { input: { PROMPTMARK: 1 } }, { "x-request-id": "bad" })
  yield* post(url, { input: "PROMPTMARK", conversation_id: "PROMPTMARK" })
  yield* call(`${url}/v1/PATHMARK?q=QUERYMARK`, { key })
  // A server that quotes the prompt: what it says of its own is in the log.
  const quoting = "Not understood: PROMPTMARK is what the user asked about."
  const failing = { status: 500, errorBody: JSON.stringify({ error: { message: quoting } }) }
  const failed = yield* post(
    url,
    { input: `PROMPTMARK ${mockDirective(failing)}` },
    { "x-request-id": "failed" }
  )
  assert.isAtLeast(failed.status, 500)
  yield* call(`${url}/metrics`, { key: metricsToken })
})

layer(processLayer, { excludeTestServices: true })("telemetry", (it) => {
  it.effect(
    "telemetry has traces, logs and metrics of what happened, and nothing of what users and models said",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const collector = yield* makeTelemetryCollector
        const service = yield* start(upstream, collector, { PARLEY_MODEL_RETRY_SECONDS: "0" })
        const url = yield* service.url
        // The second request calls tools first; those with a directive of their own take nothing from the
        // script.
        yield* upstream.script(
          {
            calls: [
              { id: "c1", name: "calculator", arguments: '{"expression":"ARGUMENTMARK+"}' },
              { id: "c2", name: "web_fetch", arguments: '{"url":"http://127.0.0.1:9/URLMARK"}' },
              { id: "c3", name: "ARGUMENTMARK", arguments: "ARGUMENTMARK{" }
            ],
            finish: "tool_calls"
          },
          { deltas: ["ANSWERMARK"] }
        )
        yield* traffic(url)
        // Spans that aren't sent yet are sent when the process stops.
        yield* service.signal("SIGTERM")
        assert.strictEqual(yield* service.exit, 0)
        yield* checkSpans(collector, upstream)
        checkLogs(collector)
        checkMetrics(collector)
        const { err, out } = service.output()
        const everything = [
          out.replaceAll(key, ""),
          err,
          ...collector.deliveries.map(({ text }) => text)
        ].join("\n")
        for (const mark of marks) assert.notInclude(everything, mark)
        assert.isTrue(
          collector.deliveries.every(({ headers }) => headers["x-collector-key"] === collectorKey)
        )
      }),
    slow
  )

  for (const how of ["never", 429] as const) {
    it.effect(
      `telemetry that the collector doesn't take (${how}) delays nobody, and the failure is logged once`,
      () =>
        Effect.gen(function* () {
          const upstream = yield* makeMockModelServer
          const collector = yield* makeTelemetryCollector
          yield* collector.answer(how)
          const service = yield* start(upstream, collector, { PARLEY_LOG_LEVEL: "info" })
          const url = yield* service.url
          const reply = yield* post(url, { input: "Hi", stream: false })
          responseOf(reply)
          const told = () =>
            service.output().err.split("Telemetry can't be delivered to the collector").length - 1
          yield* until(
            Effect.gen(function* () {
              responseOf(yield* post(url, { input: "Hi", stream: false }))
              return told() > 0
            })
          )
          yield* service.signal("SIGTERM")
          assert.strictEqual(yield* service.exit, 0)
          assert.strictEqual(told(), 1)
        }),
      slow
    )
  }

  it.effect(
    "telemetry leaves out disabled signals, and requests that a client doesn't want to have traced",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const collector = yield* makeTelemetryCollector
        const service = yield* start(upstream, collector, { PARLEY_OTLP_SIGNALS: "traces" })
        const url = yield* service.url
        responseOf(
          yield* post(url, { input: "Hi", stream: false }, { traceparent: `00-${trace}-${client}-00` })
        )
        const left = yield* openCall(`${url}/v1/responses`, {
          key,
          body: { input: `Hi ${mockDirective({ endless: true, gapMillis: 5 })}`, stream: true }
        })
        yield* Effect.promise(() => left.body!.cancel())
        yield* until(Effect.sync(() => collector.spans().some(({ name }) => name === "POST /v1/responses")))
        yield* service.signal("SIGTERM")
        assert.strictEqual(yield* service.exit, 0)
        assert.isTrue(collector.deliveries.every(({ path }) => path === "/v1/traces"))
        assert.isFalse(collector.spans().some(({ traceId }) => traceId === trace))
        assert.notProperty((yield* upstream.request(0)).headers, "traceparent")
        const spans = collector.spans()
        const server = spans.find(({ name }) => name === "POST /v1/responses")
        assert.strictEqual(server?.attributes["parley.outcome"], "abandoned")
        const chat = spans.find(({ name }) => name === "chat mock-model")
        assert.strictEqual(chat?.attributes["error.type"], "cancelled")
      }),
    slow
  )
})

const checkSpans = Effect.fnUntraced(function* (collector: TelemetryCollector, upstream: MockModelServer) {
  const spans = collector.spans()
  const requestIs = (id: string) =>
    spans.find(({ attributes, kind }) => kind === 2 && attributes["parley.request.id"] === id)
  // Work in the background is no trace.
  const traces = new Set(spans.filter(({ kind }) => kind === 2).map(({ traceId }) => traceId))
  assert.isTrue(spans.every(({ traceId }) => traces.has(traceId)))
  const server = requestIs("json")
  assert.deepInclude(server, { name: "POST /v1/responses", traceId: trace, parentSpanId: client, status: 1 })
  assert.deepInclude(server?.attributes, {
    "http.request.method": "POST",
    "http.route": "/v1/responses",
    "http.response.status_code": 200,
    "parley.outcome": "completed"
  })
  const create = spans.find(({ name, traceId }) => name === "Responses.create" && traceId === trace)
  assert.strictEqual(create?.parentSpanId, server?.spanId)
  const chat = spans.find(({ name, traceId }) => name === "chat mock-model" && traceId === trace)
  assert.strictEqual(chat?.kind, 3)
  assert.deepInclude(chat?.attributes, {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "mock-model",
    "gen_ai.response.model": "mock-model"
  })
  assert.isAbove(Number(chat?.attributes["gen_ai.usage.input_tokens"]), 0)
  assert.isAbove(Number(chat?.attributes["gen_ai.usage.output_tokens"]), 0)
  const byId = new Map(spans.map((span) => [span.spanId, span]))
  const ancestors: Array<string> = []
  for (let at = byId.get(chat?.parentSpanId ?? ""); at !== undefined; at = byId.get(at.parentSpanId ?? "")) {
    ancestors.push(at.name)
  }
  assert.deepStrictEqual(ancestors, ["Generation.generate", "Responses.create", "POST /v1/responses"])
  const asked = yield* upstream.request(0)
  assert.strictEqual(asked.headers["traceparent"], `00-${trace}-${chat?.spanId}-01`)

  const stream = requestIs("sse")
  const ofStream = spans.filter(({ traceId }) => traceId === stream?.traceId)
  assert.strictEqual(ofStream.filter(({ name }) => name === "chat mock-model").length, 2)
  assert.deepStrictEqual(
    ofStream
      .filter(({ name }) => name.startsWith("execute_tool "))
      .map(({ attributes, name }) => [name, attributes["gen_ai.tool.name"], attributes["error.type"]])
      .toSorted(),
    [
      ["execute_tool calculator", "calculator", "tool_failed"],
      ["execute_tool unknown", "unknown", "tool_failed"],
      ["execute_tool web_fetch", "web_fetch", "tool_failed"]
    ]
  )
  const failed = requestIs("failed")
  assert.strictEqual(failed?.status, 2)
  const failedChat = spans.find(
    ({ name, traceId }) => name === "chat mock-model" && traceId === failed?.traceId
  )
  assert.deepInclude(failedChat, { status: 2 })
  assert.strictEqual(failedChat?.attributes["error.type"], "server_error")
  // A refusal is the client's failure and none of the server's.
  assert.strictEqual(requestIs("bad")?.status, 1)
})

const checkLogs = (collector: TelemetryCollector) => {
  const spans = collector.spans()
  const requests = collector.logs().filter(({ body }) => body === "request")
  for (const id of ["json", "sse", "bad", "failed"]) {
    const [log, ...others] = requests.filter(({ attributes }) => attributes["requestId"] === id)
    const span = spans.find(({ attributes }) => attributes["parley.request.id"] === id)
    assert.isEmpty(others)
    assert.strictEqual(log?.traceId, span?.traceId)
    assert.strictEqual(log?.spanId, span?.spanId)
    assert.strictEqual(log?.attributes["route"], "/v1/responses")
  }
  const tools = collector.logs().filter(({ body }) => body === "A tool was called.")
  assert.deepStrictEqual(
    tools.map(({ attributes }) => attributes["requestId"]),
    ["sse", "sse", "sse"]
  )
}

const checkMetrics = (collector: TelemetryCollector) => {
  const points = collector.points()
  const point = (name: string, attributes: Readonly<Record<string, string>> = {}) =>
    points.find(
      (one) =>
        one.name === name && Object.entries(attributes).every(([key, value]) => one.attributes[key] === value)
    )
  const model = { "gen_ai.provider.name": "openai", "gen_ai.response.model": "mock-model" }
  assert.deepInclude(point("gen_ai.client.token.usage", { ...model, "gen_ai.token.type": "input" }), {
    unit: "{token}",
    kind: "histogram"
  })
  assert.deepInclude(point("gen_ai.server.time_to_first_token", model), {
    unit: "s",
    kind: "histogram",
    value: 2
  })
  assert.deepInclude(point("gen_ai.client.operation.duration", { ...model, "error.type": "server_error" }), {
    unit: "s",
    value: 1
  })
  assert.deepInclude(
    point("http.server.request.duration", {
      "http.route": "/v1/responses",
      "http.response.status_code": "200"
    }),
    { unit: "s", value: 2 }
  )
  assert.deepInclude(point("parley.responses", { outcome: "completed" }), { kind: "sum", value: 2 })
  assert.deepInclude(point("parley.responses", { outcome: "refused" }), { value: 2 })
  assert.deepInclude(point("parley.responses", { outcome: "failed" }), { value: 1 })
  assert.deepInclude(point("parley.streams.open"), { kind: "gauge", value: 0 })
  assert.isAbove(point("process.memory.usage")?.value ?? 0, 1_000_000)
  assert.isTrue(points.every(({ attributes }) => !("unit" in attributes)))
  assert.deepInclude(collector.resource(), {
    "service.name": "parley",
    "deployment.environment.name": "a test",
    "service.instance.id": "one"
  })
}
