import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { installationLayer, makeInstallation } from "../support/Installation.ts"
import { untilValue } from "../support/until.ts"
import { call, openCall } from "../support/Wire.ts"
import { framesIn } from "./frames.ts"
import { begin, decodeResponse, ended, eventsAfter, key, responsesAt, show } from "./jobCalls.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

const installation = makeInstallation({ PARLEY_INIT_API_KEY: key, PARLEY_SHUTDOWN_GRACE_SECONDS: "1" })

const create = (address: string, body: object, idempotencyKey?: string) =>
  call(responsesAt(address), {
    key,
    body: { input: "Hi", ...body },
    ...(idempotencyKey === undefined ? {} : { headers: { "idempotency-key": idempotencyKey } })
  })

/** Reads a stream until it has so many frames, and goes away. */
const firstFrames = Effect.fnUntraced(function* (address: string, body: object, count: number) {
  const response = yield* openCall(responsesAt(address), { key, body: { input: "Hi", ...body } })
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

layer(installationLayer, { excludeTestServices: true })(
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
        const whole = replies.map(({ text }) => decodeResponse(text))
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
          const rest = yield* eventsAfter(other.address, id, last)
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
          assert.deepStrictEqual(
            yield* eventsAfter(other.address, whole!.id, number),
            events.slice(number + 1)
          )
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

    it.effect("a job ends once, completed or failed, whenever its process is killed", () =>
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
          assertProfileGrammar(yield* eventsAfter(last.address, id, null))
        }
        yield* allEnded
      })
    )
  }
)

const adminKey = "parley_admin_OF_NOTHING_BUT_THESE_TESTS"
const NewUser = Schema.fromJsonString(Schema.Struct({ key: Schema.String }))

/** Keys of so many users. */
const newUsers = (address: string, count: number) =>
  Effect.forEach(Array.from({ length: count }), (_, index) =>
    Effect.gen(function* () {
      const body = { email: `user${index}@example.com`, organization: "default", with_key: true }
      const { text } = yield* call(`${address}/admin/users`, { key: adminKey, body })
      return (yield* Schema.decodeEffect(NewUser)(text)).key
    })
  )

const Standing = Schema.Tuple([Schema.Struct({ running: Schema.Int, queued: Schema.Int })])

const standing = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql`SELECT count(*) FILTER (WHERE status = 'in_progress')::int AS running,
      count(*) FILTER (WHERE status = 'queued')::int AS queued FROM response_jobs`.pipe(
    Effect.flatMap(Schema.decodeUnknownEffect(Standing))
  )
  return row
})

layer(installationLayer, { excludeTestServices: true })("the queue of responses in the background", (it) => {
  it.effect(
    "the queue has 32 responses under way in one process, begins the next when one ends, and more in another process",
    () =>
      Effect.gen(function* () {
        const { start, upstream } = yield* makeInstallation({
          PARLEY_INIT_API_KEY: key,
          PARLEY_ADMIN_KEY: adminKey
        })
        yield* upstream.usually(() => ({ hangAt: 1 }))
        const one = yield* start
        // Eight of each user may be under way at once.
        const users = yield* newUsers(one.address, 5)
        const jobs = yield* Effect.forEach(
          Array.from({ length: 40 }, (_, index) => users[index % users.length]!),
          (user) => Effect.map(begin(one.address, user), (id) => ({ id, user })),
          { concurrency: "unbounded" }
        )
        yield* untilValue(standing, ({ running }) => running >= 32)
        yield* upstream.request(31)
        assert.deepStrictEqual(yield* standing, { running: 32, queued: 8 })

        const shown = yield* Effect.forEach(jobs, ({ id, user }) => show(one.address, id, user))
        const { id, user } = jobs[shown.findIndex(({ status }) => status === "in_progress")]!
        const path = `${responsesAt(one.address)}/${id}/cancel`
        assert.strictEqual((yield* call(path, { key: user, body: {} })).status, 200)
        yield* upstream.request(32)
        assert.deepStrictEqual(yield* standing, { running: 32, queued: 7 })
        assert.lengthOf(upstream.requests, 33)

        yield* start
        yield* upstream.request(39)
        assert.deepStrictEqual(yield* standing, { running: 39, queued: 0 })
      })
  )
})
