import { Array as Arr, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import type { FileId, ProjectId } from "../domain/Ids.ts"
import type { ProjectMembership } from "../domain/Project.ts"
import { storable } from "../domain/storable.ts"
import { FairPermits } from "../runtime/FairPermits.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { orUnavailable } from "../sql/orUnavailable.ts"
import { makeAnalysis } from "./analysis/Analysis.ts"
import { makeCompaction, makeVacuum } from "./index/IndexMaintenance.ts"
import { makeIndexTable } from "./index/IndexTable.ts"
import { type Explained, type Found, makeSearching, type Query } from "./search/Searching.ts"
import { makeSearchTable } from "./search/SearchTable.ts"
import { makeEmbeddingJobs } from "./vectors/EmbeddingJobs.ts"
import {
  watchDimension,
  makeEmbeddings,
  type EmbeddingsProbe,
  probeEmbeddings
} from "./vectors/Embeddings.ts"
import { makeSemantic } from "./vectors/Semantic.ts"
import { makeVectorTable } from "./vectors/VectorTable.ts"

/** The text of a file that is to be indexed. */
export interface IndexedFile {
  readonly fileId: FileId
  readonly filename: string
  readonly text: string
  /** The offset in `text` at which each page starts; null for a file without pages. */
  readonly pages: ReadonlyArray<number> | null
}

/** Searches of one user at once; the others wait. */
const searchesPerUserMax = 2
/** The operator's key among the turns of users. */
const operator = "operator"

/** The search in the texts of a project's files. */
export class Retrieval extends Context.Service<
  Retrieval,
  {
    /** Makes a file's text searchable in a project, wholly or not at all; replaces what was there before. */
    readonly index: (
      projectId: ProjectId,
      file: IndexedFile
    ) => Effect.Effect<{ readonly chunks: number }, DatabaseUnavailable>
    /** Removes a file from a project's index; does nothing where it isn't in it. */
    readonly remove: (projectId: ProjectId, fileId: FileId) => Effect.Effect<void, DatabaseUnavailable>
    /** Searches one project, or several as if they were one; the memberships are those of one user. */
    readonly search: (
      memberships: ProjectMembership | ReadonlyArray<ProjectMembership>,
      query: Query
    ) => Effect.Effect<Found, DatabaseUnavailable>
    /**
     * Returns the hits of `search` in one project without a filter, with the terms and scores behind them.
     */
    readonly explain: (
      membership: ProjectMembership,
      query: Query
    ) => Effect.Effect<Explained, DatabaseUnavailable>
    /** Asks the server of embeddings now, within bounds; null where none is set. */
    readonly probe: Effect.Effect<EmbeddingsProbe> | null
    /** Changes whenever the chunks or the terms of some text would be other ones. */
    readonly version: string
  }
>()("parley/retrieval/Retrieval") {
  static readonly layer: Layer.Layer<Retrieval, never, AppConfig | SqlClient.SqlClient> = Layer.effect(
    Retrieval,
    Effect.gen(function* () {
      const analysis = yield* makeAnalysis
      const table = yield* makeIndexTable
      const vacuum = yield* makeVacuum
      yield* (yield* makeCompaction).start
      const vectors = yield* makeVectorTable
      const plain = yield* makeEmbeddings((yield* AppConfig).retrieval)
      const embeddings = plain === null ? null : yield* watchDimension(plain, vectors)
      const semantic = embeddings === null ? null : makeSemantic(embeddings, vectors)
      const jobs = embeddings === null ? null : yield* makeEmbeddingJobs(embeddings, vectors)
      const searching = makeSearching(analysis, yield* makeSearchTable, semantic)

      const searches = new FairPermits({ perKeyMax: searchesPerUserMax })

      const index = Effect.fn("Retrieval.index")(function* (projectId: ProjectId, file: IndexedFile) {
        const { fileId, filename, pages } = file
        const text = storable(file.text)
        const detected = yield* analysis.language(text)
        const majority = detected.isSure ? null : yield* table.language(projectId)
        const language = majority ?? detected.language
        const title = filename.replace(extension, "")
        const analyzed = yield* analysis.chunks(text, {
          language,
          title,
          pages,
          isTable: tableFile.test(filename)
        })
        const chunks = yield* table.replace(
          projectId,
          { fileId, filename, text, pages, language, ...analyzed },
          jobs === null ? Effect.void : jobs.offerNext(projectId)
        )
        yield* vacuum.afterWriting(chunks)
        return { chunks }
      }, orUnavailable)

      const remove = Effect.fn("Retrieval.remove")(
        (projectId: ProjectId, fileId: FileId) => Effect.asVoid(table.remove(projectId, fileId)),
        orUnavailable
      )

      const search = Effect.fn("Retrieval.search")(
        (memberships: ProjectMembership | ReadonlyArray<ProjectMembership>, query: Query) => {
          const all = Arr.ensure(memberships)
          const projectIds = [...new Set(all.map(({ projectId }) => projectId))]
          return searches.withPermit(all[0]?.userId ?? operator)(searching.search(projectIds, query))
        },
        orUnavailable
      )

      const explain = Effect.fn("Retrieval.explain")(
        ({ projectId, userId }: ProjectMembership, query: Query) =>
          searches.withPermit(userId ?? operator)(searching.explain(projectId, query)),
        orUnavailable
      )

      const probe = embeddings === null ? null : probeEmbeddings(embeddings, vectors)
      return { index, remove, search, explain, probe, version: indexVersion }
    })
  )
}

/** Raised whenever the chunks or the terms of some text would be other ones. */
const indexVersion = "3"

/** Text files whose lines are the rows of one table. */
const tableFile = /\.(csv|tsv)$/i
const extension = /\.[^.]{1,10}$/
