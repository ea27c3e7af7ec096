import { createHash } from "node:crypto"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { createBackup, leftOut } from "../../src/backup/Backup.ts"
import type { Progress } from "../../src/backup/Progress.ts"
import { restoreBackup } from "../../src/backup/Restore.ts"
import { emptyDatabase } from "../support/EmptyDatabase.ts"
import { startService } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import { at, newSettings, on, rowsOf, scratch, someBytes, wholeFiles } from "./Installations.ts"

/** A key as `parley key generate` makes it; it opens nothing but the database of this test. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"
const authorization = `Bearer ${key}`
const slow = 120_000

/** Tables that a backup leaves out, or to which its end adds an entry. */
const notCompared = [...leftOut, "audit_log"]

const requestsAtOnce = 4
/** Requests that have to end before the backup begins, and then before each of its two parts goes on. */
const requestsBefore = 40
const requestsDuring = 16

interface Stored {
  readonly id: string
  readonly sha256: string
}

const ask = (url: string, method: string, body?: FormData | string, type: Record<string, string> = {}) =>
  Effect.promise(async () => {
    const response = await fetch(url, {
      method,
      headers: { authorization, ...type },
      ...(body === undefined ? {} : { body })
    })
    const text = await response.text()
    assert.strictEqual(response.status, 200, text)
    return text
  })

/** Users who upload, delete and converse all the time. */
const makeLoad = Effect.fnUntraced(function* (url: string) {
  const uploaded = new Map<string, string>()
  const there: Array<string> = []
  let [ended, underWay, isPaused] = [0, 0, false]

  const upload = Effect.suspend(() => {
    const bytes = someBytes(1 + ((ended * 7_919) % 90_000))
    const form = new FormData()
    form.append("purpose", "assistants")
    form.append("file", new Blob([bytes]), "file.bin")
    return Effect.map(ask(`${url}/v1/files`, "POST", form), (text) => {
      const { id } = JSON.parse(text) as Stored
      uploaded.set(id, createHash("sha256").update(bytes).digest("hex"))
      there.push(id)
    })
  })
  const remove = Effect.suspend(() => {
    const id = there.length > requestsAtOnce ? there.shift() : undefined
    return id === undefined ? Effect.void : Effect.asVoid(ask(`${url}/v1/files/${id}`, "DELETE"))
  })
  const converse = Effect.suspend(() =>
    ask(`${url}/v1/responses`, "POST", JSON.stringify({ input: `turn ${ended}\t\\`, stream: false }), {
      "content-type": "application/json"
    })
  )
  const each = [upload, converse, upload, remove, converse]
  const request = Effect.suspend(() => {
    if (isPaused) return until(Effect.sync(() => !isPaused))
    underWay++
    return Effect.map(each[ended % each.length] ?? upload, () => {
      ended++
      underWay--
    })
  })
  yield* Effect.forEach(Array.from({ length: requestsAtOnce }), () => Effect.forever(request), {
    concurrency: "unbounded"
  }).pipe(Effect.forkScoped({ startImmediately: true }))
  const more = (count: number) =>
    Effect.suspend(() => {
      const target = ended + count
      return until(Effect.sync(() => ended >= target))
    })
  return {
    uploaded,
    more,
    /** No request is under way from then on. */
    pause: Effect.suspend(() => {
      isPaused = true
      return until(Effect.sync(() => underWay === 0))
    }),
    goOn: Effect.sync(() => {
      isPaused = false
    })
  }
})

layer(NodeServices.layer, { excludeTestServices: true })("A backup beside a service under load", (it) => {
  it.effect(
    "a backup under load holds exactly the rows and bytes of its moment, while requests upload, delete and converse",
    () =>
      Effect.gen(function* () {
        const { url: database } = yield* TestDatabase
        const address = { url: database }
        const settings = yield* newSettings()
        const path = join(yield* scratch, "a.backup")
        const service = yield* startService({
          DATABASE_URL: Redacted.value(database),
          PARLEY_DATA_DIR: settings.dataDir,
          PARLEY_INIT_API_KEY: key
        })
        const load = yield* makeLoad(yield* service.url)
        yield* load.more(requestsBefore)

        const isTaken = yield* Deferred.make<void>()
        const copying: Progress = (work, run) =>
          work.title.startsWith("Copying")
            ? Deferred.succeed(isTaken, undefined).pipe(
                Effect.andThen(load.more(requestsDuring)),
                Effect.andThen(run(() => Effect.void))
              )
            : run(() => Effect.void)
        const rows = at(settings, address)(rowsOf(notCompared))
        yield* load.pause
        const before = yield* rows
        const making = yield* Effect.forkChild(at(settings, address)(createBackup(path, copying)))
        yield* Effect.raceFirst(Deferred.await(isTaken), Fiber.join(making))
        // The service itself may write a row at any moment, such as when a key was used last.
        const after = yield* rows
        yield* load.goOn
        const made = yield* Fiber.join(making)
        assert.deepStrictEqual([made.missing, made.damaged], [[], []])

        const now = new Map(yield* rows)
        for (const table of ["files", "conversations", "usage_records"]) {
          const then = new Map(before).get(table) ?? []
          assert.isNotEmpty(then, table)
          assert.notDeepEqual(now.get(table), then, `${table} did not change while the backup was made`)
        }

        const target = yield* emptyDatabase
        const elsewhere = yield* newSettings()
        yield* at(elsewhere, target.address)(restoreBackup(path, (_, run) => run(() => Effect.void)))
        const restored = yield* at(elsewhere, target.address)(rowsOf(notCompared))
        const isLater = JSON.stringify(restored) === JSON.stringify(after)
        assert.deepStrictEqual(restored, isLater ? after : before)
        const files = yield* on(
          elsewhere,
          target.address
        )(
          Effect.gen(function* () {
            yield* wholeFiles
            const sql = yield* SqlClient.SqlClient
            return yield* sql<Stored>`SELECT id, encode(sha256, 'hex') AS sha256 FROM files`
          })
        )
        assert.lengthOf(files, made.files)
        for (const { id, sha256 } of files) assert.strictEqual(sha256, load.uploaded.get(id))
      }).pipe(Effect.provide(TestDatabase.clone)),
    slow
  )
})
