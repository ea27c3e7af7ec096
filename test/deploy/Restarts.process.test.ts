import { Agent, request as httpsRequest } from "node:https"
import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Layer, Redacted, Ref } from "effect"
import { SqlClient } from "effect/sql"
import { freePort } from "../support/freePort.ts"
import { makeMockModelServer, mockDirective, type MockModelServer } from "../support/MockModelServer.ts"
import { startService } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import { call } from "../support/Wire.ts"
import { installedProxies, type ProxyName, proxyNames, siteName, startProxy } from "./ReverseProxies.ts"
import { siteCertificate } from "./siteCertificate.ts"

/** A key as `parley key generate` makes it; it opens nothing but the databases of these tests. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"

const processes = 3
/** Clients of each proxy, of which each has one request at a time, and their pause between two. */
const clients = 6
const pauseMillis = 100
/** Requests of each proxy that must have succeeded before and after something is done to a process. */
const successesBetween = 20
/** Requests that one client may lose when a process is killed. */
const lostPerClientMax = 2
const slow = 240_000

interface Exchange {
  readonly proxy: ProxyName
  readonly marker: string
  /** The problem of the response, or null. */
  readonly fault: string | null
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly contentType?: string
  readonly body?: string
  /** The text of a complete response. */
  readonly expected: string
}

const boundary = "parley-restarts-test"

/** Short and long answers in both deliveries, uploads, and requests without a body. */
const kinds: ReadonlyArray<(marker: string) => Sent> = [
  ...[
    { stream: true, parts: 4 },
    { stream: false, parts: 4 },
    { stream: true, parts: 60 }
  ].map(({ parts, stream }) => (marker: string) => {
    const deltas = Array.from({ length: parts }, (_, n) => `${n} `)
    const input = `${marker} ${mockDirective({ deltas, gapMillis: 50 })}`
    return {
      method: "POST",
      path: "/v1/responses",
      contentType: "application/json",
      body: JSON.stringify({ input, stream }),
      expected: stream ? "response.completed" : `${parts - 1}`
    }
  }),
  () => ({ method: "GET", path: "/v1/conversations", expected: '"data"' }),
  (marker) => ({
    method: "POST",
    path: "/v1/files",
    contentType: `multipart/form-data; boundary=${boundary}`,
    body:
      `--${boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nassistants\r\n` +
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${marker}.txt"\r\n\r\n` +
      `${"text ".repeat(20_000)}\r\n--${boundary}--\r\n`,
    expected: '"id"'
  })
]

/** Null, or what is wrong with the response. The request is sent once. */
const faultOf = (agent: Agent, port: number, sent: Sent): Effect.Effect<string | null> =>
  Effect.callback((resume) => {
    const { body, contentType, expected, method, path } = sent
    const headers = {
      authorization: `Bearer ${key}`,
      host: siteName,
      ...(contentType === undefined ? {} : { "content-type": contentType }),
      ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) })
    }
    let text = ""
    const fail = (error: Error) => resume(Effect.succeed(`${error.message}; ${text.slice(-200)}`))
    const request = httpsRequest({ agent, host: "127.0.0.1", port, path, method, headers }, (response) => {
      response.setEncoding("utf8").on("data", (piece) => (text += piece))
      response.on("error", fail)
      response.on("end", () => {
        const { statusCode } = response
        const isWhole = statusCode === 200 && text.includes(expected)
        resume(Effect.succeed(isWhole ? null : `${method} ${path}: ${statusCode} ${text.slice(-200)}`))
      })
    })
    request.on("error", fail).end(body)
    return Effect.sync(() => request.destroy())
  })

/** Sends requests through a proxy, each client one after the other, until it is told to stop. */
const makeLoad = Effect.fnUntraced(function* (proxy: ProxyName, port: number) {
  const exchanges: Array<Exchange> = []
  const stopped = yield* Ref.make(false)
  const client = Effect.fnUntraced(function* (number: number) {
    // A connection for each client, as a browser has it: proxies don't pass on that a process closes its own.
    const agent = yield* Effect.acquireRelease(
      Effect.sync(
        () => new Agent({ keepAlive: true, maxSockets: 1, ca: siteCertificate.cert, servername: siteName })
      ),
      (one) => Effect.sync(() => one.destroy())
    )
    for (let n = number; !(yield* Ref.get(stopped)); n++) {
      const marker = `${proxy}-${number}-${n}-end`
      const fault = yield* faultOf(agent, port, kinds[n % kinds.length]!(marker))
      exchanges.push({ proxy, marker, fault })
      yield* Effect.sleep(pauseMillis)
    }
  }, Effect.scoped)
  const running = yield* Effect.forEach(
    Array.from({ length: clients }, (_, number) => number),
    (number) => Effect.forkScoped(client(number))
  )
  const successes = () => exchanges.filter(({ fault }) => fault === null).length
  return {
    exchanges,
    /** Waits for as many successes more. */
    more: Effect.suspend(() => {
      const before = successes()
      return until(Effect.sync(() => successes() >= before + successesBetween))
    }),
    finish: Effect.andThen(Ref.set(stopped, true), Effect.forEach(running, Fiber.join))
  }
})

const startProcess = Effect.fnUntraced(function* (upstream: MockModelServer, port: number) {
  const { url } = yield* TestDatabase
  const dataDir = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped({
    prefix: "parley-restarts-"
  })
  const service = yield* startService({
    DATABASE_URL: Redacted.value(url),
    PARLEY_DATA_DIR: dataDir,
    PARLEY_FILES_STORE: "postgres",
    PARLEY_PUBLIC_URL: `https://${siteName}`,
    PARLEY_TRUSTED_PROXIES: "127.0.0.1",
    PARLEY_USER_REQUESTS_PER_MINUTE: "100000",
    PARLEY_INIT_API_KEY: key,
    OPENAI_BASE_URL: upstream.url,
    OPENAI_MODEL: "mock-model",
    PORT: String(port)
  })
  const address = yield* service.url
  yield* until(Effect.map(call(`${address}/readyz`, {}), ({ status }) => status === 200))
  return { port, service }
})

const upstreamAndClients = Effect.fnUntraced(function* () {
  const upstream = yield* makeMockModelServer
  const running = []
  for (let n = 0; n < processes; n++) running.push(yield* startProcess(upstream, yield* freePort))
  const services = running.map(({ port }) => `127.0.0.1:${port}`)
  const loads = yield* Effect.forEach(installedProxies, (name) =>
    Effect.flatMap(startProxy(name, services), ({ https }) => makeLoad(name, https))
  )
  return { upstream, running, loads }
})

/** The model was asked at most once for each request, and nothing was stored twice. */
const assertNothingTwice = Effect.fnUntraced(function* (
  upstream: MockModelServer,
  exchanges: ReadonlyArray<Exchange>
) {
  const asked = upstream.requests.map(({ body }) => JSON.stringify(body))
  for (const { marker } of exchanges) {
    const times = asked.filter((body) => body.includes(marker)).length
    assert.isAtMost(times, 1, `the model was asked for ${marker}`)
  }
  const sql = yield* SqlClient.SqlClient
  const twice = yield* sql`SELECT marker FROM (
      SELECT filename AS marker FROM files
      UNION ALL SELECT substring(item::text FROM '[A-Za-z]+-[0-9]+-[0-9]+-end') FROM items WHERE side = 'input'
    ) AS stored GROUP BY marker HAVING count(*) > 1`
  assert.deepStrictEqual(twice, [])
})

const show = (what: string, exchanges: ReadonlyArray<Exchange>) => {
  const lines = installedProxies.map((name) => {
    const own = exchanges.filter(({ proxy }) => proxy === name)
    return `${what}, ${name}: ${own.filter(({ fault }) => fault !== null).length} of ${own.length} requests failed`
  })
  console.info(lines.join("\n"))
}

for (const name of proxyNames.filter((one) => !installedProxies.includes(one))) {
  console.info(`Restarts behind ${name} are not tested: ${name} is not installed.`)
}

const ground = Layer.merge(TestDatabase.layer, NodeFileSystem.layer)

layer(ground, { excludeTestServices: true })("three processes behind each proxy", (it) => {
  it.effect.skipIf(installedProxies.length === 0)(
    "three processes lose no request in a rolling restart, and at kill -9 at most two of each client",
    () =>
      Effect.gen(function* () {
        const { loads, running, upstream } = yield* upstreamAndClients()
        const all = () => loads.flatMap((load) => load.exchanges)
        const more = Effect.forEach(loads, (load) => load.more, { concurrency: "unbounded" })
        yield* more
        for (const [index, { port, service }] of running.entries()) {
          yield* service.signal("SIGTERM")
          assert.strictEqual(yield* service.exit, 0)
          running[index] = yield* startProcess(upstream, port)
          yield* more
        }
        const restarted = all()
        const killed = running[0]!.service
        yield* killed.signal("SIGKILL")
        yield* killed.exit
        yield* more
        yield* Effect.forEach(loads, ({ finish }) => finish, { concurrency: "unbounded" })

        const later = all().filter((one) => !restarted.includes(one))
        show("Rolling restart", restarted)
        show("kill -9", later)
        yield* assertNothingTwice(upstream, all())
        const failed = (some: ReadonlyArray<Exchange>) => some.filter(({ fault }) => fault !== null)
        assert.deepStrictEqual(failed(restarted), [])
        // The request that is under way, and one more over a connection whose end the proxy is just learning
        // of.
        const lostBy = Map.groupBy(failed(later), ({ marker }) => marker.replace(/-\d+-end$/, ""))
        for (const [client, lost] of lostBy) assert.isAtMost(lost.length, lostPerClientMax, client)
      }),
    slow
  )
})
