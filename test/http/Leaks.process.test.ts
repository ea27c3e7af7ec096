import { Agent, request } from "node:http"
import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { makeMockModelServer, type MockModelServer, mockDirective } from "../support/MockModelServer.ts"
import { type ServiceProcess, startService } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { untilValue } from "../support/until.ts"

/** A key as `parley key generate` makes it; it opens nothing but the database of this test. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"

const streams = 1_000
const dropEvery = 5
const warmUpStreams = 200
const atOnce = 32

/** An open stream holds some 30 kB, so that not even those that were dropped could be kept within this. */
const heapGrowthBytesMax = 5 * 1024 * 1024
/** Ten seconds of them. */
const looksMax = 50
/** Looks before the first measurement, so that memory held for some seconds doesn't count as leaked. */
const looksBefore = 15

const probe = new URL("../support/ResourceProbe.ts", import.meta.url)

const start = Effect.fnUntraced(function* (upstream: MockModelServer) {
  const fs = yield* FileSystem.FileSystem
  return yield* startService({
    DATABASE_URL: Redacted.value((yield* TestDatabase).url),
    PARLEY_DATA_DIR: yield* fs.makeTempDirectoryScoped({ prefix: "parley-leaks-" }),
    OPENAI_BASE_URL: upstream.url,
    OPENAI_MODEL: "mock-model",
    PARLEY_INIT_API_KEY: key,
    // One user makes the whole load.
    PARLEY_USER_REQUESTS_MAX: "10000",
    PARLEY_USER_REQUESTS_PER_MINUTE: "1000000",
    NODE_OPTIONS: `--expose-gc --import ${probe.href}`
  })
})

const shortAnswer = ["a", "b", "c"]

/** One stream; a dropped one is left at its first delta. */
const stream = (
  url: string,
  dropped: boolean,
  {
    agent = false,
    deltas = shortAnswer
  }: { readonly agent?: Agent | false; readonly deltas?: ReadonlyArray<string> } = {}
) =>
  Effect.callback<string>((resume) => {
    const behaviour = dropped ? { endless: true, gapMillis: 5 } : { deltas }
    const call = request(`${url}/v1/responses`, {
      method: "POST",
      agent,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" }
    })
    let seen = ""
    call.on("response", (response) => {
      response.setEncoding("utf8")
      response.on("error", () => {})
      response.on("data", (text: string) => {
        seen += text
        if (dropped && seen.includes("output_text.delta")) call.destroy()
      })
      response.on("close", () => resume(Effect.succeed(seen)))
    })
    call.on("error", (error) => resume(dropped && seen !== "" ? Effect.succeed(seen) : Effect.die(error)))
    call.end(JSON.stringify({ input: `Hi ${mockDirective(behaviour)}` }))
  }).pipe(
    Effect.map((seen) => {
      assert.include(seen, dropped ? "output_text.delta" : "response.completed")
    })
  )

const manyStreams = (url: string, count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, n) => n % dropEvery === 0),
    (dropped) => stream(url, dropped),
    { concurrency: atOnce, discard: true }
  )

/** The process's present report about itself. */
const readProbe = Effect.fnUntraced(function* (service: ServiceProcess) {
  const lines = Effect.sync(() => [...service.output().out.matchAll(/^probe (\d+) (\d+)$/gm)])
  const earlier = (yield* lines).length
  yield* service.signal("SIGUSR2")
  const [, heapBytes, connections] = (yield* untilValue(lines, ({ length }) => length > earlier)).at(-1) ?? []
  return { heapBytes: Number(heapBytes), connections: Number(connections) }
})

const lookAgain = (service: ServiceProcess) => Effect.delay(readProbe(service), "200 millis")

/**
 * The process's report once its heap has grown by less, or else the last report. The last streams may be
 * held for seconds by timers and by memory that V8 has not collected yet, but not for good.
 */
const readGrown = (service: ServiceProcess, before: number, growthBytesMax: number) =>
  Effect.repeat(lookAgain(service), {
    until: ({ heapBytes }) => heapBytes - before < growthBytesMax,
    times: looksMax
  })

/** Everything that the streams did has come to its end. */
const settled = Effect.fnUntraced(function* (upstream: MockModelServer, count: number) {
  const sql = yield* SqlClient.SqlClient
  const records = sql`SELECT outcome, count(*)::int AS count FROM usage_records GROUP BY outcome ORDER BY outcome`
  yield* untilValue(sql`SELECT 1 FROM usage_records`, ({ length }) => length >= count)
  const leases = sql`SELECT 1 FROM conversations WHERE lease_until > clock_timestamp()`
  yield* untilValue(leases, ({ length }) => length === 0)
  const ends = yield* Effect.forEach(upstream.requests, ({ ended }) => ended)
  return { records: yield* records, aborted: ends.filter((end) => end === "aborted").length }
})

/** Clients that stay connected; the objects of one of these long answers take some 75 kB. */
const idleClients = 100
const longAnswer = Array.from({ length: 500 }, () => "some words of an answer ")
const idleBytesMax = 48 * 1024

/** One stream for each client, each on its own connection, which stays open. */
const streamForEach = (url: string, agent: Agent, deltas: ReadonlyArray<string>) =>
  Effect.forEach(Array.from({ length: idleClients }), () => stream(url, false, { agent, deltas }), {
    concurrency: "unbounded",
    discard: true
  })

const leakLayer = Layer.mergeAll(
  Layer.provideMerge(TestDatabase.client(), TestDatabase.clone),
  NodeFileSystem.layer
)
const slow = 120_000

layer(leakLayer, { excludeTestServices: true })(
  "a thousand streams, of which two hundred are dropped",
  (it) => {
    it.effect(
      "a thousand streams leave no connection, exchange, lease or memory behind",
      () =>
        Effect.gen(function* () {
          const upstream = yield* makeMockModelServer
          const service = yield* start(upstream)
          const url = yield* service.url
          yield* manyStreams(url, warmUpStreams)
          yield* settled(upstream, warmUpStreams)
          const before = yield* readProbe(service)

          yield* manyStreams(url, streams)
          const all = warmUpStreams + streams
          const { aborted, records } = yield* settled(upstream, all)
          assert.strictEqual(aborted, all / dropEvery)
          assert.deepStrictEqual(records, [
            { outcome: "abandoned", count: all / dropEvery },
            { outcome: "completed", count: all - all / dropEvery }
          ])
          const after = yield* readGrown(service, before.heapBytes, heapGrowthBytesMax)
          assert.strictEqual(after.connections, 0)
          assert.isBelow(after.heapBytes - before.heapBytes, heapGrowthBytesMax)
        }),
      slow
    )
  }
)

layer(leakLayer, { excludeTestServices: true })("a hundred clients that stay connected", (it) => {
  it.effect(
    "a hundred connected clients leave nothing of their last answers behind",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const service = yield* start(upstream)
        const url = yield* service.url
        const agent = yield* Effect.acquireRelease(
          Effect.sync(() => new Agent({ keepAlive: true, maxFreeSockets: idleClients })),
          (agent) => Effect.sync(() => agent.destroy())
        )
        // The first long ones have code compiled and buffers made.
        yield* streamForEach(url, agent, longAnswer)
        yield* settled(upstream, idleClients)
        yield* streamForEach(url, agent, shortAnswer)
        yield* settled(upstream, 2 * idleClients)
        const looks = yield* Effect.replicateEffect(lookAgain(service), looksBefore)
        const before = Math.min(...looks.map(({ heapBytes }) => heapBytes))
        yield* streamForEach(url, agent, longAnswer)
        yield* settled(upstream, 3 * idleClients)
        const growthMax = idleClients * idleBytesMax
        const after = yield* readGrown(service, before, growthMax)
        assert.strictEqual(after.connections, idleClients)
        assert.isBelow(after.heapBytes - before, growthMax)
      }),
    slow
  )
})
