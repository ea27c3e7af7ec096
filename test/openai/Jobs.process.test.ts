import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { makeMockModelServer, type MockModelServer } from "../support/MockModelServer.ts"
import { startService } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { untilValue } from "../support/until.ts"
import { call, openCall } from "../support/Wire.ts"
import { framesIn } from "./frames.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

/** A key as `parley key generate` makes it; it opens nothing but the database of this file. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"

/** How soon another process takes over what a killed one had begun. */
const leaseSeconds = 5

const catalogOf = (upstream: MockModelServer) => ({
  providers: [{ id: "mock", protocol: "openai-chat", baseUrl: upstream.url }],
  models: [
    {
      id: "mock-model",
      provider: "mock",
      contextWindow: 8_000,
      maxOutputTokens: 2_000,
      tools: false,
      quality: 1,
      cost: 0
    }
  ]
})

/** A model server, and a way to start processes that use it, all on the database of this file. */
const installation = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const upstream = yield* makeMockModelServer
  const directory = yield* fs.makeTempDirectoryScoped({ prefix: "parley-jobs-" })
  yield* fs.writeFileString(`${directory}/models.json`, JSON.stringify(catalogOf(upstream)))
  const { url } = yield* TestDatabase
  const start = Effect.gen(function* () {
    const service = yield* startService({
      DATABASE_URL: Redacted.value(url),
      PARLEY_DATA_DIR: `${directory}/data`,
      PARLEY_FILES_STORE: "postgres",
      PARLEY_MODELS_FILE: `${directory}/models.json`,
      PARLEY_INIT_API_KEY: key,
      PARLEY_TURN_LEASE_SECONDS: String(leaseSeconds),
      PARLEY_SHUTDOWN_GRACE_SECONDS: "1"
    })
    return { ...service, address: `${yield* service.url}/openai/v1/responses` }
  })
  return { upstream, start }
})

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(ResponseResource))

const create = (address: string, body: object, idempotencyKey?: string) =>
  call(address, {
    key,
    body: { input: "Hi", ...body },
    ...(idempotencyKey === undefined ? {} : { headers: { "idempotency-key": idempotencyKey } })
  })

const begin = Effect.fnUntraced(function* (address: string) {
  const reply = yield* create(address, { background: true })
  assert.strictEqual(reply.status, 200, reply.text)
  return decode(reply.text).id
})

const show = (address: string, id: string) =>
  Effect.map(call(`${address}/${id}`, { key }), (reply) => decode(reply.text))

const isOver = ({ status }: ResponseResource) => status !== "queued" && status !== "in_progress"

const ended = (address: string, id: string) => untilValue(show(address, id), isOver)

/** What the log of a response has after an event, as any process serves it. */
const after = (address: string, id: string, number: number | null) =>
  Effect.map(
    call(`${address}/${id}?stream=true${number === null ? "" : `&starting_after=${number}`}`, { key }),
    ({ text }) => framesIn(text)
  )

/** Reads a stream until it has so many frames, and goes away. */
const firstFrames = Effect.fnUntraced(function* (address: string, body: object, count: number) {
  const response = yield* openCall(address, { key, body: { input: "Hi", ...body } })
  return yield* Effect.promise(async () => {
    let text = ""
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    while (text.split("\n\n").length <= count) {
      const { done, value } = await reader.read()
      if (done) break
      text += value
    }
    await reader.cancel()
    return framesIn(text.slice(0, text.lastIndexOf("\n\n") + 2))
  })
})

const Books = Schema.Tuple([Schema.Struct({ openJobs: Schema.Int, records: Schema.Int, turns: Schema.Int })])

/** A response is shown as completed a moment before its job has ended. */
const allEnded = Effect.suspend(() => untilValue(books, ({ openJobs }) => openJobs === 0))

const books = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] =
    yield* sql`SELECT (SELECT count(*) FROM response_jobs WHERE ended_at IS NULL)::int AS open_jobs,
      (SELECT count(*) FROM usage_records)::int AS records, (SELECT count(*) FROM turns)::int AS turns`.pipe(
      Effect.flatMap(Schema.decodeUnknownEffect(Books))
    )
  return row
})

layer(Layer.merge(TestDatabase.layer, NodeFileSystem.layer), { excludeTestServices: true })(
  "responses that outlive their connection and their process",
  (it) => {
    it.effect("one Idempotency-Key at two processes at once generates once, whole and streamed", () =>
      Effect.gen(function* () {
        const { start, upstream } = yield* installation
        const [one, other] = yield* Effect.all([start, start], { concurrency: 2 })
        yield* upstream.usually(() => ({ deltas: ["Hel", "lo"], gapMillis: 100 }))
        const replies = yield* Effect.all(
          Array.from({ length: 8 }, (_, index) =>
            create(index % 2 === 0 ? one.address : other.address, {}, "the same")
          ),
          { concurrency: "unbounded" }
        )
        const whole = replies.map(({ text }) => decode(text))
        assert.strictEqual(upstream.requests.length, 1)
        assert.deepStrictEqual(new Set(whole.map(({ id, output_text }) => `${id} ${output_text}`)).size, 1)
        assert.strictEqual(whole[0]?.output_text, "Hello")

        const before = yield* books
        const streams = yield* Effect.all(
          Array.from({ length: 4 }, (_, index) =>
            create(index % 2 === 0 ? one.address : other.address, { stream: true }, "another")
          ),
          { concurrency: "unbounded" }
        )
        const ids = streams.map(({ text }) => assertProfileGrammar(framesIn(text)).whole?.id)
        assert.strictEqual(new Set(ids).size, 1)
        assert.strictEqual(upstream.requests.length, 2)
        assert.deepStrictEqual(yield* allEnded, {
          openJobs: 0,
          records: before.records + 1,
          turns: before.turns + 1
        })
      })
    )

    it.effect("a job that a killed process had not begun to write is made by another one", () =>
      Effect.gen(function* () {
        const { start, upstream } = yield* installation
        const one = yield* start
        yield* upstream.script({ hangAt: "headers" }, { deltas: ["Hello"] })
        const id = yield* begin(one.address)
        yield* upstream.request(0)
        yield* one.signal("SIGKILL")
        const other = yield* start
        const response = yield* ended(other.address, id)
        assert.deepStrictEqual([response.status, response.output_text], ["completed", "Hello"])
        yield* allEnded
      })
    )

    it.effect(
      "a job that a killed process was writing fails, and says so to who comes back for the rest",
      () =>
        Effect.gen(function* () {
          const { start, upstream } = yield* installation
          const one = yield* start
          yield* upstream.usually(() => ({ deltas: ["word "], endless: true, gapMillis: 50 }))
          const seen = yield* firstFrames(one.address, { background: true, stream: true }, 8)
          const [first] = seen
          const id = first !== undefined && "response" in first ? first.response.id : ""
          yield* one.signal("SIGKILL")
          const other = yield* start
          const response = yield* ended(other.address, id)
          assert.deepStrictEqual([response.status, response.error?.code], ["failed", "interrupted"])
          const last = seen.at(-1)!.sequence_number
          const rest = yield* after(other.address, id, last)
          const { whole } = assertProfileGrammar([...seen, ...rest])
          assert.strictEqual(whole?.status, "failed")
        })
    )

    it.effect("a finished stream goes on from any of its events at another process", () =>
      Effect.gen(function* () {
        const { start, upstream } = yield* installation
        const one = yield* start
        yield* upstream.usually(() => ({ deltas: ["Hel", "lo"] }))
        const reply = yield* create(one.address, { background: true, stream: true })
        const events = framesIn(reply.text)
        const { whole } = assertProfileGrammar(events)
        yield* one.signal("SIGKILL")
        const other = yield* start
        for (const { sequence_number: number } of events) {
          assert.deepStrictEqual(yield* after(other.address, whole!.id, number), events.slice(number + 1))
        }
      })
    )

    it.effect("a stopped process hands on what it has not begun, and ends what it has", () =>
      Effect.gen(function* () {
        const { start, upstream } = yield* installation
        const one = yield* start
        yield* upstream.script({ hangAt: "headers" }, { deltas: ["Hello"] })
        const id = yield* begin(one.address)
        yield* upstream.request(0)
        yield* one.signal("SIGTERM")
        assert.strictEqual(yield* one.exit, 0)
        const other = yield* start
        const response = yield* ended(other.address, id)
        assert.deepStrictEqual([response.status, response.output_text], ["completed", "Hello"])
      })
    )

    it.effect("whenever the process is killed, a job ends once, completed or failed", () =>
      Effect.gen(function* () {
        const { start, upstream } = yield* installation
        yield* upstream.usually(() => ({ deltas: ["a", "b", "c", "d"], gapMillis: 60 }))
        const ids: Array<string> = []
        for (const millis of [0, 30, 120, 240, 400]) {
          const service = yield* start
          ids.push(yield* begin(service.address))
          yield* Effect.sleep(millis)
          yield* service.signal("SIGKILL")
        }
        const last = yield* start
        for (const id of ids) {
          const response = yield* ended(last.address, id)
          assert.include(["completed", "failed"], response.status)
          if (response.status === "completed") assert.strictEqual(response.output_text, "abcd")
          else assert.strictEqual(response.error?.code, "interrupted")
          assertProfileGrammar(yield* after(last.address, id, null))
        }
        yield* allEnded
      })
    )
  }
)
