import { Console, Effect, FileSystem, type PlatformError, Schema, Stream } from "effect"
import { Command } from "effect/cli"
import type { ProjectId } from "../domain/Ids.ts"
import { type FoundBody, queryCharactersMax, searchHitsDefault } from "../admin/ProjectBody.ts"
import { askServer } from "./AdminClient.ts"
import { CliFailure } from "./CliFailure.ts"
import * as Parameter from "./CliParameters.ts"
import { findProject } from "./FindProject.ts"
import { print, printable, table } from "./Output.ts"

/** Characters of a passage that are shown. */
const shownCharacters = 300
/** Terms that are shown for a hit. */
const shownTerms = 8
/** Hits that an evaluation asks for, if nothing is said. */
const evaluationHits = 20
/** Queries of an evaluation that are under way at once. */
const queriesAtOnce = 4

const reasons: Readonly<Record<NonNullable<FoundBody["nothing"]>, string>> = {
  no_files: "Nothing was found: the project has no files.",
  still_indexing: "Nothing was found, but not all files are searchable yet.",
  no_match: "Nothing was found that fits."
}

type HitBody = FoundBody["hits"][number]

const number = (value: number): string => value.toFixed(3)

const placeOf = ({ end, headings, page, start }: HitBody): string =>
  [
    `characters ${start} to ${end}`,
    ...(page === null ? [] : [`page ${page}`]),
    ...(headings.length === 0 ? [] : [`under ${headings.join(" > ")}`])
  ].join(", ")

const excerpt = (text: string): string => {
  const line = text.replaceAll(/\s+/g, " ").trim()
  return line.length <= shownCharacters ? line : `${line.slice(0, shownCharacters).toWellFormed()}…`
}

const hitText =
  ({ explanation }: FoundBody) =>
  (hit: HitBody, index: number): string => {
    const terms = explanation?.contributions[index] ?? []
    const why = terms.slice(0, shownTerms).map(({ score, term }) => `${term} ${number(score)}`)
    return [
      `${index + 1}. ${number(hit.score)}  ${hit.filename} (${hit.file_id}), ${placeOf(hit)}`,
      ...(why.length === 0 ? [] : [`   by ${why.join(", ")}`]),
      `   ${excerpt(hit.text)}`
    ]
      .map(printable)
      .join("\n")
  }

const explanationText = ({ chunks, languages, terms }: NonNullable<FoundBody["explanation"]>): string =>
  [
    `${chunks} chunks; languages: ${languages.map(printable).join(", ")}.`,
    table(
      ["TERM", "WORD", "EDITS", "CHUNKS", "IDF", "WEIGHT"],
      terms.map((term) => [
        term.term,
        term.word,
        String(term.edits),
        String(term.chunks),
        number(term.idf),
        number(term.weight)
      ])
    )
  ].join("\n")

const foundText = (found: FoundBody): string =>
  [
    ...(found.explanation === null ? [] : [explanationText(found.explanation)]),
    ...(found.nothing === null ? found.hits.map(hitText(found)) : [reasons[found.nothing]])
  ].join("\n\n")

const ask = (
  id: ProjectId,
  payload: { readonly query: string; readonly limit: number; readonly explain: boolean }
) => askServer((client) => client.projects.search({ params: { project_id: id }, payload }))

export const search = Command.make(
  "search",
  {
    project: Parameter.project,
    query: Parameter.query,
    limit: Parameter.hits(searchHitsDefault),
    explain: Parameter.explain,
    json: Parameter.json
  },
  Effect.fnUntraced(function* ({ explain, json, limit, project, query }) {
    const { id } = yield* findProject(project)
    const found = yield* ask(id, { query, limit, explain })
    yield* print(json, found, () => foundText(found))
  })
).pipe(Command.withDescription("Search the files of a project, as an answer would"))

const Query = Schema.Struct({
  _id: Schema.Union([Schema.String, Schema.Int]),
  text: Schema.String.check(Schema.isMaxLength(queryCharactersMax))
})
const readQuery = Schema.decodeEffect(Schema.fromJsonString(Query))

/** The queries of a file, one a line, which is read as they are asked. */
const queriesOf = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const unreadable = ({ reason }: PlatformError.PlatformError) =>
    new CliFailure({
      message: `${printable(path)} ${reason._tag === "NotFound" ? "does not exist" : `can't be read (${reason._tag})`}.`
    })
  return fs.stream(path).pipe(
    Stream.mapError(unreadable),
    Stream.decodeText,
    Stream.splitLines,
    Stream.zipWithIndex,
    Stream.filter(([line]) => line.trim() !== ""),
    Stream.mapEffect(([line, index]) =>
      Effect.mapError(
        readQuery(line),
        () =>
          new CliFailure({
            message: `Line ${index + 1} of ${printable(path)} is no query, such as {"_id": "1", "text": "What …?"}.`
          })
      )
    )
  )
})

/** A line of JSON for each query, in their order, for programs that judge the search. */
export const evaluate = Command.make(
  "eval",
  { project: Parameter.project, queries: Parameter.queries, limit: Parameter.hits(evaluationHits) },
  Effect.fnUntraced(function* ({ limit, project, queries }) {
    const { id } = yield* findProject(project)
    const answerTo = Effect.fnUntraced(function* ({ _id, text }: typeof Query.Type) {
      const { hits } = yield* ask(id, { query: text, limit, explain: false })
      const results = hits.map(({ end, file_id, filename, score, start }) => ({
        file_id,
        filename,
        start,
        end,
        score
      }))
      return JSON.stringify({ query_id: String(_id), results })
    })
    const lines = Stream.mapEffect(yield* queriesOf(queries), answerTo, { concurrency: queriesAtOnce })
    yield* Stream.runForEach(lines, (line) => Console.log(line))
  })
).pipe(Command.withDescription("Search for every query of a file, and print a line of JSON for each"))
