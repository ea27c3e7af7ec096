import { assert, layer } from "@effect/vitest"
import { Clock, Context, Deferred, Duration, Effect, Layer, Logger, References, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { FileStoreLayer } from "../../src/files/FileStoreLayer.ts"
import { framesIn } from "../openai/frames.ts"
import { decodeResponse } from "../openai/jobCalls.ts"
import { assertProfileGrammar } from "../openai/ProfileGrammar.ts"
import { says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import type { SettingsOverrides } from "../support/TestConfig.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { until, untilValue } from "../support/until.ts"
import { call } from "../support/Wire.ts"

/** More statements than a job runs, together with those of loops that run beside it. */
const statementsMax = 40
/**
 * Statements that fail after a job has, so that the outage is longer than a batch of events is retried for.
 */
const outageStatements = 60

/** Sleeps up to this are pauses of loops and of retries. Longer ones are timeouts, of which none may pass. */
const pauseSecondsMax = 2
/** Factor by which those pauses are shorter in these tests. */
const speed = 20

const clock = Clock.Clock.defaultValue()

/** The real time, with short pauses. */
const QuickLayer = Layer.succeed(Clock.Clock, {
  currentTimeMillis: clock.currentTimeMillis,
  currentTimeNanos: clock.currentTimeNanos,
  monotonicTimeNanos: clock.monotonicTimeNanos,
  currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
  currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  sleep: (duration) =>
    clock.sleep(
      Duration.toSeconds(duration) > pauseSecondsMax
        ? duration
        : Duration.millis(Duration.toMillis(duration) / speed)
    )
})

/**
 * A job whose claim was done and its answer lost waits for the end of its lease, which the database measures.
 */
const shortLease = { conversations: { leaseSeconds: 3 } }

/** The messages of the log lines. */
class Log extends Context.Service<Log, { readonly lines: Array<string> }>()("parley/test/Log") {}

const LogLayer = Layer.unwrap(
  Effect.sync(() => {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
    return Layer.mergeAll(
      Layer.succeed(Log, { lines }),
      Logger.layer([logger]),
      Layer.succeed(References.MinimumLogLevel, "Info")
    )
  })
)

/** A client that no fault reaches. */
class Observer extends Context.Service<Observer, SqlClient.SqlClient>()("parley/test/Observer") {
  static readonly layer = Layer.effect(
    Observer,
    Effect.gen(function* () {
      const database = yield* TestDatabase
      const own = TestDatabase.client().pipe(Layer.provide(Layer.succeed(TestDatabase, database)))
      return Context.get(yield* Layer.build(own), SqlClient.SqlClient)
    })
  )
}

const appLayer = (overrides: SettingsOverrides) =>
  Layer.provideMerge(
    TestApp.layerWith(
      Layer.provideMerge(Observer.layer, TestDatabase.layerFailing),
      FileStoreLayer,
      overrides,
      ScriptedModel.layer,
      Layer.empty
    ),
    Layer.merge(LogLayer, QuickLayer)
  )

const path = "/openai/v1/responses"
const background = { input: "Hi", background: true }

/** Puts a job into the table, as another process does. */
const addJob = Effect.fnUntraced(function* (isAbandoned: boolean) {
  const sql = yield* Observer
  const { alice } = yield* TestApp
  const id = crypto.randomUUID()
  yield* sql`INSERT INTO response_jobs
      (response_id, user_id, api_key_id, background, status, request, lease_fence, lease_until, runs)
    SELECT ${id}::uuid, ${alice.id}::uuid, id, true, ${isAbandoned ? "in_progress" : "queued"}, ${JSON.stringify(background)}::json, 1,
      ${isAbandoned ? sql`clock_timestamp()` : null}, ${isAbandoned ? 3 : 0}
    FROM api_keys WHERE user_id = ${alice.id}::uuid LIMIT 1`
  return id
})

interface Ended {
  readonly status: string
  readonly code: string | null
  readonly turns: number
}

const ended = Effect.fnUntraced(function* (id: string) {
  const sql = yield* Observer
  const found = sql<Ended>`SELECT status, failure ->> 'code' AS code,
      (SELECT count(*)::int FROM turns WHERE turns.response_id = response_jobs.response_id) AS turns
    FROM response_jobs WHERE response_id = ${id}::uuid AND ended_at IS NOT NULL`
  const [row] = yield* untilValue(found, ({ length }) => length > 0)
  return row!
})

/** Checks that clients see a job as it is stored, and that its stream ends once. */
const checkEnd = Effect.fnUntraced(function* (id: string) {
  const { alice, url } = yield* TestApp
  const { code, status, turns } = yield* ended(id)
  const { failed } = yield* (yield* SqlFaults).seen
  yield* (yield* SqlFaults).off
  assert.strictEqual(turns, status === "completed" ? 1 : 0)
  const shown = decodeResponse((yield* call(`${url}${path}/resp_${id}`, { key: alice.key })).text)
  assert.deepStrictEqual([shown.status, shown.error?.code ?? null], [status, code])
  const { text: stream } = yield* call(`${url}${path}/resp_${id}?stream=true`, { key: alice.key })
  const { whole } = assertProfileGrammar(framesIn(stream))
  assert.strictEqual(whole?.status, status)
  return { code, status, failed }
})

const assertNothingUnhandled = Effect.map(Log, ({ lines }) =>
  assert.isEmpty(lines.filter((line) => /unhandled|internal_error/.test(line)))
)

layer(appLayer(shortLease), { excludeTestServices: true })(
  "A response in the background, while the database is away",
  (it) => {
    for (const when of ["before", "after"] as const) {
      it.effect(
        `a background response completes, or fails as database_unavailable, whichever of its statements fails (${when})`,
        () =>
          Effect.gen(function* () {
            const faults = yield* SqlFaults
            const model = yield* ScriptedModel
            const seen = new Map<string, number>()
            for (let n = 1; n <= statementsMax; n++) {
              // A job that is begun again asks once more.
              yield* model.clear
              yield* model.next(says("Hello"), says("Hello"))
              yield* faults.failStatement(n, when)
              const { code, failed, status } = yield* checkEnd(yield* addJob(false))
              assert.include([null, "database_unavailable"], code)
              seen.set(status, (seen.get(status) ?? 0) + 1)
              if (!failed) break
            }
            assert.isAbove(seen.get("completed") ?? 0, seen.get("failed") ?? 0)
            yield* assertNothingUnhandled
          })
      )

      it.effect(`a background response ends once after a crash, whichever statement fails (${when})`, () =>
        Effect.gen(function* () {
          const faults = yield* SqlFaults
          const sql = yield* Observer
          for (let n = 1; n <= 6; n++) {
            yield* faults.failStatement(n, when)
            const id = yield* addJob(true)
            yield* until(Effect.map(faults.seen, ({ failed }) => failed))
            // A process that broke off keeps the lease for as long as one that was killed.
            yield* sql`UPDATE response_jobs SET lease_until = clock_timestamp() WHERE ended_at IS NULL`
            assert.deepInclude(yield* checkEnd(id), { status: "failed", code: "interrupted" })
          }
          yield* assertNothingUnhandled
        })
      )
    }
  }
)

// Leases outlast the time that events are retried for.
layer(appLayer({}), { excludeTestServices: true })(
  "A response in the background that the database leaves in its middle",
  (it) => {
    it.effect("a background response fails as database_unavailable when the database comes back", () =>
      Effect.gen(function* () {
        const faults = yield* SqlFaults
        const model = yield* ScriptedModel
        const sql = yield* Observer
        const { lines } = yield* Log
        const gate = yield* Deferred.make<void>()
        lines.length = 0
        yield* model.clear
        yield* model.next(
          Stream.concat(Stream.make(text("Hel")), Stream.unwrap(Effect.as(Deferred.await(gate), says("lo"))))
        )
        const id = yield* addJob(false)
        const logged = sql`SELECT 1 FROM response_events WHERE response_id = ${id}::uuid`
        yield* until(Effect.map(logged, ({ length }) => length > 0))
        yield* faults.off
        yield* faults.outage
        yield* Deferred.succeed(gate, undefined)
        yield* until(Effect.sync(() => lines.includes("A request failed.")))
        const { statements: before } = yield* faults.seen
        yield* until(Effect.map(faults.seen, ({ statements }) => statements > before + outageStatements))
        yield* faults.off
        assert.deepInclude(yield* checkEnd(id), { status: "failed", code: "database_unavailable" })
        yield* assertNothingUnhandled
      })
    )
  }
)
