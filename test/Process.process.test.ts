import { readdirSync } from "node:fs"
import { dirname } from "node:path"
import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Layer, Redacted } from "effect"
import { makeMockModelServer, mockDirective, type MockModelServer } from "./support/MockModelServer.ts"
import { bundle, sources, startService } from "./support/ServiceProcess.ts"
import { assertGrammar } from "./support/StreamGrammar.ts"
import { TestDatabase } from "./support/TestDatabase.ts"
import { until } from "./support/until.ts"
import { call, eventsOf, openCall, responseOf } from "./support/Wire.ts"

const firstKey = (out: string) => /parley_[A-Za-z0-9]{20,}/.exec(out)?.[0] ?? ""

/** The variables of a process on this file's database and a mock model server. */
const variables = Effect.fnUntraced(function* (upstream: MockModelServer, more: Record<string, string> = {}) {
  const fs = yield* FileSystem.FileSystem
  const database = yield* TestDatabase
  return {
    DATABASE_URL: Redacted.value(database.url),
    PARLEY_DATA_DIR: yield* fs.makeTempDirectoryScoped({ prefix: "parley-process-" }),
    OPENAI_BASE_URL: upstream.url,
    OPENAI_MODEL: "mock-model",
    ...more
  }
})

/** A stream that is open, with its first delta there. */
const openStream = Effect.fnUntraced(function* (
  url: string,
  key: string,
  behaviour: Parameters<typeof mockDirective>[0]
) {
  const response = yield* openCall(`${url}/v1/responses`, {
    key,
    body: { input: `Hi ${mockDirective(behaviour)}` }
  })
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  let seen = ""
  const read = (met: (text: string) => boolean) =>
    Effect.promise(async () => {
      while (!met(seen)) {
        const { done, value } = await reader.read()
        if (done) break
        seen += decoder.decode(value, { stream: true })
      }
      return seen
    })
  yield* read((text) => text.includes("output_text.delta"))
  return { rest: read(() => false) }
})

/** True if a new connection is refused. */
const isClosed = (url: string) =>
  Effect.promise(() =>
    fetch(`${url}/healthz`, { headers: { connection: "close" } }).then(
      () => false,
      () => true
    )
  )

const processLayer = Layer.mergeAll(TestDatabase.clone, NodeFileSystem.layer)
const slow = 120_000

layer(processLayer, { excludeTestServices: true })("the process", (it) => {
  it.effect(
    "the process closes its port at SIGTERM, lets streams finish, and exits with 0",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        // The one service that is started as `npm run dev` does it.
        const service = yield* startService(yield* variables(upstream), sources)
        const url = yield* service.url
        const key = firstKey(service.output().out)
        const stream = yield* openStream(url, key, {
          deltas: Array.from({ length: 30 }, (_, n) => `${n} `),
          gapMillis: 50
        })
        yield* service.signal("SIGTERM")
        yield* until(isClosed(url))
        const { last, outputText } = assertGrammar(eventsOf(yield* stream.rest))
        assert.strictEqual(last.type, "response.completed")
        assert.match(outputText, /29 $/)
        assert.strictEqual(yield* service.exit, 0)
      }),
    slow
  )

  it.effect(
    "the process ends what outlasts the grace with an error event, and still exits 0",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const grace = { PARLEY_SHUTDOWN_GRACE_SECONDS: "1", PARLEY_INIT_API_KEY: initKey }
        const service = yield* startService(yield* variables(upstream, grace))
        const url = yield* service.url
        const stream = yield* openStream(url, initKey, { endless: true, gapMillis: 20 })
        yield* service.signal("SIGTERM")
        const { last } = assertGrammar(eventsOf(yield* stream.rest))
        assert.strictEqual(last.type, "error")
        if (last.type === "error") assert.strictEqual(last.code, "server_shutting_down")
        assert.strictEqual(yield* service.exit, 0)
      }),
    slow
  )

  it.effect(
    "the process leaves no unfinished turn behind when it is killed, and goes on afterwards",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const env = yield* variables(upstream, {
          PARLEY_TURN_LEASE_SECONDS: "5",
          PARLEY_INIT_API_KEY: initKey
        })
        const first = yield* startService(env)
        const url = yield* first.url
        const post = (base: string, body: object) =>
          call(`${base}/v1/responses`, { key: initKey, body: { stream: false, ...body } })
        const { conversation_id } = responseOf(yield* post(url, { input: "kept" }))
        const asked = upstream.requests.length
        const lost = yield* Effect.forkChild(
          post(url, { input: `lost ${mockDirective({ endless: true, gapMillis: 20 })}`, conversation_id })
        )
        yield* upstream.request(asked)
        yield* first.signal("SIGKILL")
        assert.isNull(yield* first.exit)
        yield* Fiber.await(lost)

        const second = yield* startService(env)
        const answer = responseOf(yield* post(yield* second.url, { input: "next", conversation_id }))
        assert.strictEqual(answer.output_text, "Hello, world.")
        const messages = JSON.stringify(upstream.requests.at(-1)!.body)
        assert.include(messages, "kept")
        assert.notInclude(messages, "lost")
      }),
    slow
  )

  it.effect(
    "the process names every problem of its settings, without the secrets, and exits with 78",
    () =>
      Effect.gen(function* () {
        const service = yield* startService({
          PORT: "many",
          PARLEY_BODY_BYTES_MAX: "-1",
          PGHOST: "db.internal",
          PARLEY_ADMIN_KEY: "short secret"
        })
        assert.strictEqual(yield* service.exit, 78)
        const { err, out } = service.output()
        for (const name of ["PORT", "PARLEY_BODY_BYTES_MAX", "PGHOST", "PARLEY_ADMIN_KEY"])
          assert.include(err, name)
        assert.notInclude(err + out, "short secret")
      }),
    slow
  )
})

layer(processLayer, { excludeTestServices: true })("the bundle", (it) => {
  it.effect(
    "the bundle asks a model server, and counts by itself what that doesn't count",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const service = yield* startService(yield* variables(upstream, { PARLEY_INIT_API_KEY: initKey }))
        const input = `Hi ${mockDirective({ deltas: ["Hello", " there"], usage: null })}`
        const url = yield* service.url
        const { build } = JSON.parse((yield* call(`${url}/version`, {})).text)
        assert.match(build, /^(unknown|[0-9a-f]{12,40}(-dirty)?)$/)
        assert.include(service.output().out, ` (${build}) is ready on `)
        const request = { key: initKey, body: { input, stream: false } }
        const response = responseOf(yield* call(`${url}/v1/responses`, request))
        assert.strictEqual(response.output_text, "Hello there")
        assert.strictEqual(response.model, "mock-model")
        assert.strictEqual(response.usage?.output_tokens, 2)
      }),
    slow
  )
})

// A database of its own: a process that was killed counts for a minute on the other one.
layer(processLayer, { excludeTestServices: true })("the bundle's parts", (it) => {
  it.effect(
    "the bundle's parts hold the reference page's script, and nothing of Swagger",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const service = yield* startService(yield* variables(upstream))
        const parts = readdirSync(dirname(bundle))
        assert.isAbove(parts.filter((name) => name.startsWith("part-")).length, 1)
        assert.deepStrictEqual(
          parts.filter((name) => /swagger/i.test(name)),
          []
        )
        const script = yield* call(`${yield* service.url}/docs/reference.js`, {})
        assert.strictEqual(script.status, 200)
        assert.include(script.text, "window.Scalar={createApiReference:")
      }),
    slow
  )
})

layer(processLayer, { excludeTestServices: true })("two processes", (it) => {
  it.effect(
    "two processes that start at once on one database come up, and one shows the first key",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const env = yield* variables(upstream)
        const services = yield* Effect.forEach([1, 2], () => startService(env), { concurrency: 2 })
        const urls = yield* Effect.forEach(services, ({ url }) => url, { concurrency: 2 })
        const keys = services.map(({ output }) => firstKey(output().out)).filter((key) => key !== "")
        assert.strictEqual(keys.length, 1)
        for (const url of urls) {
          const reply = yield* call(`${url}/v1/responses`, {
            key: keys[0]!,
            body: { input: "Hi", stream: false }
          })
          assert.strictEqual(responseOf(reply).output_text, "Hello, world.")
        }
      }),
    slow
  )
})

/** A key as `parley key generate` makes it; it opens nothing but the databases of these tests. */
const initKey = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"
