import { randomUUID } from "node:crypto"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { NodeFileSystem } from "@effect/platform-node"
import { ConfigProvider, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { FileId, ProjectId, UserId } from "../../src/domain/Ids.ts"
import { proveMembership } from "../../src/domain/Project.ts"
import { startEmbeddedPostgres } from "../../src/postgres/EmbeddedPostgres.ts"
import { Retrieval } from "../../src/retrieval/Retrieval.ts"
import { AppConfig, readSettings } from "../../src/settings/AppConfig.ts"
import { Database } from "../../src/sql/Database.ts"
import { migrate } from "../../src/sql/Migrations.ts"
import { cpuSecondsBelow } from "./procfs.ts"
import { Texts } from "./retrievalText.ts"

/**
 * Measures how fast texts become searchable, how much room that takes, and what a search takes right after
 * it, of time and of processor time, in a large project and in a small one beside it, on an embedded
 * PostgreSQL of its own.
 *
 *     npm run bench -- retrieval [--chunks N] [--file-characters N] [--questions N]
 */

const { values } = parseArgs({
  options: {
    chunks: { type: "string", default: "10000" },
    "file-characters": { type: "string", default: "40000" },
    questions: { type: "string", default: "200" }
  }
})
const chunksWanted = Number(values.chunks)
const fileCharacters = Number(values["file-characters"])
const questions = Number(values.questions)
const smallProjectChunks = 1_000
const hitsWanted = 20
/** Costly questions need only a part of the number. */
const costlyQuestionShare = 10
const misspelledWords = 24
const longQuestionCharacters = 9_900
const unspacedCharacters = 100_000

const say = (line: string): void => void process.stdout.write(`${line}\n`)

const makeProject = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [organization, user, project] = [randomUUID(), randomUUID(), randomUUID()]
  yield* sql`INSERT INTO organizations (id, name) VALUES (${organization}::uuid, ${organization})`
  yield* sql`INSERT INTO users (id, organization_id, email) VALUES (${user}::uuid, ${organization}::uuid, ${user})`
  yield* sql`INSERT INTO projects (id, organization_id, name)
    VALUES (${project}::uuid, ${organization}::uuid, ${project})`
  return { userId: UserId.make(user), projectId: ProjectId.make(project) }
})

type Project = Effect.Success<typeof makeProject>

const addFile = Effect.fnUntraced(function* ({ projectId, userId }: Project, text: string) {
  const sql = yield* SqlClient.SqlClient
  const retrieval = yield* Retrieval
  const fileId = FileId.make(randomUUID())
  yield* sql`INSERT INTO files (id, user_id, filename, purpose, bytes, sha256, storage_key, status, created_at)
    VALUES (${fileId}::uuid, ${userId}::uuid, 'bench.md', 'assistants', 1, '\\x00', ${fileId}, 'processed', now())`
  yield* sql`INSERT INTO project_files (project_id, file_id, added_by, status)
    VALUES (${projectId}::uuid, ${fileId}::uuid, ${userId}::uuid, 'indexed')`
  const begun = performance.now()
  const { chunks } = yield* retrieval.index(projectId, { fileId, filename: "bench.md", text, pages: null })
  return { chunks, seconds: (performance.now() - begun) / 1000 }
})

const fill = Effect.fnUntraced(function* (project: Project, texts: Texts, wanted: number) {
  let [chunks, characters, seconds] = [0, 0, 0]
  while (chunks < wanted) {
    const text = texts.text(fileCharacters)
    const added = yield* addFile(project, text)
    chunks += added.chunks
    seconds += added.seconds
    characters += text.length
  }
  return { chunks, characters, seconds }
})

const quantile = (values: ReadonlyArray<number>, part: number): string =>
  (values.toSorted((one, other) => one - other)[Math.floor(values.length * part)] ?? Number.NaN).toFixed(1)

/** Milliseconds of processor time of this process and of the database that it started. */
const processorTimes = () => {
  const { system, user } = process.cpuUsage()
  return { own: (user + system) / 1000, database: cpuSecondsBelow(process.pid) * 1000 }
}

const searchTimes = Effect.fnUntraced(function* (project: Project, asked: ReadonlyArray<string>) {
  const retrieval = yield* Retrieval
  const membership = proveMembership(project)
  const times: Array<number> = []
  const before = processorTimes()
  for (const text of asked) {
    const begun = performance.now()
    yield* retrieval.search(membership, { text, limit: hitsWanted })
    times.push(performance.now() - begun)
  }
  const after = processorTimes()
  const own = ((after.own - before.own) / asked.length).toFixed(1)
  const database = ((after.database - before.database) / asked.length).toFixed(1)
  return (
    `p50 ${quantile(times, 0.5)} ms, p95 ${quantile(times, 0.95)} ms, p100 ${quantile(times, 0.999)} ms; ` +
    `CPU of Node ${own} ms, of PostgreSQL ${database} ms`
  )
})

const threadMillis = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (user + system) / 1000
}

/**
 * The longest turn of the event loop while the effect runs, in milliseconds of processor time of the main
 * thread.
 */
const longestTurn = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  let longest = 0
  let isOver = false
  let last = threadMillis()
  const turn = (): void => {
    const now = threadMillis()
    longest = Math.max(longest, now - last)
    last = now
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  yield* effect
  isOver = true
  return longest
})

const sizes = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{
    name: string
    bytes: number
  }>`SELECT relname AS name, pg_total_relation_size(oid)::float8 AS bytes
    FROM pg_class WHERE relname LIKE 'retrieval\\_%' AND relkind = 'r' ORDER BY bytes DESC`
})

const bench = Effect.gen(function* () {
  const texts = new Texts()
  const large = yield* makeProject
  const { characters, chunks, seconds } = yield* fill(large, texts, chunksWanted)
  say(
    `${chunks} chunks of ${(characters / 1e6).toFixed(1)} MB searchable at ${Math.round(chunks / seconds)} chunks/s`
  )
  for (const { bytes, name } of yield* sizes) {
    say(`  ${name}: ${(bytes / characters).toFixed(2)} of the text's size`)
  }
  const plain = Array.from({ length: questions }, () => texts.question())
  const some = Math.ceil(questions / costlyQuestionShare)
  const misspelled = Array.from({ length: some }, () => texts.misspelled(misspelledWords))
  const long = Array.from({ length: some }, () => texts.longQuestion(longQuestionCharacters))
  say(`search among ${chunks}, right after: ${yield* searchTimes(large, plain)}`)
  say(`  again: ${yield* searchTimes(large, plain)}`)
  say(`  ${misspelledWords} misspelled words: ${yield* searchTimes(large, misspelled)}`)
  say(`  ${longQuestionCharacters} characters: ${yield* searchTimes(large, long)}`)
  const small = yield* makeProject
  yield* fill(small, texts, smallProjectChunks)
  say(`search among ${smallProjectChunks} beside them: ${yield* searchTimes(small, plain)}`)
  for (const [kind, text] of [
    ["Chinese", texts.chinese(unspacedCharacters)],
    ["English", texts.text(unspacedCharacters)]
  ] as const) {
    const turn = yield* longestTurn(addFile(small, text))
    say(
      `longest turn while ${unspacedCharacters} characters of ${kind} are indexed: ${turn.toFixed(1)} ms of CPU`
    )
  }
})

const program = Effect.gen(function* () {
  const dataDir = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const directory = mkdtempSync(join(tmpdir(), "parley-bench-"))
      // A database that runs as another account than root must be able to reach its files.
      chmodSync(directory, 0o755)
      return directory
    }),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
  )
  const address = yield* startEmbeddedPostgres({ dataDir, connectionsMax: 10, durable: true })
  yield* migrate(address)
  const database = Database.layerAddress(address, {
    connectionsMax: 5,
    connectSeconds: 10,
    statementSeconds: 60
  })
  // The defaults: what the environment says is not measured.
  const settings = Layer.effect(AppConfig, readSettings([])).pipe(
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: {} })))
  )
  yield* bench.pipe(
    Effect.provide(Retrieval.layer.pipe(Layer.provide(settings), Layer.provideMerge(database)))
  )
}).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))

await Effect.runPromise(program)
