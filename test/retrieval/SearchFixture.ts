import { randomUUID } from "node:crypto"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { ProjectId, type UserId } from "../../src/domain/Ids.ts"
import { Policy } from "../../src/plans/Policy.ts"
import { type IndexedFile, Retrieval } from "../../src/retrieval/Retrieval.ts"
import type { Query } from "../../src/retrieval/search/Searching.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { policyLayer } from "../auth/AccountsFixture.ts"
import { testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { someFile, someOrganization } from "./fixtures.ts"

/** The search itself, over a database of the test file's own. */
export const searchLayer = Layer.merge(Retrieval.layer, policyLayer).pipe(
  Layer.provide(Layer.succeed(AppConfig, testConfig())),
  Layer.provideMerge(TestDatabase.layer)
)

export interface Corpus {
  readonly projectId: ProjectId
  readonly user: UserId
}

export const someProject = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { organization, user } = yield* someOrganization
  const projectId = ProjectId.make(randomUUID())
  yield* sql`INSERT INTO projects (id, organization_id, name)
    SELECT ${projectId}::uuid, id, ${projectId} FROM organizations WHERE name = ${organization}`
  return { projectId, user: user.id } satisfies Corpus
})

/** A file that belongs to the project, but isn't indexed. */
export const someCorpusFile = Effect.fnUntraced(function* (
  { projectId, user }: Corpus,
  text: string,
  filename = "file.md"
) {
  const sql = yield* SqlClient.SqlClient
  const fileId = yield* someFile(user, text, filename)
  yield* sql`INSERT INTO project_files (project_id, file_id, added_by)
    VALUES (${projectId}::uuid, ${fileId}::uuid, ${user}::uuid)`
  return { fileId, filename, text, pages: null } satisfies IndexedFile
})

export const indexFile = Effect.fnUntraced(function* ({ projectId }: Corpus, file: IndexedFile) {
  const sql = yield* SqlClient.SqlClient
  const retrieval = yield* Retrieval
  const answer = yield* retrieval.index(projectId, file)
  yield* sql`UPDATE project_files SET status = 'indexed'
    WHERE project_id = ${projectId}::uuid AND file_id = ${file.fileId}::uuid`
  return answer
})

/** A file of the project that can be found. */
export const addFile = Effect.fnUntraced(function* (corpus: Corpus, text: string, filename = "file.md") {
  const file = yield* someCorpusFile(corpus, text, filename)
  yield* indexFile(corpus, file)
  return file
})

export const search = Effect.fnUntraced(function* ({ projectId }: Corpus, text: string, limit = 20) {
  const membership = yield* (yield* Policy).projectOfOperator(projectId)
  return yield* (yield* Retrieval).search(membership, { text, limit })
})

/** In several projects, as the operator. */
export const searchAll = Effect.fnUntraced(function* (corpora: ReadonlyArray<Corpus>, query: Query) {
  const policy = yield* Policy
  const memberships = yield* Effect.forEach(corpora, ({ projectId }) => policy.projectOfOperator(projectId))
  return yield* (yield* Retrieval).search(memberships, query)
})

export const explain = Effect.fnUntraced(function* ({ projectId }: Corpus, text: string, limit = 20) {
  const membership = yield* (yield* Policy).projectOfOperator(projectId)
  return yield* (yield* Retrieval).explain(membership, { text, limit })
})
