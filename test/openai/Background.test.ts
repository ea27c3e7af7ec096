import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Metric, Schema, Stream } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { ResponseResource } from "../../src/api/openai/ResponseResource.ts"
import { runningPerUserMax } from "../../src/conversations/JobLeases.ts"
import { openPerUserMax } from "../../src/conversations/ResponseJobs.ts"
import { responseJobs } from "../../src/telemetry/Instruments.ts"
import { failure, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { call, openCall } from "../support/Wire.ts"
import { framesIn } from "./frames.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

const path = "/openai/v1/responses"

const send = Effect.fnUntraced(function* (
  method: string,
  below: string,
  {
    body,
    key,
    user = "alice"
  }: { readonly body?: unknown; readonly key?: string; readonly user?: "alice" | "bob" } = {}
) {
  const app = yield* TestApp
  return yield* call(`${app.url}${path}${below}`, {
    method,
    key: app[user].key,
    ...(key === undefined ? {} : { headers: { "idempotency-key": key } }),
    ...(body === undefined ? {} : { body })
  })
})

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ResponseResource))

const response = Effect.fnUntraced(function* (...request: Parameters<typeof send>) {
  const reply = yield* send(...request)
  assert.strictEqual(reply.status, 200, reply.text)
  return yield* decode(reply.text)
})

const codeOf = (reply: { readonly text: string }) =>
  (JSON.parse(reply.text) as { error: { code: string } }).error.code

const shownAs = (id: string, status: string) =>
  until(Effect.map(response("GET", `/${id}`), (shown) => shown.status === status))

/** Waits for the first events in the log. */
const isLogged = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  const logged = sql`SELECT 1 FROM response_events WHERE response_id = ${id.slice("resp_".length)}::uuid`
  yield* until(Effect.map(logged, ({ length }) => length > 0))
})

const asked = Effect.flatMap(ScriptedModel, (model) => Effect.map(model.asked, ({ length }) => length))

/** An answer that begins, and goes on when it is let. */
const held = Effect.gen(function* () {
  const gate = yield* Deferred.make<void>()
  const model = yield* ScriptedModel
  const rest = Stream.unwrap(Effect.as(Deferred.await(gate), says("lo")))
  yield* model.next(Stream.concat(Stream.make(text("Hel")), rest))
  return Deferred.succeed(gate, undefined)
})

const background = { input: "Hi", background: true }

layer(TestApp.layer(), { excludeTestServices: true })("responses in the background", (it) => {
  it.effect("a response is queued, and shown when it is ready", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"))
      const queued = yield* response("POST", "", { body: { ...background, metadata: { a: "b" } } })
      assert.strictEqual(queued.status, "queued")
      assert.isTrue(queued.background)
      assert.deepStrictEqual(queued.output, [])
      yield* shownAs(queued.id, "completed")
      const shown = yield* response("GET", `/${queued.id}`)
      assert.strictEqual(shown.output_text, "Hello")
      assert.deepStrictEqual(shown.metadata, { a: "b" })
      assert.strictEqual((yield* send("GET", `/${queued.id}`, { user: "bob" })).status, 404)
    })
  )

  it.effect("a stream begins before the response does, and says that it is queued", () =>
    Effect.gen(function* () {
      const letGo = yield* held
      const busy = yield* held
      const app = yield* TestApp
      const sql = yield* SqlClient.SqlClient
      const first = yield* response("POST", "", { body: background })
      yield* isLogged(first.id)
      // Others of the user take all the places of the queue.
      yield* sql`INSERT INTO response_jobs
          (response_id, user_id, api_key_id, background, status, request, lease_until)
        SELECT gen_random_uuid(), user_id, api_key_id, true, 'in_progress', request, now() + interval '1 hour'
        FROM response_jobs, generate_series(1, 7) WHERE response_id = ${first.id.slice("resp_".length)}::uuid`
      const streaming = yield* openCall(`${app.url}${path}`, {
        key: app.alice.key,
        body: { ...background, stream: true }
      })
      const id = streaming.headers.get("x-response-id") ?? ""
      assert.strictEqual((yield* response("GET", `/${id}`)).status, "queued")
      yield* sql`DELETE FROM response_jobs WHERE lease_until > now() + interval '50 minutes'`
      yield* Effect.andThen(letGo, busy)
      const events = framesIn(yield* Effect.promise(() => new Response(streaming.body).text()))
      const { whole } = assertProfileGrammar(events)
      assert.deepStrictEqual(
        events.slice(0, 3).map(({ type }) => type),
        ["response.created", "response.queued", "response.in_progress"]
      )
      assert.strictEqual(whole?.created_at, (yield* response("GET", `/${id}`)).created_at)
      assert.deepStrictEqual(yield* response("GET", `/${id}`), whole)
    })
  )

  it.effect(
    "a response that is being made shows what was written so far, and one that broke off what it had",
    () =>
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        const gate = yield* Deferred.make<void>()
        const rest = Stream.unwrap(Effect.as(Deferred.await(gate), Stream.fail(failure("server_error"))))
        yield* model.next(Stream.concat(Stream.make(text("Hel"), text("lo")), rest))
        const { id } = yield* response("POST", "", { body: background })
        yield* until(Effect.map(response("GET", `/${id}`), ({ output_text }) => output_text === "Hello"))
        const shown = yield* response("GET", `/${id}`)
        const [item] = shown.output
        assert.strictEqual(shown.status, "in_progress")
        assert.deepInclude(item, { type: "message", status: "in_progress" })
        assert.isNotNull(shown.conversation)
        yield* Deferred.succeed(gate, undefined)
        yield* shownAs(id, "failed")
        const broken = yield* response("GET", `/${id}`)
        assert.deepStrictEqual(broken.output, [{ ...item!, status: "incomplete" }])
        assert.strictEqual(broken.output_text, "Hello")
      })
  )

  it.effect("a response that another process queued is begun", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const sql = yield* SqlClient.SqlClient
      const { alice } = yield* TestApp
      yield* model.next(says("Hello"))
      const id = crypto.randomUUID()
      yield* sql`INSERT INTO response_jobs (response_id, user_id, api_key_id, background, status, request)
        SELECT ${id}::uuid, ${alice.id}::uuid, id, true, 'queued', ${JSON.stringify(background)}::json
        FROM api_keys WHERE user_id = ${alice.id}::uuid LIMIT 1`
      yield* shownAs(`resp_${id}`, "completed")
    })
  )

  it.effect("the background responses of one user are bounded, and so are those that wait", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const gates = yield* Effect.all(Array.from({ length: runningPerUserMax + 1 }, () => held))
      const before = yield* asked
      const ids = yield* Effect.forEach(gates, () =>
        Effect.map(response("POST", "", { body: background }), ({ id }) => id)
      )
      yield* until(Effect.map(asked, (count) => count === before + runningPerUserMax))
      const last = ids.at(-1)!
      // A look for more of the queue happens each second.
      yield* Effect.sleep("1500 millis")
      assert.strictEqual(yield* asked, before + runningPerUserMax)
      assert.strictEqual((yield* response("GET", `/${last}`)).status, "queued")
      yield* sql`INSERT INTO response_jobs
          (response_id, user_id, api_key_id, background, status, request, lease_until)
        SELECT gen_random_uuid(), user_id, api_key_id, false, 'in_progress', request, now() + interval '1 hour'
        FROM response_jobs, generate_series(1, ${openPerUserMax - ids.length}::int)
        WHERE response_id = ${last.slice("resp_".length)}::uuid`
      const tooMany = yield* send("POST", "", { body: background })
      assert.deepStrictEqual([tooMany.status, codeOf(tooMany)], [429, "too_many_open_responses"])
      assert.isNotNull(tooMany.headers.get("retry-after"))
      yield* sql`DELETE FROM response_jobs WHERE NOT background`
      for (const letGo of gates) yield* letGo
      for (const id of ids) yield* shownAs(id, "completed")
    })
  )

  it.effect("a response that fails says why", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("server_error"))))
      const { id } = yield* response("POST", "", { body: background })
      yield* shownAs(id, "failed")
      assert.strictEqual((yield* response("GET", `/${id}`)).error?.code, "generation_failed")
    })
  )

  it.effect("a stream goes on after the event that was seen last, while the response is made and later", () =>
    Effect.gen(function* () {
      const letGo = yield* held
      const app = yield* TestApp
      const streaming = yield* openCall(`${app.url}${path}`, {
        key: app.alice.key,
        body: { ...background, stream: true }
      })
      const id = streaming.headers.get("x-response-id") ?? ""
      yield* Effect.promise(async () => streaming.body?.cancel())
      const resumed = yield* Effect.forkChild(send("GET", `/${id}?stream=true&starting_after=1`))
      yield* Effect.sleep(200)
      yield* letGo
      const rest = framesIn((yield* Fiber.join(resumed)).text)
      const all = framesIn((yield* send("GET", `/${id}?stream=true`)).text)
      const { whole } = assertProfileGrammar(all)
      assert.strictEqual(whole?.output_text, "Hello")
      assert.deepStrictEqual(rest, all.slice(2))
      assert.strictEqual(all[2]?.sequence_number, 2)
      const late = framesIn((yield* send("GET", `/${id}?stream=true&starting_after=4`)).text)
      assert.deepStrictEqual(late, all.slice(5))
    })
  )

  it.effect("a cancelled response ends, and stays cancelled", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const before = yield* asked
      const ended = yield* model.ended
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.never))
      const { id } = yield* response("POST", "", { body: background })
      yield* until(Effect.map(asked, (count) => count > before))
      yield* isLogged(id)
      assert.strictEqual((yield* send("POST", `/${id}/cancel`, { user: "bob" })).status, 404)
      const counted = Effect.map(Metric.value(responseJobs.of("cancelled")), ({ count }) => Number(count))
      const cancelledBefore = yield* counted
      assert.strictEqual((yield* response("POST", `/${id}/cancel`)).status, "cancelled")
      assert.strictEqual(yield* counted, cancelledBefore + 1)
      yield* until(Effect.map(model.ended, (count) => count > ended))
      assert.strictEqual((yield* response("POST", `/${id}/cancel`)).status, "cancelled")
      assert.strictEqual(yield* counted, cancelledBefore + 1)
      const last = framesIn((yield* send("GET", `/${id}?stream=true`)).text).at(-1)
      assert.strictEqual(last?.type === "response.failed" && last.response.error?.code, "response_cancelled")
    })
  )

  it.effect("only what is in the background can be cancelled, and must be stored", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"))
      const { id } = yield* response("POST", "", { body: { input: "Hi" } })
      const reply = yield* send("POST", `/${id}/cancel`)
      assert.deepStrictEqual([reply.status, codeOf(reply)], [409, "response_not_cancellable"])
      const again = yield* send("GET", `/${id}?stream=true`)
      assert.deepStrictEqual([again.status, codeOf(again)], [400, "invalid_request"])
      const unstored = yield* send("POST", "", { body: { ...background, store: false } })
      assert.deepStrictEqual([unstored.status, codeOf(unstored)], [400, "invalid_request"])
    })
  )

  it.effect("a deleted response leaves nothing, also while it is made", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const sql = yield* SqlClient.SqlClient
      const ended = yield* model.ended
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.never))
      const { id } = yield* response("POST", "", { body: background })
      yield* shownAs(id, "in_progress")
      assert.strictEqual((yield* send("DELETE", `/${id}`)).status, 200)
      assert.strictEqual((yield* send("GET", `/${id}`)).status, 404)
      const bare = id.slice("resp_".length)
      for (const table of ["response_jobs", "response_events"]) {
        assert.lengthOf(yield* sql`SELECT 1 FROM ${sql(table)} WHERE response_id = ${bare}::uuid`, 0)
      }
      yield* until(Effect.map(model.ended, (count) => count > ended))
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("an Idempotency-Key", (it) => {
  it.effect("one of two concurrent requests with a key generates, and both get its answer", () =>
    Effect.gen(function* () {
      const letGo = yield* held
      const before = yield* asked
      const request = { body: { input: "Hi" }, key: "one" }
      const both = yield* Effect.forkChild(
        Effect.all([response("POST", "", request), response("POST", "", request)], { concurrency: 2 })
      )
      yield* until(Effect.map(asked, (count) => count > before))
      yield* letGo
      const [first, second] = yield* Fiber.join(both)
      assert.strictEqual(first.output_text, "Hello")
      assert.deepStrictEqual(second, first)
      assert.deepStrictEqual(yield* response("POST", "", request), first)
      const model = yield* ScriptedModel
      yield* model.next(says("another"))
      const other = yield* response("POST", "", { ...request, key: "another" })
      assert.notStrictEqual(other.id, first.id)
      assert.strictEqual(yield* asked, before + 2)
    })
  )

  it.effect("a stream is replayed whole after its client has gone", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const letGo = yield* held
      const before = yield* asked
      const body = { input: "Hi", stream: true }
      const headers = { "idempotency-key": "streamed" }
      const streaming = yield* openCall(`${app.url}${path}`, { key: app.alice.key, body, headers })
      yield* Effect.promise(async () => streaming.body?.cancel())
      yield* letGo
      const { text: replayed } = yield* send("POST", "", { body, key: "streamed" })
      assert.strictEqual(assertProfileGrammar(framesIn(replayed)).whole?.output_text, "Hello")
      assert.strictEqual((yield* send("POST", "", { body, key: "streamed" })).text, replayed)
      assert.strictEqual(yield* asked, before + 1)
    })
  )

  it.effect("another request by the same key is refused, and another user's key is another one", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("one"), says("two"))
      const first = yield* response("POST", "", { body: { input: "Hi" }, key: "shared" })
      const other = yield* send("POST", "", { body: { input: "Ho" }, key: "shared" })
      assert.deepStrictEqual([other.status, codeOf(other)], [422, "idempotency_key_reused"])
      const theirs = yield* response("POST", "", { body: { input: "Hi" }, key: "shared", user: "bob" })
      assert.notStrictEqual(theirs.id, first.id)
      for (const key of ["", "x".repeat(256)]) {
        assert.strictEqual((yield* send("POST", "", { body: { input: "Hi" }, key })).status, 400)
      }
    })
  )

  it.effect("a request that is refused before anything is generated may be sent again by the same key", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(Stream.fail(failure("refused")), Stream.fail(failure("server_error")))
      const request = { body: { input: "Hi" }, key: "again" }
      const refused = yield* send("POST", "", request)
      assert.deepStrictEqual([refused.status, codeOf(refused)], [500, "generation_failed"])
      yield* model.next(says("Hello"))
      assert.strictEqual((yield* response("POST", "", request)).output_text, "Hello")
    })
  )

  it.effect("all requests that wait by a key get the same refusal, and the next one is answered", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const sql = yield* SqlClient.SqlClient
      const gate = yield* Deferred.make<void>()
      const before = yield* asked
      yield* model.next(
        Stream.unwrap(Effect.as(Deferred.await(gate), Stream.fail(failure("refused")))),
        Stream.fail(failure("server_error"))
      )
      const request = { body: { input: "Hi" }, key: "refused" }
      const streamed = { body: { input: "Hi", stream: true }, key: "refused" }
      const first = yield* Effect.forkChild(send("POST", "", request))
      yield* until(Effect.map(asked, (count) => count > before))
      // It attaches as another process does, which has no part of the job but the table.
      const [job] = yield* sql<{ id: string }>`SELECT response_id AS id FROM response_jobs
        WHERE key_hash IS NOT NULL AND ended_at IS NULL`
      const others = yield* Effect.forkChild(
        Effect.all([send("POST", "", request), send("POST", "", request)], { concurrency: 2 })
      )
      const elsewhere = yield* Effect.forkChild(send("GET", `/resp_${job?.id}?stream=true`))
      yield* Effect.sleep(200)
      yield* Deferred.succeed(gate, undefined)
      const refusal = yield* Fiber.join(first)
      assert.deepStrictEqual([refusal.status, codeOf(refusal)], [500, "generation_failed"])
      for (const other of yield* Fiber.join(others)) {
        assert.deepStrictEqual([other.status, other.text], [refusal.status, refusal.text])
        assert.strictEqual(other.headers.get("retry-after"), refusal.headers.get("retry-after"))
      }
      const last = framesIn((yield* Fiber.join(elsewhere)).text).at(-1)
      assert.strictEqual(last?.type === "error" && last.code, "generation_failed")
      assert.strictEqual((yield* response("GET", `/resp_${job?.id}`)).error?.code, "generation_failed")
      yield* model.next(says("Hello"))
      const replayed = framesIn((yield* send("POST", "", streamed)).text)
      assert.strictEqual(assertProfileGrammar(replayed).whole?.output_text, "Hello")
    })
  )

  it.effect("an answer that failed after its beginning is not generated again", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(Stream.concat(Stream.make(text("Hel")), Stream.fail(failure("server_error"))))
      const request = { body: { input: "Hi" }, key: "failed" }
      const first = yield* send("POST", "", request)
      assert.deepStrictEqual([first.status, codeOf(first)], [500, "generation_failed"])
      const again = yield* send("POST", "", request)
      assert.deepStrictEqual([again.status, codeOf(again)], [500, "generation_failed"])
    })
  )
})

/** Leaves a job as a process does that was killed. */
const abandoned = Effect.fnUntraced(function* (
  events: ReadonlyArray<unknown>,
  runs = 1,
  keyHash: Statement.Fragment | null = null
) {
  const sql = yield* SqlClient.SqlClient
  const { alice } = yield* TestApp
  const id = crypto.randomUUID()
  yield* sql`INSERT INTO response_jobs
      (response_id, user_id, api_key_id, background, status, request, lease_fence, lease_until, runs, event_count, key_hash)
    SELECT ${id}::uuid, ${alice.id}::uuid, id, true, 'in_progress', ${JSON.stringify(background)}::json, 1,
      clock_timestamp() + interval '1 hour', ${runs}::int, ${events.length}::int, ${keyHash ?? sql`NULL::bytea`}
    FROM api_keys WHERE user_id = ${alice.id}::uuid LIMIT 1`
  if (events.length > 0) {
    yield* sql`INSERT INTO response_events (response_id, position, events)
      VALUES (${id}::uuid, 0, ${JSON.stringify(events)}::json)`
  }
  yield* sql`UPDATE response_jobs SET lease_until = clock_timestamp() WHERE response_id = ${id}::uuid`
  return `resp_${id}`
})

layer(TestApp.layer(), { excludeTestServices: true })("a response whose process was killed", (it) => {
  it.effect("a response of a killed process is made by another one if nothing was generated", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"))
      const id = yield* abandoned([])
      yield* shownAs(id, "completed")
      assert.strictEqual((yield* response("GET", `/${id}`)).output_text, "Hello")
    })
  )

  it.effect("a response of a killed process is made again once at most with an Idempotency-Key", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const before = yield* asked
      const id = yield* abandoned([], 2, sql`decode('aa', 'hex')`)
      yield* shownAs(id, "failed")
      assert.strictEqual((yield* response("GET", `/${id}`)).error?.code, "interrupted")
      assert.strictEqual(yield* asked, before)
    })
  )

  it.effect("a response of a killed process is shown whole if its turn was stored", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      const sql = yield* SqlClient.SqlClient
      yield* model.next(says("Hello"))
      const { id } = yield* response("POST", "", { body: background })
      yield* shownAs(id, "completed")
      const whole = yield* response("GET", `/${id}`)
      const stream = (yield* send("GET", `/${id}?stream=true`)).text
      const before = yield* asked
      const records = sql`SELECT response_id FROM usage_records`
      const recorded = (yield* records).length
      const bare = id.slice("resp_".length)
      // The last batches, which may not have been written when the turn was.
      yield* sql`DELETE FROM response_events WHERE response_id = ${bare}::uuid
        AND (events::jsonb @> '[{"type": "response.completed"}]' OR events::jsonb @> '[{"type": "response.output_item.done"}]')`
      yield* sql`UPDATE response_jobs SET status = 'in_progress', ended_at = NULL, lease_until = clock_timestamp(),
          event_count = (SELECT coalesce(max(position + json_array_length(events)), 0) FROM response_events
            WHERE response_id = ${bare}::uuid)
        WHERE response_id = ${bare}::uuid`
      const ended = sql`SELECT 1 FROM response_jobs WHERE response_id = ${bare}::uuid AND status = 'completed'`
      yield* until(Effect.map(ended, ({ length }) => length > 0))
      assert.deepStrictEqual(yield* response("GET", `/${id}`), whole)
      assert.strictEqual((yield* send("GET", `/${id}?stream=true`)).text, stream)
      assert.strictEqual(yield* asked, before)
      assert.strictEqual((yield* records).length, recorded)
    })
  )

  it.effect("a response of a killed process fails if it had begun, or was begun too often", () =>
    Effect.gen(function* () {
      const model = yield* ScriptedModel
      yield* model.next(says("Hello"))
      const { id: other } = yield* response("POST", "", { body: background })
      yield* shownAs(other, "completed")
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{ events: ReadonlyArray<unknown> }>`
        SELECT events FROM response_events WHERE response_id = ${other.slice("resp_".length)}::uuid AND position = 0`
      for (const id of [yield* abandoned((row?.events ?? []).slice(0, 1)), yield* abandoned([], 3)]) {
        yield* shownAs(id, "failed")
        assert.strictEqual((yield* response("GET", `/${id}`)).error?.code, "interrupted")
      }
      const begun = yield* abandoned((row?.events ?? []).slice(0, 1))
      const replayed = framesIn((yield* send("GET", `/${begun}?stream=true`)).text)
      assert.strictEqual(replayed.at(-1)?.type, "response.failed")
    })
  )
})
