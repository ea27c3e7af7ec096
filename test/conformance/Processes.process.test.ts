import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeMockModelServer, mockDirective, type MockModelServer } from "../support/MockModelServer.ts"
import { startService } from "../support/ServiceProcess.ts"
import { assertGrammar } from "../support/StreamGrammar.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until, untilValue } from "../support/until.ts"
import { call, errorOf, eventsOf, type Reply, responseOf } from "../support/Wire.ts"

/** A key as `parley key generate` makes it; it opens nothing but the databases of these tests. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"

/** The tokens that an answer of the mock server uses, by its own count. */
const cost = 18
/** Estimated at more than the eleven tokens that the mock server says. */
const input = "How many tokens are there in this question, roughly speaking?"
const outputTokensMax = 20
/** No request of these may spend more: its input, about 22 tokens, and its answer. */
const requestTokensMax = 50

const model = {
  id: "mock-model",
  provider: "mock",
  contextWindow: 8_000,
  maxOutputTokens: 200,
  tools: false,
  quality: 1,
  cost: 0
}

/** Processes on the database of this file, and their model server. */
const startProcesses = Effect.fnUntraced(function* (
  upstream: MockModelServer,
  count: number,
  more: Readonly<Record<string, string>>
) {
  const fs = yield* FileSystem.FileSystem
  const directory = yield* fs.makeTempDirectoryScoped({ prefix: "parley-processes-" })
  const catalog = `${directory}/models.json`
  const provider = { id: "mock", protocol: "openai-chat", baseUrl: upstream.url }
  yield* fs.writeFileString(catalog, JSON.stringify({ providers: [provider], models: [model] }))
  const { url } = yield* TestDatabase
  const services = yield* Effect.forEach(
    Array.from({ length: count }),
    () =>
      startService({
        DATABASE_URL: Redacted.value(url),
        PARLEY_DATA_DIR: `${directory}/data`,
        PARLEY_FILES_STORE: "postgres",
        PARLEY_MODELS_FILE: catalog,
        PARLEY_INIT_API_KEY: key,
        // One user makes the whole load.
        PARLEY_USER_REQUESTS_MAX: "10000",
        PARLEY_USER_REQUESTS_PER_MINUTE: "1000000",
        ...more
      }),
    { concurrency: "unbounded" }
  )
  return yield* Effect.forEach(
    services,
    (service) => Effect.map(service.url, (address) => ({ ...service, address })),
    { concurrency: "unbounded" }
  )
})

const post = (address: string, body: object) =>
  call(`${address}/v1/responses`, { key, body: { input, max_output_tokens: outputTokensMax, ...body } })

/** True if the request was answered. Checks the refusal otherwise. */
const isAnswered = (reply: Reply, limit: number): boolean => {
  if (reply.status !== 200) {
    const number = (name: string) => Number(reply.headers.get(name))
    const isHeld = number("x-token-limit-used") < limit
    assert.strictEqual(errorOf(reply, 429).code, isHeld ? "token_limit_held" : "daily_token_limit_exceeded")
    assert.strictEqual(reply.headers.get("x-should-retry"), isHeld ? null : "false")
    assert.strictEqual(reply.headers.get("x-token-limit-window"), "daily")
    assert.strictEqual(number("x-token-limit"), limit)
    assert.isAtLeast(number("x-token-limit-used") + number("x-token-limit-held"), limit)
    assert.isAtLeast(number("retry-after"), 1)
    if (isHeld) assert.isAtMost(number("retry-after"), 5)
    return false
  }
  if (reply.headers.get("content-type") === "application/json") responseOf(reply)
  else assert.strictEqual(assertGrammar(eventsOf(reply.text)).last.type, "response.completed")
  return true
}

const Books = Schema.Struct({
  used: Schema.Int,
  monthUsed: Schema.Int,
  reserved: Schema.Int,
  reservations: Schema.Int,
  recorded: Schema.Int,
  completed: Schema.Int,
  records: Schema.Int,
  turns: Schema.Int
})

/** The values of the counters, and the values that the records add up to. */
const books = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql`
    SELECT c.day_used::int AS used, c.month_used::int AS month_used, (c.day_reserved + c.month_reserved)::int AS reserved,
      (SELECT count(*) FROM token_reservations)::int AS reservations,
      (SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM usage_records)::int AS recorded,
      (SELECT count(*) FROM usage_records WHERE outcome = 'completed')::int AS completed,
      (SELECT count(*) FROM usage_records)::int AS records,
      (SELECT count(*) FROM turns)::int AS turns
    FROM token_counters AS c`
  return Schema.decodeUnknownSync(Books)(row)
})

/** The same once nothing is held any more. */
const settledBooks = Effect.gen(function* () {
  yield* until(Effect.map(books, ({ reservations }) => reservations === 0))
  const found = yield* books
  assert.strictEqual(found.reserved, 0)
  assert.strictEqual(found.used, found.recorded)
  assert.strictEqual(found.monthUsed, found.recorded)
  assert.strictEqual(found.turns, found.completed)
  return found
})

const processLayer = () =>
  Layer.mergeAll(Layer.provideMerge(TestDatabase.client(), TestDatabase.clone), NodeFileSystem.layer)
const slow = 120_000

const limit = 10 * cost

layer(processLayer(), { excludeTestServices: true })("three processes on one database", (it) => {
  it.effect(
    "three processes grant a user what is left, and at most one request beyond it",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const services = yield* startProcesses(upstream, 3, { PARLEY_DAILY_TOKENS: String(limit) })
        const ask = (n: number) =>
          Effect.map(post(services[n % 3]!.address, { stream: n % 2 === 0 }), (reply) =>
            isAnswered(reply, limit)
          )
        const many = Array.from({ length: 200 }, (_, n) => n)
        let answered = (yield* Effect.forEach(many, ask, { concurrency: 50 })).filter(Boolean).length
        assert.isAbove(answered, 0)
        // Tokens that were reserved and not used are available to the next request, to the last token.
        for (let n = 0; (yield* settledBooks).used < limit; n++) {
          assert.isTrue(yield* ask(n), "somebody with a little left still uses it")
          answered++
        }
        assert.isFalse(yield* ask(0))
        const { completed, records, used } = yield* settledBooks
        assert.strictEqual(answered, 10)
        assert.strictEqual(completed, answered)
        assert.strictEqual(records, answered, "a refused request leaves no record")
        assert.strictEqual(upstream.requests.length, answered, "a refused request costs no model call")
        assert.isBelow(used, limit + requestTokensMax)
      }),
    slow
  )
})

layer(processLayer(), { excludeTestServices: true })("three processes, of which one dies", (it) => {
  it.effect(
    "the accounts are correct after the leases and reservations of a killed process have expired",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const upstream = yield* makeMockModelServer
        const each = 4
        const services = yield* startProcesses(upstream, 3, {
          PARLEY_DAILY_TOKENS: "100000",
          PARLEY_SHUTDOWN_GRACE_SECONDS: "1"
        })
        const [dying, stopping, staying] = services as [
          (typeof services)[0],
          (typeof services)[0],
          (typeof services)[0]
        ]
        const endless = `${input} ${mockDirective({ endless: true, gapMillis: 5 })}`
        const open = (address: string) =>
          Effect.forEach(
            Array.from({ length: each }, (_, n) => n % 2 === 0),
            (stream) =>
              Effect.forkChild(Effect.exit(post(address, { stream, input: endless, max_output_tokens: 200 })))
          )
        const lost = yield* open(dying.address)
        const cut = yield* open(stopping.address)
        yield* until(Effect.sync(() => upstream.requests.length === 2 * each))
        const meanwhile = yield* Effect.forkChild(
          Effect.forEach(
            Array.from({ length: 40 }, (_, n) => n),
            (n) => post(staying.address, { stream: n % 2 === 0 }),
            { concurrency: 8 }
          )
        )
        yield* dying.signal("SIGKILL")
        yield* dying.exit
        yield* Effect.forEach(lost, Fiber.await)
        // One that is told to stop has time to put its books in order.
        yield* stopping.signal("SIGTERM")
        assert.strictEqual(yield* stopping.exit, 0)
        yield* Effect.forEach(cut, Fiber.await)
        const replies = yield* Fiber.join(meanwhile)
        for (const reply of replies) assert.isTrue(isAnswered(reply, 100_000))

        yield* until(Effect.map(books, ({ reservations }) => reservations === each))
        const held = yield* books
        assert.isAbove(held.reserved, 0)
        assert.strictEqual(
          held.records,
          replies.length + each,
          "those that were cut are recorded, those that died aren't"
        )
        // Nothing is left beside what the dead process holds, until that lapses. A new limit holds within
        // seconds.
        const takeAll = sql`INSERT INTO token_limits (user_id, span, tokens)
          SELECT owner_id, 'daily', day_used + day_reserved FROM token_counters
          ON CONFLICT (user_id, span) DO UPDATE SET tokens = EXCLUDED.tokens`
        const refused = yield* untilValue(
          Effect.andThen(takeAll, post(staying.address, {})),
          ({ status }) => status === 429
        )
        assert.isFalse(isAnswered(refused, Number(refused.headers.get("x-token-limit"))))
        assert.strictEqual(Number(refused.headers.get("x-token-limit-held")), held.reserved / 2)
        yield* sql`UPDATE token_reservations SET expires_at = clock_timestamp() - interval '1 second'`
        assert.strictEqual((yield* post(staying.address, {})).status, 200)
        yield* settledBooks
      }),
    slow
  )
})
