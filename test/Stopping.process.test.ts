import { existsSync } from "node:fs"
import { type AddressInfo, connect, createServer } from "node:net"
import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Layer, Redacted, Schedule } from "effect"
import { makeMockModelServer, mockDirective, type MockModelServer } from "./support/MockModelServer.ts"
import { openRaw } from "./support/RawClient.ts"
import { type ServiceProcess, startService } from "./support/ServiceProcess.ts"
import { assertGrammar } from "./support/StreamGrammar.ts"
import { TestDatabase } from "./support/TestDatabase.ts"
import { until, untilValue } from "./support/until.ts"
import { call, errorOf, eventsOf } from "./support/Wire.ts"

/** A key as `parley key generate` makes it; it opens nothing but the databases of these tests. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"

const dataDirectory = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const directory = yield* fs.makeTempDirectoryScoped({ prefix: "parley-stopping-" })
  yield* fs.chmod(directory, 0o711)
  return directory
})

const variables = Effect.fnUntraced(function* (upstream: MockModelServer, more: Record<string, string>) {
  return {
    DATABASE_URL: Redacted.value((yield* TestDatabase).url),
    PARLEY_DATA_DIR: yield* dataDirectory,
    OPENAI_BASE_URL: upstream.url,
    OPENAI_MODEL: "mock-model",
    PARLEY_INIT_API_KEY: key,
    // Nothing here is about files, and a process that was killed would keep the next from its directory.
    PARLEY_FILES_STORE: "postgres",
    ...more
  }
})

const untilNotReady = (url: string) => untilValue(call(`${url}/readyz`, {}), ({ status }) => status === 503)

/** Waits until the service has begun to shut down. */
const untilStopping = (service: ServiceProcess) =>
  until(
    Effect.sync(() => {
      const { err, out } = service.output()
      return `${out}${err}`.includes("Shutting down")
    })
  )

/** True if a new connection is refused. */
const isClosed = (url: string) =>
  Effect.callback<boolean>((resume) => {
    const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1" })
    socket.once("connect", () => resume(Effect.succeed(false)))
    socket.once("error", () => resume(Effect.succeed(true)))
    return Effect.sync(() => socket.destroy())
  })

/**
 * Signals again and again, as an impatient operator does, until the process has ended, and returns its exit
 * code.
 */
const signalUntilGone = (service: ServiceProcess, signal: NodeJS.Signals) =>
  Effect.raceFirst(
    service.exit,
    Effect.andThen(Effect.sleep("50 millis"), service.signal(signal)).pipe(
      Effect.repeat(Schedule.forever),
      Effect.andThen(Effect.never)
    )
  )

const processLayer = Layer.mergeAll(TestDatabase.clone, NodeFileSystem.layer)
const slow = 120_000

layer(processLayer, { excludeTestServices: true })("a start", (it) => {
  it.effect(
    "a start on a port that is taken says so in one sentence, and fails",
    () =>
      Effect.gen(function* () {
        const taken = yield* Effect.acquireRelease(
          Effect.callback<ReturnType<typeof createServer>>((resume) => {
            const server = createServer()
            server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
          }),
          (server) => Effect.sync(() => void server.close())
        )
        const { port } = taken.address() as AddressInfo
        const upstream = yield* makeMockModelServer
        const service = yield* startService(yield* variables(upstream, { PORT: String(port) }))
        assert.strictEqual(yield* service.exit, 1)
        const { err, out } = service.output()
        assert.match(err, new RegExp(`^parley: [^\\n]*\\b127\\.0\\.0\\.1:${port}\\b[^\\n]*\\n$`, "m"))
        assert.strictEqual(err.split("parley: ").length, 2)
        assert.notMatch(err, /^\s+at /m)
        assert.notInclude(out, "is ready on")
      }),
    slow
  )
})

layer(processLayer, { excludeTestServices: true })("SIGTERM", (it) => {
  it.effect(
    "SIGTERM answers what hasn't begun within the grace with 503, in both deliveries",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const grace = { PARLEY_SHUTDOWN_GRACE_SECONDS: "1" }
        const service = yield* startService(yield* variables(upstream, grace))
        const url = yield* service.url
        const input = `Hi ${mockDirective({ hangAt: "headers" })}`
        const requests = yield* Effect.forEach([true, false], (stream) =>
          Effect.forkChild(call(`${url}/v1/responses`, { key, body: { input, stream } }))
        )
        const asked = yield* Effect.forEach([0, 1], upstream.request)
        yield* service.signal("SIGTERM")
        for (const request of requests) {
          const reply = yield* Fiber.join(request)
          assert.strictEqual(errorOf(reply, 503).code, "server_shutting_down")
          assert.isNotNull(reply.headers.get("retry-after"))
        }
        for (const { ended } of asked) assert.strictEqual(yield* ended, "aborted")
        assert.strictEqual(yield* service.exit, 0)
      }),
    slow
  )

  it.effect(
    "SIGTERM that comes twice at once, from a parent and a terminal, lets streams finish",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const service = yield* startService(yield* variables(upstream, {}))
        const url = yield* service.url
        const deltas = Array.from({ length: 30 }, (_, n) => `${n} `)
        const input = `Hi ${mockDirective({ deltas, gapMillis: 50 })}`
        const request = yield* Effect.forkChild(call(`${url}/v1/responses`, { key, body: { input } }))
        yield* upstream.request(0)
        yield* service.signal("SIGTERM")
        yield* service.signal("SIGINT")
        const { last } = assertGrammar(eventsOf((yield* Fiber.join(request)).text))
        assert.strictEqual(last.type, "response.completed")
        assert.strictEqual(yield* service.exit, 0)
      }),
    slow
  )

  it.effect(
    "SIGTERM isn't delayed by connections on which no request comes, or half of one",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const long = { PARLEY_HEADERS_SECONDS: "600", PARLEY_REQUEST_SECONDS: "600" }
        const service = yield* startService(yield* variables(upstream, long))
        const url = yield* service.url
        const half = yield* openRaw(url)
        yield* openRaw(url)
        yield* half.send("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nGET /healthz")
        yield* half.read((seen) => seen.includes('"ok"'))
        yield* service.signal("SIGTERM")
        assert.strictEqual(yield* service.exit, 0)
      }),
    slow
  )
})

layer(processLayer, { excludeTestServices: true })("a service behind a proxy", (it) => {
  /** Far longer than the test may take. */
  const drain = { PARLEY_DRAIN_SECONDS: "300", PARLEY_TRUSTED_PROXIES: "127.0.0.1" }

  it.effect(
    "a service behind a proxy is not ready after SIGTERM, but answers requests for the time of its drain and closes their connections",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const service = yield* startService(yield* variables(upstream, drain))
        const url = yield* service.url
        yield* service.signal("SIGTERM")
        assert.isTrue(JSON.parse((yield* untilNotReady(url)).text).draining)
        for (const stream of [true, false]) {
          const reply = yield* call(`${url}/v1/responses`, { key, body: { input: "Hi", stream } })
          assert.strictEqual(reply.status, 200, reply.text)
          assert.include(reply.text, "Hello")
          assert.strictEqual(reply.headers.get("connection"), "close")
        }
        const listed = yield* call(`${url}/v1/conversations`, { key })
        assert.strictEqual(listed.status, 200)
        assert.strictEqual(listed.headers.get("connection"), "close")
        assert.strictEqual(yield* signalUntilGone(service, "SIGTERM"), 143)
      }),
    slow
  )

  it.effect(
    "a service behind a proxy closes its port and idle connections after the drain, while a stream goes on",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const short = { ...drain, PARLEY_DRAIN_SECONDS: "1", PARLEY_SHUTDOWN_GRACE_SECONDS: "600" }
        const service = yield* startService(yield* variables(upstream, short))
        const url = yield* service.url
        const idle = yield* openRaw(url)
        yield* idle.send("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        yield* idle.read((seen) => seen.includes('"ok"'))
        const deltas = Array.from({ length: 120 }, (_, n) => `${n} `)
        const input = `Hi ${mockDirective({ deltas, gapMillis: 50 })}`
        const open = yield* Effect.forkChild(call(`${url}/v1/responses`, { key, body: { input } }))
        const { sentBytes } = yield* upstream.request(0)
        yield* service.signal("SIGTERM")
        yield* idle.whole
        yield* until(isClosed(url))
        const before = sentBytes()
        yield* until(Effect.sync(() => sentBytes() > before))
        const { last } = assertGrammar(eventsOf((yield* Fiber.join(open)).text))
        assert.strictEqual(last.type, "response.completed")
        assert.strictEqual(yield* service.exit, 0)
      }),
    slow
  )

  it.effect(
    "a service behind a proxy stops without the drain at Ctrl+C",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const service = yield* startService(yield* variables(upstream, drain))
        yield* service.url
        yield* service.signal("SIGINT")
        assert.strictEqual(yield* service.exit, 0)
      }),
    slow
  )
})

layer(processLayer, { excludeTestServices: true })("a second signal", (it) => {
  /** Far longer than the test may take. */
  const grace = { PARLEY_SHUTDOWN_GRACE_SECONDS: "600" }

  it.effect.each([
    { signal: "SIGINT" as const, code: 130 },
    { signal: "SIGTERM" as const, code: 143 }
  ])(
    "a second signal ends the service at once: $signal",
    ({ code, signal }) =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const service = yield* startService(yield* variables(upstream, grace))
        const url = yield* service.url
        const input = `Hi ${mockDirective({ endless: true, gapMillis: 20 })}`
        yield* Effect.forkChild(Effect.exit(call(`${url}/v1/responses`, { key, body: { input } })))
        yield* upstream.request(0)
        yield* service.signal(signal)
        yield* untilStopping(service)
        assert.strictEqual(yield* signalUntilGone(service, signal), code)
        assert.include(service.output().err, "stopped at once")
      }),
    slow
  )

  it.effect(
    "a second signal leaves no PostgreSQL behind",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const { DATABASE_URL: _, ...env } = yield* variables(upstream, grace)
        const service = yield* startService(env)
        const url = yield* service.url
        const input = `Hi ${mockDirective({ endless: true, gapMillis: 20 })}`
        yield* Effect.forkChild(Effect.exit(call(`${url}/v1/responses`, { key, body: { input } })))
        yield* upstream.request(0)
        // The server removes the file as the last thing it does.
        const pidFile = `${env.PARLEY_DATA_DIR}/postgres/data/postmaster.pid`
        assert.isTrue(existsSync(pidFile))
        yield* service.signal("SIGINT")
        yield* untilStopping(service)
        assert.strictEqual(yield* signalUntilGone(service, "SIGINT"), 130)
        yield* until(Effect.sync(() => !existsSync(pidFile)))
      }),
    slow
  )
})
