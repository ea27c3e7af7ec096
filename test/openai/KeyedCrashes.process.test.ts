import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { installationLayer, makeInstallation } from "../support/Installation.ts"
import type { MockBehaviour } from "../support/MockModelServer.ts"
import { untilValue } from "../support/until.ts"
import { call, type Reply } from "../support/Wire.ts"
import { framesIn } from "./frames.ts"
import { decodeResponse, key, responsesAt, show } from "./jobCalls.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

const installation = makeInstallation({ PARLEY_INIT_API_KEY: key })

/** The deliveries of an answer, each under an Idempotency-Key of its own. */
const deliveries = ["whole", "streamed"] as const
type Delivery = (typeof deliveries)[number]

const ask = (address: string, name: string, delivery: Delivery) =>
  call(responsesAt(address), {
    key,
    headers: { "idempotency-key": `${name} ${delivery}` },
    body: { input: "Hi", stream: delivery === "streamed" }
  })

/** The response in a reply, in either delivery. */
const read = ({ status, text }: Reply, delivery: Delivery) => {
  assert.strictEqual(status, 200, text)
  if (delivery === "whole") return decodeResponse(text)
  const { whole } = assertProfileGrammar(framesIn(text))
  assert.isNotNull(whole)
  return whole!
}

/** A lock that the paused statements wait for. */
const pauseLock = 7_001

/** Statements that can be made to wait inside the database, each by a trigger. */
const pauses = {
  "its turn is being written": "BEFORE INSERT ON items FOR EACH ROW",
  "its turn is stored": `BEFORE INSERT ON response_events FOR EACH ROW
    WHEN (NEW.events::text LIKE '%"type":"response.completed"%')`,
  "its last event is logged":
    "BEFORE UPDATE ON response_jobs FOR EACH ROW WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL)"
} as const

/** Sessions of this database that wait for the lock. */
const paused = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql<{
      pid: number
    }>`SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = ${pauseLock}::oid
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
)

/**
 * Makes a statement wait until the scope closes, which ends the sessions that wait: nothing of theirs is
 * stored.
 */
const pause = Effect.fnUntraced(function* (at: keyof typeof pauses) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE OR REPLACE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS
    ${sql.literal(`$$BEGIN PERFORM pg_advisory_xact_lock_shared(${pauseLock}); RETURN NEW; END$$`)}`
  const connection = yield* sql.reserve
  yield* Effect.acquireRelease(
    connection.executeUnprepared(`SELECT pg_advisory_lock(${pauseLock})`, [], undefined),
    () => Effect.orDie(connection.executeUnprepared(`SELECT pg_advisory_unlock(${pauseLock})`, [], undefined))
  )
  yield* Effect.acquireRelease(
    sql`CREATE TRIGGER pause ${sql.literal(pauses[at])} EXECUTE FUNCTION pause()`,
    () =>
      Effect.gen(function* () {
        for (const { pid } of yield* paused) yield* sql`SELECT pg_terminate_backend(${pid}, 5000)`
        yield* sql`DROP TRIGGER pause ON ${sql.literal(/ON (\w+)/.exec(pauses[at])![1]!)}`
      }).pipe(Effect.orDie)
  )
})

const Kept = Schema.Array(Schema.Struct({ id: Schema.String, turns: Schema.Int, items: Schema.Int }))

/** The rows of the responses whose idempotency keys have this name. */
const kept = Effect.fnUntraced(function* (name: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`SELECT 'resp_' || response_id AS id,
      (SELECT count(*)::int FROM turns WHERE turns.response_id = response_jobs.response_id) AS turns,
      (SELECT count(*)::int FROM items WHERE items.response_id = response_jobs.response_id) AS items
    FROM response_jobs JOIN unnest(${deliveries.map((delivery) => `${name} ${delivery}`)}::text[]) AS one
      ON key_hash = sha256(convert_to(one, 'UTF8'))`.pipe(Effect.flatMap(Schema.decodeUnknownEffect(Kept)))
})

const logged = Effect.fnUntraced(function* (text: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`SELECT DISTINCT response_id FROM response_events WHERE events::text LIKE ${`%"${text}"%`}`
})

/** Asks in both deliveries, kills the process once `instant` is reached, and gives the clients' exits. */
const crashAt = Effect.fnUntraced(function* <E, R>(
  { address, signal, exit }: Effect.Success<Effect.Success<typeof installation>["start"]>,
  name: string,
  instant: Effect.Effect<unknown, E, R>
) {
  const clients = yield* Effect.forEach(deliveries, (delivery) =>
    Effect.forkChild(ask(address, name, delivery))
  )
  yield* instant
  yield* signal("SIGKILL")
  yield* exit
  return yield* Effect.forEach(clients, Fiber.await)
})

const answers: MockBehaviour = { deltas: ["Hel", "lo"] }
const generatedAgain = /generated again, .*may bill both/g

layer(installationLayer, { excludeTestServices: true })(
  "an Idempotency-Key whose process is killed",
  (it) => {
    it.effect("a request killed before the first token is generated again, with a warning", () =>
      Effect.gen(function* () {
        const { start, upstream } = yield* installation
        yield* upstream.script({ hangAt: "headers" }, { hangAt: "headers" })
        yield* upstream.usually(() => answers)
        yield* crashAt(yield* start, "early", upstream.request(1))
        const other = yield* start
        for (const delivery of deliveries) {
          const again = read(yield* ask(other.address, "early", delivery), delivery)
          assert.deepStrictEqual([again.status, again.output_text], ["completed", "Hello"])
          assert.deepStrictEqual(read(yield* ask(other.address, "early", delivery), delivery), again)
        }
        assert.lengthOf(upstream.requests, 4)
        const { err, out } = other.output()
        assert.lengthOf((out + err).match(generatedAgain) ?? [], 2)
        assert.deepStrictEqual(
          (yield* kept("early")).map(({ turns }) => turns),
          [1, 1]
        )
      })
    )

    it.effect("a request killed twice before the first token has failed as interrupted", () =>
      Effect.gen(function* () {
        const { start, upstream } = yield* installation
        yield* upstream.usually(() => ({ hangAt: "headers" }))
        yield* crashAt(yield* start, "twice", upstream.request(1))
        yield* crashAt(yield* start, "twice", upstream.request(3))
        const other = yield* start
        for (const delivery of deliveries) {
          const { status, text } = yield* ask(other.address, "twice", delivery)
          assert.strictEqual(status, 500, text)
          assert.include(text, '"code":"interrupted"')
        }
        for (const { id, items, turns } of yield* kept("twice")) {
          const { error, status } = yield* show(other.address, id)
          assert.deepStrictEqual([status, error?.code, turns, items], ["failed", "interrupted", 0, 0])
        }
        assert.lengthOf(upstream.requests, 4)
      })
    )

    /** The key and the id of an answer that had begun show a failure, and nothing of a turn is stored. */
    const assertInterrupted = Effect.fnUntraced(function* (address: string, name: string, text: string) {
      const whole = yield* ask(address, name, "whole")
      assert.strictEqual(whole.status, 500, whole.text)
      assert.include(whole.text, '"code":"interrupted"')
      const streamed = read(yield* ask(address, name, "streamed"), "streamed")
      assert.deepStrictEqual([streamed.status, streamed.error?.code], ["failed", "interrupted"])
      const rows = yield* kept(name)
      assert.lengthOf(rows, 2)
      for (const { id, items, turns } of rows) {
        const shown = yield* show(address, id)
        assert.deepStrictEqual(
          [shown.status, shown.error?.code, shown.output_text, turns, items],
          ["failed", "interrupted", text, 0, 0]
        )
      }
    })

    it.effect("a request killed in the middle of the text has failed, and is not generated again", () =>
      Effect.gen(function* () {
        const { start, upstream } = yield* installation
        yield* upstream.usually(() => ({ deltas: ["Mid", "dle"], hangAt: 1 }))
        yield* crashAt(
          yield* start,
          "middle",
          untilValue(logged("Mid"), ({ length }) => length === 2)
        )
        const other = yield* start
        yield* assertInterrupted(other.address, "middle", "Mid")
        assert.lengthOf(upstream.requests, 2)
      })
    )

    it.effect("a request killed while its turn is written has failed, and leaves no part of a turn", () =>
      Effect.gen(function* () {
        const { start, upstream } = yield* installation
        yield* upstream.usually(() => answers)
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* pause("its turn is being written")
            yield* crashAt(
              yield* start,
              "writing",
              untilValue(paused, ({ length }) => length === 2)
            )
          })
        )
        const other = yield* start
        yield* assertInterrupted(other.address, "writing", "Hello")
        assert.lengthOf(upstream.requests, 2)
      })
    )

    for (const instant of ["its turn is stored", "its last event is logged"] as const) {
      it.effect(`a request killed once ${instant} has its whole answer, generated once`, () =>
        Effect.gen(function* () {
          const { start, upstream } = yield* installation
          yield* upstream.usually(() => answers)
          const clients = yield* Effect.scoped(
            Effect.gen(function* () {
              yield* pause(instant)
              return yield* crashAt(
                yield* start,
                instant,
                untilValue(paused, ({ length }) => length === 2)
              )
            })
          )
          // The end of an answer waits for its last event, and no longer.
          if (instant === "its turn is stored") assert.isTrue(clients.every(Exit.isFailure))
          const other = yield* start
          for (const delivery of deliveries) {
            const again = read(yield* ask(other.address, instant, delivery), delivery)
            assert.deepStrictEqual([again.status, again.output_text], ["completed", "Hello"])
            assert.strictEqual((yield* show(other.address, again.id)).output_text, "Hello")
          }
          assert.lengthOf(upstream.requests, 2)
          assert.deepStrictEqual(
            (yield* kept(instant)).map(({ turns }) => turns),
            [1, 1]
          )
        })
      )
    }
  }
)
