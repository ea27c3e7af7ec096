import { randomUUID } from "node:crypto"
import { Context, Effect, Layer, References } from "effect"
import { SqlClient } from "effect/sql"
import { FileId, type ProjectId, UserId } from "../../src/domain/Ids.ts"
import { Policy } from "../../src/plans/Policy.ts"
import { Projects } from "../../src/projects/Projects.ts"
import { Retrieval } from "../../src/retrieval/Retrieval.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { policyLayer } from "../auth/AccountsFixture.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { untilValue } from "../support/until.ts"
import { ScriptedRetrieval } from "./ScriptedRetrieval.ts"

/** Projects with a scripted search, over whatever database is below. */
export const projectsOver = (version = "scripted") =>
  Layer.merge(Layer.fresh(Projects.layer), policyLayer).pipe(
    Layer.provideMerge(Layer.fresh(ScriptedRetrieval.layerVersion(version))),
    Layer.provide(Layer.succeed(AppConfig, testConfig({}))),
    // The tests provoke what would be logged.
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "None"))
  )

/** One more process on the database, which ends when its scope does. */
export const process = (version?: string) =>
  Layer.build(projectsOver(version).pipe(Layer.provide(TestDatabase.client({ connectionsMax: 3 }))))

/** An organization with a user, who has the address `<id>@example.com`. */
export const someOrganization = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const organization = randomUUID()
  yield* sql`INSERT INTO organizations (id, name) VALUES (${organization}::uuid, ${organization})`
  return { organization, user: yield* someUserOf(organization) }
})

export const someUserOf = Effect.fnUntraced(function* (organization: string) {
  const sql = yield* SqlClient.SqlClient
  const id = UserId.make(randomUUID())
  const email = `${id}@example.com`
  yield* sql`INSERT INTO users (id, organization_id, email)
    SELECT ${id}::uuid, id, ${email} FROM organizations WHERE name = ${organization}`
  return { id, email }
})

/** The row of a file, as the upload leaves it, with its text unless that is still to be read. */
export const someFile = Effect.fnUntraced(function* (
  owner: UserId,
  text: string | null,
  filename = "file.txt"
) {
  const sql = yield* SqlClient.SqlClient
  const id = FileId.make(randomUUID())
  yield* sql`INSERT INTO files (id, user_id, filename, purpose, bytes, sha256, storage_key, status, created_at)
    VALUES (${id}::uuid, ${owner}::uuid, ${filename}, 'assistants', 1, sha256('x'), ${id}, 'uploaded', now())`
  if (text !== null) yield* readText(id, text)
  return id
})

/** Stores the outcome of reading a text. */
export const readText = Effect.fnUntraced(function* (id: FileId, text: string, extractor = "1") {
  const sql = yield* SqlClient.SqlClient
  yield* sql`WITH ready AS (UPDATE files SET status = 'processed' WHERE id = ${id}::uuid)
    INSERT INTO file_texts (file_id, extractor, text, truncated) VALUES (${id}::uuid, ${extractor}, ${text}, false)`
})

export const failText = Effect.fnUntraced(function* (id: FileId, reason: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE files SET status = 'error', status_details = ${reason} WHERE id = ${id}::uuid`
})

/** The names of the files in which the words are found. */
export const foundIn = Effect.fnUntraced(function* (projectId: ProjectId, words: string) {
  const policy = yield* Policy
  const retrieval = yield* Retrieval
  const membership = yield* policy.projectOfOperator(projectId)
  const { hits } = yield* retrieval.search(membership, { text: words, limit: 100 })
  return [...new Set(hits.map(({ filename }) => filename))].toSorted()
})

/** The number of the project's files in each state. */
export const statesOf = Effect.fnUntraced(function* (projectId: ProjectId) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ status: string; count: number }>`SELECT status, count(*)::int AS count
    FROM project_files WHERE project_id = ${projectId}::uuid GROUP BY status ORDER BY status`
  return Object.fromEntries(rows.map(({ count, status }) => [status, count]))
})

/** Waits until no file of the project is pending. */
export const settled = (projectId: ProjectId) =>
  untilValue(statesOf(projectId), (states) => !("pending" in states))

/** The services of a process that was built apart. */
export const inside = <R, A, E, R2>(context: Context.Context<R>, effect: Effect.Effect<A, E, R2>) =>
  Effect.provideContext(effect, context)
