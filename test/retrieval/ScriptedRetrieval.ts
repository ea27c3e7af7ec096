import { Array as Arr, Context, Deferred, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { FileId } from "../../src/domain/Ids.ts"
import { type IndexedFile, Retrieval } from "../../src/retrieval/Retrieval.ts"
import type { Hit } from "../../src/retrieval/search/Hit.ts"
import type { Found } from "../../src/retrieval/search/Searching.ts"
import { orUnavailable } from "../../src/sql/orUnavailable.ts"

const Parts = Schema.Array(
  Schema.Struct({
    fileId: FileId,
    filename: Schema.String,
    start: Schema.Int,
    text: Schema.String
  })
)

/** The result of a search: the lines of the text in which a word of the query occurs. */
const hitsOf = (parts: typeof Parts.Type, query: string): ReadonlyArray<Hit> => {
  const words = query.toLowerCase().split(/\s+/)
  return parts
    .flatMap((part): ReadonlyArray<Hit> => {
      const score = words.filter((word) => part.text.toLowerCase().includes(word)).length
      const hit = {
        ...part,
        end: part.start + part.text.length,
        page: null,
        tableHeader: null,
        headings: [],
        score
      }
      return score === 0 ? [] : [hit]
    })
    .toSorted((a, b) => b.score - a.score)
}

/**
 * A search that keeps every line of a text in a row of its own, in a table that comes and goes with the test
 * database. A text that begins with `hang` is not indexed before it is released, one with `break` never, and
 * one with `hang and break` fails then.
 */
export class ScriptedRetrieval extends Context.Service<
  ScriptedRetrieval,
  {
    /** The files whose indexing was begun, by name. */
    readonly begun: Effect.Effect<ReadonlyArray<string>>
    readonly release: Effect.Effect<void>
  }
>()("parley/test/ScriptedRetrieval") {
  static readonly layerVersion = (
    version: string
  ): Layer.Layer<ScriptedRetrieval | Retrieval, never, SqlClient.SqlClient> =>
    Layer.effectContext(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const begun: Array<string> = []
        const released = yield* Deferred.make<void>()
        yield* sql`CREATE TABLE IF NOT EXISTS scripted_index (
          project_id uuid, file_id uuid, filename text, start integer, text text, version text,
          PRIMARY KEY (project_id, file_id, start),
          FOREIGN KEY (project_id, file_id) REFERENCES project_files (project_id, file_id) ON DELETE CASCADE
        )`

        const index = Effect.fnUntraced(function* (projectId: string, file: IndexedFile) {
          begun.push(file.filename)
          if (file.text.startsWith("hang")) yield* Deferred.await(released)
          if (/^(hang and )?break/.test(file.text))
            return yield* Effect.die(new Error("The test broke the index"))
          const lines = file.text.split("\n")
          let start = 0
          yield* sql`DELETE FROM scripted_index WHERE project_id = ${projectId}::uuid AND file_id = ${file.fileId}::uuid`
          for (const line of lines) {
            yield* sql`INSERT INTO scripted_index VALUES
              (${projectId}::uuid, ${file.fileId}::uuid, ${file.filename}, ${start}, ${line}, ${version})`
            start += line.length + 1
          }
          return { chunks: lines.length }
        })

        const search = Effect.fnUntraced(function* (
          projectId: string,
          query: { readonly text: string; readonly limit: number }
        ) {
          const parts = yield* sql`SELECT file_id, filename, start, text FROM scripted_index
            WHERE project_id = ${projectId}::uuid ORDER BY file_id, start`.pipe(
            Effect.flatMap(Schema.decodeUnknownEffect(Parts))
          )
          const hits = hitsOf(parts, query.text).slice(0, query.limit)
          const states = yield* sql<{
            pending: boolean
          }>`SELECT status = 'pending' AS pending FROM project_files
            WHERE project_id = ${projectId}::uuid`
          const nothing =
            states.length === 0
              ? "no_files"
              : states.some(({ pending }) => pending)
                ? "still_indexing"
                : "no_match"
          return { hits, nothing: hits.length > 0 ? null : nothing } satisfies Found
        })

        const retrieval = Retrieval.of({
          version,
          probe: null,
          index: (projectId, file) => index(projectId, file).pipe(sql.withTransaction, orUnavailable),
          remove: (projectId, fileId) =>
            orUnavailable(
              sql`DELETE FROM scripted_index WHERE project_id = ${projectId}::uuid AND file_id = ${fileId}::uuid`
            ).pipe(Effect.asVoid),
          search: (memberships, query) =>
            orUnavailable(
              Effect.map(
                Effect.forEach(Arr.ensure(memberships), ({ projectId }) => search(projectId, query)),
                (found) => ({
                  hits: found.flatMap(({ hits }) => hits),
                  nothing: found.some(({ hits }) => hits.length > 0)
                    ? null
                    : (found[0]?.nothing ?? "no_files")
                })
              )
            ),
          explain: ({ projectId }, query) =>
            orUnavailable(search(projectId, query)).pipe(
              Effect.map((found) => ({
                ...found,
                chunks: 1,
                languages: ["simple"],
                terms: [
                  { term: "zebr", word: "zebra", edits: 0, chunks: 1, isWhole: true, idf: 1.5, weight: 1.5 }
                ],
                contributions: found.hits.map(({ score }) => [{ term: "zebr", score }])
              }))
            )
        })
        return Context.make(Retrieval, retrieval).pipe(
          Context.add(ScriptedRetrieval, {
            begun: Effect.sync(() => [...begun]),
            release: Effect.asVoid(Deferred.succeed(released, undefined))
          })
        )
      }).pipe(Effect.orDie)
    )

  static readonly layer = ScriptedRetrieval.layerVersion("scripted")
}
