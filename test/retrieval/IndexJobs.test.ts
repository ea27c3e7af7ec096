import { assert, layer } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { FileId, ProjectId } from "../../src/domain/Ids.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { attemptsMax } from "../../src/sql/JobQueue.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import {
  failText,
  foundIn,
  inside,
  process,
  projectsOver,
  readText,
  settled,
  someFile,
  someOrganization,
  statesOf
} from "./fixtures.ts"
import { ScriptedRetrieval } from "./ScriptedRetrieval.ts"

const someProject = Effect.gen(function* () {
  const projects = yield* Projects
  const { organization, user } = yield* someOrganization
  const { id } = yield* projects.create("project", organization)
  const add = Effect.fnUntraced(function* (text: string | null, filename: string) {
    const file = yield* someFile(user.id, text, filename)
    yield* projects.addFile(id, file)
    return file
  })
  return { id, add }
})

const fileOf = Effect.fnUntraced(function* (projectId: ProjectId, fileId: FileId) {
  const projects = yield* Projects
  const { data } = yield* projects.files(projectId, { status: null })
  return data.find((file) => file.fileId === fileId)
})

const rowsOf = Effect.fnUntraced(function* (fileId: FileId) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ version: string; text: string }>`SELECT version, text FROM scripted_index
    WHERE file_id = ${fileId}::uuid ORDER BY start`
})

layer(Layer.provideMerge(projectsOver(), TestDatabase.layer), { excludeTestServices: true })(
  "A file that was added to a project",
  (it) => {
    it.effect(
      "a file that was added to a project waits for its text, and is searchable once that has been read",
      () =>
        Effect.gen(function* () {
          const { add, id } = yield* someProject
          const slow = yield* add(null, "slow")
          yield* add("a zebra", "quick")
          yield* until(Effect.map(statesOf(id), (states) => states["indexed"] === 1))
          assert.deepStrictEqual(yield* statesOf(id), { indexed: 1, pending: 1 })
          assert.deepStrictEqual(yield* foundIn(id, "zebra"), ["quick"])
          yield* readText(slow, "another zebra")
          yield* settled(id)
          assert.deepStrictEqual(yield* foundIn(id, "zebra"), ["quick", "slow"])
        })
    )

    it.effect(
      "a file that was added to a project says why it can't be searched, when its text can't be read",
      () =>
        Effect.gen(function* () {
          const { add, id } = yield* someProject
          const projects = yield* Projects
          const { user } = yield* someOrganization
          const late = yield* add(null, "late")
          yield* failText(late, "Nobody can read this.")
          yield* settled(id)
          const shown = { status: "error", statusDetails: "Nobody can read this.", chunks: null } as const
          assert.deepInclude(yield* fileOf(id, late), shown)
          const sql = yield* SqlClient.SqlClient
          const early = yield* someFile(user.id, null)
          yield* failText(early, "Nobody can read this.")
          yield* sql`UPDATE users SET organization_id = (SELECT organization_id FROM projects WHERE id = ${id}::uuid)
          WHERE id = ${user.id}::uuid`
          yield* projects.addFile(id, early)
          yield* settled(id)
          assert.deepInclude(yield* fileOf(id, early), shown)
        })
    )

    it.effect(
      "a file that was added to a project keeps no file of another project waiting, however many there are before it",
      () =>
        Effect.gen(function* () {
          const scripted = yield* ScriptedRetrieval
          const [large, small] = [yield* someProject, yield* someProject]
          for (const n of [1, 2, 3, 4]) yield* large.add("hang", `large ${n}`)
          yield* small.add("a zebra", "small")
          yield* settled(small.id)
          assert.deepStrictEqual(yield* statesOf(large.id), { pending: 4 })
          yield* scripted.release
          yield* settled(large.id)
          assert.deepStrictEqual(yield* statesOf(large.id), { indexed: 4 })
        })
    )

    it.effect(
      "a file that was added to a project keeps none of the others waiting when its indexing breaks off",
      () =>
        Effect.gen(function* () {
          const { add, id } = yield* someProject
          const scripted = yield* ScriptedRetrieval
          yield* add("break", "broken")
          yield* add("a zebra", "fine")
          yield* until(Effect.map(statesOf(id), (states) => states["indexed"] === 1))
          yield* until(
            Effect.map(scripted.begun, (names) => names.filter((name) => name === "broken").length >= 2)
          )
          assert.deepStrictEqual(yield* statesOf(id), { indexed: 1, pending: 1 })
        })
    )

    it.effect(
      "a file that was added to a project stays searchable while it is indexed again",
      () =>
        Effect.gen(function* () {
          const { add, id } = yield* someProject
          const projects = yield* Projects
          const scripted = yield* ScriptedRetrieval
          const names = Array.from({ length: 230 }, (_, index) => `zebra ${index}`)
          for (const name of names) yield* add(name, name)
          yield* add(null, "unread")
          yield* until(Effect.map(statesOf(id), (states) => states["indexed"] === names.length))
          const before = (yield* scripted.begun).length
          assert.strictEqual(yield* projects.reindex(id), names.length)
          let looks = 0
          while (((yield* statesOf(id))["pending"] ?? 0) > 1) {
            assert.lengthOf(yield* foundIn(id, "zebra"), 100)
            looks++
          }
          assert.isAbove(looks, 0)
          const again = (yield* scripted.begun).slice(before).filter((name) => name.startsWith("zebra"))
          assert.sameMembers(again, names)
          assert.deepStrictEqual(yield* statesOf(id), { indexed: names.length, pending: 1 })
        }),
      60_000
    )

    it.effect(
      "a file that was added to a project leaves nothing behind when it is taken out while it is being indexed",
      () =>
        Effect.gen(function* () {
          const { add, id } = yield* someProject
          const projects = yield* Projects
          const scripted = yield* ScriptedRetrieval
          const sql = yield* SqlClient.SqlClient
          const removed = yield* add("hang, zebra", "removed")
          const deleted = yield* add("hang, zebra", "deleted")
          yield* until(
            Effect.map(scripted.begun, (names) => names.includes("removed") && names.includes("deleted"))
          )
          yield* projects.removeFile(id, removed)
          yield* sql`DELETE FROM files WHERE id = ${deleted}::uuid`
          yield* scripted.release
          const last = yield* add("a zebra", "last")
          yield* settled(id)
          assert.deepStrictEqual(yield* foundIn(id, "zebra"), ["last"])
          yield* until(
            Effect.map(
              sql`SELECT 1 FROM index_jobs WHERE state = 'pending' AND (element::text LIKE ${`%${removed}%`} OR
              element::text LIKE ${`%${deleted}%`})`,
              (jobs) => jobs.length === 0
            )
          )
          assert.lengthOf(yield* rowsOf(removed), 0)
          assert.lengthOf(yield* rowsOf(deleted), 0)
          assert.lengthOf(yield* rowsOf(last), 1)
        }),
      30_000
    )
  }
)

layer(Layer.provideMerge(projectsOver(), TestDatabase.layer), { excludeTestServices: true })(
  "A file that was taken out and added again",
  (it) => {
    it.effect(
      "a file that was taken out while it was being indexed, and added again, is indexed by its new job, and the old one's failure is none",
      () =>
        Effect.gen(function* () {
          const { add, id } = yield* someProject
          const projects = yield* Projects
          const scripted = yield* ScriptedRetrieval
          const sql = yield* SqlClient.SqlClient
          const file = yield* add("hang and break", "added again")
          yield* until(Effect.map(scripted.begun, (names) => names.includes("added again")))
          yield* projects.removeFile(id, file)
          yield* sql`UPDATE file_texts SET text = 'a zebra' WHERE file_id = ${file}::uuid`
          yield* projects.addFile(id, file)
          yield* scripted.release
          yield* settled(id)
          const jobs = sql<{
            state: string
            failure: string | null
          }>`SELECT state, last_failure AS failure FROM index_jobs
            WHERE element::text LIKE ${`%${file}%`}`
          yield* until(Effect.map(jobs, (rows) => rows.every(({ state }) => state === "completed")))
          assert.deepStrictEqual(
            (yield* jobs).map(({ failure }) => failure),
            [null, null]
          )
          assert.deepStrictEqual(yield* foundIn(id, "zebra"), ["added again"])
        }),
      30_000
    )
  }
)

layer(TestDatabase.layer, { excludeTestServices: true })("A file whose process ends", (it) => {
  /** A process with a project and a file that it has begun to index. */
  const begun = Effect.gen(function* () {
    const scope = yield* Scope.make()
    const first = yield* Scope.provide(process(), scope)
    const { add, id } = yield* inside(first, someProject)
    const file = yield* inside(first, add("hang, zebra\nand a horse", "file"))
    yield* until(Effect.map(Context.get(first, ScriptedRetrieval).begun, (names) => names.length === 1))
    yield* Scope.close(scope, Exit.void)
    return { id, file }
  })

  const finished = Effect.fnUntraced(function* (id: ProjectId) {
    const second = yield* process()
    yield* Context.get(second, ScriptedRetrieval).release
    yield* settled(id)
    return second
  })

  it.effect("a file whose process ends is indexed by the next one when it ends in order", () =>
    Effect.gen(function* () {
      const { file, id } = yield* begun
      assert.lengthOf(yield* rowsOf(file), 0)
      const second = yield* finished(id)
      assert.lengthOf(yield* rowsOf(file), 2)
      assert.deepInclude(yield* inside(second, fileOf(id, file)), { status: "indexed", chunks: 2 })
    }).pipe(Effect.scoped)
  )

  it.effect(
    "a file whose process ends is indexed by the next one when it is killed, and counts as failed when it has killed too many",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        for (const attempts of [1, attemptsMax]) {
          const { file, id } = yield* begun
          // The end of a process that was killed gives nothing back; its lock runs out.
          yield* sql`UPDATE index_jobs
          SET attempts = ${attempts}, acquired_by = gen_random_uuid(), acquired_at = now() - interval '1 hour'
          WHERE state = 'pending'`
          const second = yield* finished(id)
          const names = yield* Context.get(second, ScriptedRetrieval).begun
          if (attempts < attemptsMax) {
            assert.lengthOf(yield* rowsOf(file), 2)
          } else {
            assert.lengthOf(yield* rowsOf(file), 0)
            assert.deepStrictEqual(names, [])
            const found = yield* inside(second, fileOf(id, file))
            assert.strictEqual(found?.status, "error")
            assert.match(found?.statusDetails ?? "", /several times/)
            // Whoever asks for it gets another try.
            yield* Context.get(second, Projects).reindex(id)
            yield* settled(id)
            assert.lengthOf(yield* rowsOf(file), 2)
          }
        }
      }).pipe(Effect.scoped),
    30_000
  )

  it.effect("a file whose process ends is indexed by the next one also when its job was lost", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { file, id } = yield* begun
      yield* sql`DELETE FROM index_jobs`
      yield* finished(id)
      assert.lengthOf(yield* rowsOf(file), 2)
    }).pipe(Effect.scoped)
  )
})

layer(TestDatabase.layer, { excludeTestServices: true })("Processes", (it) => {
  it.effect("processes index every file once, however many of them there are", () =>
    Effect.gen(function* () {
      const processes = yield* Effect.forEach([1, 2, 3], () => process())
      const { add, id } = yield* inside(processes[0]!, someProject)
      const names = Array.from({ length: 30 }, (_, index) => `${index}`)
      yield* Effect.forEach(names, (name, index) => inside(processes[index % 3]!, add("text", name)), {
        concurrency: 6
      })
      yield* settled(id)
      const begun = yield* Effect.forEach(processes, (one) => Context.get(one, ScriptedRetrieval).begun)
      assert.sameMembers(begun.flat(), names)
    }).pipe(Effect.scoped)
  )
})

layer(TestDatabase.layer, { excludeTestServices: true })("A process of another version", (it) => {
  it.effect(
    "a process of another version indexes again what was indexed by the other one, or from another reading, and nothing else",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const versionOf = (file: FileId) => Effect.map(rowsOf(file), ([row]) => row?.version)
        const scope = yield* Scope.make()
        const first = yield* Scope.provide(process("one"), scope)
        const { add, id } = yield* inside(first, someProject)
        const file = yield* inside(first, add("a zebra", "file"))
        const other = yield* inside(first, add("a horse", "other"))
        yield* settled(id)
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual(yield* versionOf(file), "one")

        const second = yield* process("two")
        yield* until(Effect.map(versionOf(other), (version) => version === "two"))
        yield* settled(id)
        assert.strictEqual(yield* versionOf(file), "two")
        const again = yield* Context.get(second, ScriptedRetrieval).begun
        assert.deepStrictEqual(again.toSorted(), ["file", "other"])

        yield* sql`UPDATE file_texts SET extractor = '2', text = 'a better zebra' WHERE file_id = ${file}::uuid`
        const third = yield* process("two")
        yield* until(Effect.map(rowsOf(file), ([row]) => row?.text === "a better zebra"))
        yield* settled(id)
        const begun = yield* Effect.forEach(
          [second, third],
          (one) => Context.get(one, ScriptedRetrieval).begun
        )
        assert.deepStrictEqual(begun.flat().toSorted(), ["file", "file", "other"])
      }).pipe(Effect.scoped)
  )
})
