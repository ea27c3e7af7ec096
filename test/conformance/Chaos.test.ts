import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeCrypto } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, References, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { RoomsLayer, ServiceLayer } from "../../src/App.ts"
import { FileStoreLayer } from "../../src/files/FileStoreLayer.ts"
import { Router } from "../../src/routing/Router.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { Usage } from "../../src/usage/Usage.ts"
import { makeMockModelServer, type MockBehaviour, type MockModelServer } from "../support/MockModelServer.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { assertGrammar } from "../support/StreamGrammar.ts"
import { TestApp } from "../support/TestApp.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until, untilValue } from "../support/until.ts"
import { call, errorOf, eventsOf, openCall, type Reply, responseOf } from "../support/Wire.ts"

const protocols = ["openai-chat", "openai-responses", "anthropic"] as const

/** A provider of each protocol, none of which waits long. */
class Providers extends Context.Service<Providers, { readonly servers: ReadonlyArray<MockModelServer> }>()(
  "parley/test/Providers"
) {}

const setUp = Effect.gen(function* () {
  const servers = yield* Effect.forEach(protocols, () => makeMockModelServer)
  const dataDir = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-chaos-"))),
    (directory) => Effect.sync(() => removeDirectory(directory))
  )
  const file = join(dataDir, "models.json")
  const catalog = {
    providers: servers.map(({ url }, n) => ({
      id: `provider-${n}`,
      protocol: protocols[n],
      baseUrl: url,
      concurrentMax: 12
    })),
    models: servers.map((_, n) => ({
      id: `model-${n}`,
      provider: `provider-${n}`,
      contextWindow: 16_000,
      maxOutputTokens: 400,
      tools: true,
      quality: 1 - n / 10,
      cost: 0
    }))
  }
  writeFileSync(file, JSON.stringify(catalog))
  const config = testConfig({
    dataDir,
    models: { file, firstTokenSeconds: 0.4, idleSeconds: 0.4, retrySeconds: 0.3, queueSeconds: 2 }
  })
  return Layer.mergeAll(Layer.succeed(Providers, { servers }), Layer.succeed(AppConfig, config))
})

const app = TestApp.layerNoDeps.pipe(
  Layer.provideMerge(ServiceLayer),
  Layer.provideMerge(FileStoreLayer),
  Layer.provideMerge(RoomsLayer),
  Layer.provideMerge(Router.layer),
  Layer.provideMerge(TestDatabase.layer),
  Layer.provideMerge(NodeCrypto.layer),
  Layer.provideMerge(Layer.unwrap(setUp)),
  Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "None")),
  Layer.orDie
)

/** Numbers from 0 to 1 that are the same in every run (mulberry32). */
const seeded = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

const deltas = ["One", " two", " three", " four", " five", " six."]
const well: MockBehaviour = { deltas }

/** Everything that a model server is known to do, about a third of it bad. */
const moods: ReadonlyArray<MockBehaviour> = [
  ...Array.from({ length: 15 }, () => well),
  { deltas, gapMillis: 20 },
  { deltas, usage: null },
  { deltas, bytesPerWrite: 7 },
  { calls: [{ id: "a", name: "calculator", arguments: '{"expression":"2+2"}' }] },
  { status: 429, headers: { "retry-after": "0" } },
  { status: 429, headers: { "retry-after": "30" } },
  { status: 500 },
  { hangAt: "headers" },
  { deltas, hangAt: 3 },
  { cutAt: "headers" },
  { deltas, cutAt: 2 },
  { deltas, malformedAt: 2 },
  { deltas, errorAt: 0 },
  { deltas, errorAt: 3 }
]

const moody = (seed: number) => {
  const random = seeded(seed)
  return () => moods[Math.floor(random() * moods.length)] ?? well
}

const post = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}/v1/responses`, { key: alice.key, body: { input: "Count to six.", ...body } })
})

/** A client that leaves as soon as it has seen some of the answer, or its end. */
const leave = Effect.fnUntraced(function* (body: object) {
  const { alice, url } = yield* TestApp
  yield* Effect.scoped(
    Effect.gen(function* () {
      const response = yield* openCall(`${url}/v1/responses`, {
        key: alice.key,
        body: { input: "Count to six.", ...body, stream: true }
      })
      const reader = response.body!.getReader()
      yield* Effect.promise(async () => {
        const decoder = new TextDecoder()
        let seen = ""
        while (!seen.includes("output_text.delta")) {
          const { done, value } = await reader.read()
          if (done) return
          seen += decoder.decode(value, { stream: true })
        }
        await reader.cancel()
      })
    })
  )
})

const codes = ["generation_failed", "model_overloaded"]

/** The outcome that a client sees. Checks that the reply is whole. */
const outcomeOf = (reply: Reply): "completed" | "refused" | "broken" => {
  if (reply.status !== 200) {
    assert.include(codes, errorOf(reply, 500).code)
    return "refused"
  }
  if (reply.headers.get("content-type") === "application/json") {
    responseOf(reply)
    return "completed"
  }
  const { last } = assertGrammar(eventsOf(reply.text))
  if (last.type === "error") assert.include(codes, last.code)
  return last.type === "error" ? "broken" : "completed"
}

const Records = Schema.Array(Schema.Struct({ outcome: Schema.String, count: Schema.Int }))

/** Everything has come to its end: as many records as requests, and nothing held. */
const settled = Effect.fnUntraced(function* (requests: number) {
  const { alice } = yield* TestApp
  const sql = yield* SqlClient.SqlClient
  yield* until(Effect.map(sql`SELECT 1 FROM usage_records`, (rows) => rows.length >= requests))
  yield* until(Effect.map(sql`SELECT 1 FROM token_reservations`, (rows) => rows.length === 0))
  const { daily, monthly } = yield* (yield* Usage).allowanceOf(alice.id)
  assert.deepStrictEqual([daily.reserved, monthly.reserved], [0, 0])
  const [sum] = yield* sql`SELECT sum(input_tokens + output_tokens)::int AS tokens FROM usage_records`
  assert.strictEqual(daily.used, sum?.["tokens"])
  const router = yield* Router
  yield* until(
    Effect.map(router.health, (all) => all.every(({ running, waiting }) => running === 0 && waiting === 0))
  )
  const records = Schema.decodeUnknownSync(Records)(
    yield* sql`SELECT outcome, count(*)::int AS count FROM usage_records GROUP BY outcome`
  )
  const counts = new Map(records.map(({ count, outcome }) => [outcome, count]))
  assert.strictEqual(
    [...counts.values()].reduce((all, count) => all + count, 0),
    requests
  )
  return counts
})

/** Conversations whose turns are not those that were completed, each with what was asked and answered. */
const halfWritten = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`
    SELECT c.id FROM conversations AS c
    LEFT JOIN (
      SELECT t.conversation_id, count(*) AS turns, count(*) FILTER (WHERE u.outcome = 'completed') AS completed,
        bool_and(EXISTS (SELECT 1 FROM items AS i WHERE i.response_id = t.response_id AND i.side = 'input')
          AND EXISTS (SELECT 1 FROM items AS i WHERE i.response_id = t.response_id AND i.side = 'output')) AS whole
      FROM turns AS t LEFT JOIN usage_records AS u USING (response_id) GROUP BY 1
    ) AS stored ON stored.conversation_id = c.id
    WHERE c.turn_count <> coalesce(stored.turns, 0) OR stored.completed <> stored.turns OR NOT stored.whole`
})

const requests = 240
const leaveEvery = 8
const conversationCount = 12

layer(app, { excludeTestServices: true })("providers that fail at random", (it) => {
  it.effect("failing providers leave every stream, answer, turn, record and place in order", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const { servers } = yield* Providers
      yield* (yield* Usage).setLimits(alice.id, { daily: 1_000_000_000 })
      const conversations = yield* Effect.forEach(Array.from({ length: conversationCount }), () =>
        Effect.map(post({ stream: false }), (reply) => responseOf(reply).conversation_id)
      )
      yield* Effect.forEach(servers, (server, n) => server.usually(moody(n + 1)))
      const outcomes = yield* Effect.forEach(
        Array.from({ length: requests }, (_, n) => n),
        (n) => {
          const conversation = n % 3 === 0 ? { conversation_id: conversations[n % conversationCount] } : {}
          return n % leaveEvery === 1
            ? Effect.as(leave(conversation), "left" as const)
            : Effect.map(post({ stream: n % 2 === 0, ...conversation }), outcomeOf)
        },
        { concurrency: 24 }
      )
      const seen = (outcome: string) => outcomes.filter((one) => one === outcome).length
      assert.isAbove(seen("completed"), requests / 3)
      assert.isAbove(seen("broken") + seen("refused"), 0)
      const counts = yield* settled(requests + conversationCount)
      // Some clients that left had the whole answer before the service noticed.
      const completed = (counts.get("completed") ?? 0) - conversationCount
      assert.isAtLeast(completed, seen("completed"))
      assert.isAtMost(completed, seen("completed") + seen("left"))
      assert.isAtLeast(counts.get("failed") ?? 0, seen("broken") + seen("refused"))
      assert.deepStrictEqual(yield* halfWritten, [])
    })
  )

  it.effect("failing providers are spared while all fail, and asked again when they are well", () =>
    Effect.gen(function* () {
      const { servers } = yield* Providers
      const { health } = yield* Router
      const sql = yield* SqlClient.SqlClient
      const before = (yield* sql`SELECT 1 FROM usage_records`).length
      const asked = () => servers.reduce((sum, server) => sum + server.requests.length, 0)
      let sent = 0
      const ask = Effect.suspend(() => Effect.map(post({ stream: sent++ % 2 === 0 }), outcomeOf))
      yield* Effect.forEach(servers, (server) => server.usually(() => ({ status: 500 })))
      while ((yield* health).some(({ state }) => state !== "open")) {
        assert.strictEqual(yield* ask, "refused")
      }
      yield* Effect.forEach(servers, (server) => server.usually(() => well))
      const known = asked()
      const last = yield* untilValue(ask, (outcome) => {
        if (outcome === "refused") assert.strictEqual(asked(), known, "a server that cools down is not asked")
        return outcome !== "refused"
      })
      assert.strictEqual(last, "completed")
      assert.strictEqual(asked(), known + 1, "the request that was answered is the first to ask again")
      yield* settled(before + sent)
    })
  )
})
