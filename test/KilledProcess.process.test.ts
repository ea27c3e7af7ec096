import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, FileSystem } from "effect"
import { addressIn, dataDirectory, ground, query, serverPid, untilGone } from "./postgres/embeddedServer.ts"
import { makeMockModelServer, mockDirective } from "./support/MockModelServer.ts"
import { startService } from "./support/ServiceProcess.ts"
import { call, responseOf } from "./support/Wire.ts"

/** A key as `parley key generate` makes it; it opens nothing but the databases of these tests. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"

const lockedJobs = `SELECT count(*)::int AS n FROM
  (SELECT acquired_by FROM file_jobs UNION ALL SELECT acquired_by FROM index_jobs) AS jobs WHERE acquired_by IS NOT NULL`

/** Jobs of a queue that no process serves, locked as by a process that works on them. */
const lockJobs = ["file_jobs", "index_jobs"].map(
  (
    table
  ) => `INSERT INTO ${table} (id, queue_name, element, state, acquired_at, acquired_by, created_at, updated_at, visible_at)
    VALUES ('one', 'none', '{}', 'pending', now(), gen_random_uuid(), now(), now(), now())`
)

const slow = 120_000

layer(ground, { excludeTestServices: true })("after kill -9 with the embedded database", (it) => {
  it.effect(
    "the next start ends the leases, reservations and locks of the killed process at once",
    () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const dataDir = yield* dataDirectory
        const address = addressIn(dataDir)
        const env = {
          PARLEY_DATA_DIR: dataDir,
          OPENAI_BASE_URL: upstream.url,
          OPENAI_MODEL: "mock-model",
          PARLEY_INIT_API_KEY: key,
          PARLEY_DAILY_TOKENS: "100000",
          // A conversation that is still locked is refused long before its lease ends. A turn that has just
          // been answered gives its lock back a moment later.
          PARLEY_TURN_WAIT_SECONDS: "2"
        }
        const post = (base: string, body: object) =>
          call(`${base}/v1/responses`, { key, body: { stream: false, ...body } })

        const first = yield* startService(env)
        const url = yield* first.url
        const pid = serverPid(dataDir)
        const { conversation_id } = responseOf(yield* post(url, { input: "kept" }))
        const asked = upstream.requests.length
        const lost = yield* Effect.forkChild(
          post(url, { input: `lost ${mockDirective({ endless: true, gapMillis: 20 })}`, conversation_id })
        )
        yield* upstream.request(asked)
        for (const statement of lockJobs) yield* query(address, statement)
        const held = "SELECT (day_reserved > 0) AS held FROM token_counters"
        assert.deepStrictEqual(yield* query(address, held), [{ held: true }])
        yield* first.signal("SIGKILL")
        yield* first.exit
        yield* Fiber.await(lost)
        yield* untilGone(pid)
        // The data directory may have been moved meanwhile.
        yield* (yield* FileSystem.FileSystem).remove(`${dataDir}/files/identity`)

        const second = yield* startService(env)
        const again = yield* second.url
        assert.deepStrictEqual(yield* query(address, held), [{ held: false }])
        assert.deepStrictEqual(yield* query(address, "SELECT 1 FROM token_reservations"), [])
        assert.deepStrictEqual(yield* query(address, lockedJobs), [{ n: 0 }])
        const answer = responseOf(yield* post(again, { input: "next", conversation_id }))
        assert.strictEqual(answer.output_text, "Hello, world.")
        yield* second.signal("SIGTERM")
        yield* second.exit
      }),
    slow
  )
})
