import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Layer, References, Schema, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { attemptsMax, makeJobQueue } from "../../src/sql/JobQueue.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"

/** Work of one test, in a table of its own. */
const someWork = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const name = `work_${randomUUID().replaceAll("-", "")}`
  yield* sql`CREATE TABLE ${sql(name)} (id text PRIMARY KEY, owner text NOT NULL, turn serial, outcome text)`
  const insert = (owner: string, id: string) =>
    sql`INSERT INTO ${sql(name)} (id, owner) VALUES (${id}, ${owner})`
  const outcomes = Effect.map(
    sql<{ outcome: string | null }>`SELECT outcome FROM ${sql(name)} ORDER BY turn`,
    (rows) => rows.map(({ outcome }) => outcome)
  )
  const settled = until(Effect.map(outcomes, (all) => all.every((outcome) => outcome !== null)))

  /** A process with one worker, which begins each job and goes on once `go` is done. */
  const process = Effect.fnUntraced(function* (perOwnerMax: number, workers = 1) {
    const begun: Array<string> = []
    const go = yield* Deferred.make<void>()
    const set = (id: string, outcome: string) =>
      sql`UPDATE ${sql(name)} SET outcome = ${outcome} WHERE id = ${id}`
    const queue = yield* makeJobQueue({
      table: "index_jobs",
      name,
      schema: Schema.Struct({ id: Schema.String, owner: Schema.String }),
      owner: "owner",
      perOwnerMax,
      due: (owner) => sql`SELECT id, owner, turn, jsonb_build_object('id', id, 'owner', owner) AS job
        FROM ${sql(name)} WHERE outcome IS NULL
        ${owner === null ? sql.literal("") : sql`AND owner = ${owner}`}`,
      lookSeconds: 1,
      workers,
      run: ({ id }) =>
        Effect.gen(function* () {
          begun.push(id)
          if (id.startsWith("broken")) return yield* Effect.fail("broken")
          if (id.startsWith("interrupted")) return yield* Effect.interrupt
          yield* Deferred.await(go)
          yield* set(id, "done")
        }),
      giveUp: ({ id }) => set(id, "given up"),
      brokenOff: "A job broke off"
    })
    const add = (owner: string, id: string) =>
      sql.withTransaction(Effect.andThen(insert(owner, id), queue.offerNext(owner)))
    return {
      add,
      begun,
      finish: Effect.andThen(Deferred.succeed(go, undefined), settled),
      offerNext: queue.offerNext
    }
  })
  const jobs = sql`SELECT 1 FROM index_jobs WHERE queue_name = ${name} AND state = 'pending'`
  return { insert, outcomes, process, jobs, name, settled }
})

const database = Layer.merge(TestDatabase.layer, Layer.succeed(References.MinimumLogLevel, "None"))

layer(database, { excludeTestServices: true })("A queue of jobs", (it) => {
  it.effect("a queue of jobs does the jobs of several owners in turns, and those of one owner in order", () =>
    Effect.gen(function* () {
      const { process } = yield* someWork
      const { add, begun, finish } = yield* process(1)
      for (const id of ["a1", "a2", "a3"]) yield* add("a", id)
      for (const id of ["b1", "b2"]) yield* add("b", id)
      yield* add("c", "c1")
      yield* finish
      assert.deepStrictEqual(begun, ["a1", "b1", "c1", "a2", "b2", "a3"])
    }).pipe(Effect.scoped)
  )

  it.effect("a queue of jobs lets the owner's next jobs in while a job that broke off rests", () =>
    Effect.gen(function* () {
      const { outcomes, process } = yield* someWork
      const { add, begun } = yield* process(1, 2)
      yield* add("a", "broken")
      yield* add("a", "a1")
      yield* until(Effect.sync(() => begun.filter((id) => id === "broken").length >= 2))
      assert.include(begun, "a1")
      assert.include(yield* outcomes, null)
    }).pipe(Effect.scoped)
  )

  it.effect(
    "a queue of jobs has a job done by the next process when the first one was killed, until it has killed too many",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        for (const attempts of [1, attemptsMax]) {
          const { jobs, name, outcomes, process } = yield* someWork
          const scope = yield* Scope.make()
          const first = yield* Scope.provide(process(1), scope)
          yield* first.add("a", "a1")
          yield* until(Effect.sync(() => first.begun.length === 1))
          yield* Scope.close(scope, Exit.void)
          // A killed process gives nothing back: its lock expires.
          yield* sql`UPDATE index_jobs SET attempts = ${attempts}, acquired_by = gen_random_uuid(),
          acquired_at = now() - interval '1 hour' WHERE queue_name = ${name}`
          const second = yield* process(1)
          yield* second.finish
          assert.deepStrictEqual(yield* outcomes, [attempts < attemptsMax ? "done" : "given up"])
          assert.deepStrictEqual(second.begun, attempts < attemptsMax ? ["a1"] : [])
          yield* until(Effect.map(jobs, (rows) => rows.length === 0))
        }
      }).pipe(Effect.scoped)
  )

  it.effect("a queue of jobs counts an attempt that interrupts itself, and goes on with the next job", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { name, process } = yield* someWork
      const { add, begun } = yield* process(1)
      yield* add("a", "interrupted")
      yield* add("a", "a1")
      yield* until(Effect.sync(() => begun.includes("a1")))
      const attempts = sql`SELECT 1 FROM index_jobs WHERE queue_name = ${name} AND id = 'interrupted' AND attempts > 0`
      assert.lengthOf(yield* attempts, 1)
    }).pipe(Effect.scoped)
  )

  it.effect(
    "a queue of jobs begins no more jobs of an owner while a hundred of them rest, and keeps no other owner waiting",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { jobs, name, process } = yield* someWork
        const { add, begun } = yield* process(1)
        yield* sql`INSERT INTO index_jobs (id, queue_name, element, state, attempts, created_at, updated_at, visible_at)
        SELECT number, ${name}, '{"id": "resting", "owner": "a"}', 'pending', 1, now(), now(), now() + interval '1 hour'
        FROM generate_series(1, 100) AS number`
        yield* add("a", "a1")
        assert.lengthOf(yield* jobs, 100)
        yield* add("b", "b1")
        yield* until(Effect.sync(() => begun.length > 0))
        assert.deepStrictEqual(begun, ["b1"])
        yield* sql`DELETE FROM index_jobs WHERE queue_name = ${name} AND id = '1'`
        yield* until(Effect.map(jobs, (rows) => rows.length === 101))
      }).pipe(Effect.scoped)
  )

  it.effect(
    "a queue of jobs does work once more whose job ended an hour ago with no result, or was one of another version",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { insert, jobs, name, outcomes, process } = yield* someWork
        for (const id of ["lost", "old"]) yield* insert("a", id)
        yield* sql`INSERT INTO index_jobs (id, queue_name, element, state, created_at, updated_at, visible_at)
        VALUES ('lost', ${name}, '{}', 'completed', now(), now(), now()), ('old', ${name}, '{}', 'pending', now(), now(), now())`
        const first = yield* process(1)
        yield* until(Effect.map(jobs, (rows) => rows.length === 0))
        assert.deepStrictEqual(first.begun, [])
        yield* sql`UPDATE index_jobs SET updated_at = now() - interval '1 hour' WHERE queue_name = ${name}`
        const second = yield* process(1)
        yield* Effect.all([first.finish, second.finish], { concurrency: 2 })
        assert.deepStrictEqual(yield* outcomes, ["done", "done"])
      }).pipe(Effect.scoped)
  )

  it.effect("a queue of jobs finds work that nobody offered, and offers none that was rolled back", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { insert, jobs, process } = yield* someWork
      const { begun, finish, offerNext } = yield* process(1)
      yield* Effect.andThen(insert("a", "a1"), offerNext("a")).pipe(
        Effect.andThen(Effect.fail("rolled back")),
        sql.withTransaction,
        Effect.flip
      )
      assert.lengthOf(yield* jobs, 0)
      yield* insert("a", "a2")
      yield* finish
      assert.deepStrictEqual(begun, ["a2"])
    }).pipe(Effect.scoped)
  )

  it.effect("a queue of jobs does every job once, however many processes there are", () =>
    Effect.gen(function* () {
      const { process } = yield* someWork
      const processes = yield* Effect.forEach([1, 2, 3], () => process(4, 2))
      const ids = Array.from({ length: 60 }, (_, at) => `${at}`)
      yield* Effect.forEach(ids, (id, at) => processes[at % 3]!.add(`owner ${at % 5}`, id), {
        concurrency: 4
      })
      yield* Effect.forEach(processes, ({ finish }) => finish, { concurrency: 3 })
      assert.sameMembers(
        processes.flatMap(({ begun }) => begun),
        ids
      )
    }).pipe(Effect.scoped)
  )
})
