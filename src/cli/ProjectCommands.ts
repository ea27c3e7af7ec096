import { type FoundBody, queryCharactersMax, searchHitsDefault } from "../admin/AdminBodies.ts"
import type { ProjectId, UserId } from "../domain/Ids.ts"
import { askForAll, askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { CliFailure } from "./CommandLine.ts"
import { addFiles, listCorpus, reindex, removeFile } from "./CorpusCommands.ts"
import { findProject } from "./CliParameters.ts"
import { print, printable, shortTime, table } from "./Output.ts"
import { Effect, Console, FileSystem, type PlatformError, Schema, Stream } from "effect"
import { Command } from "effect/cli"

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

const search = Command.make(
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
const evaluate = Command.make(
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

const { json } = Parameter

const createProject = Command.make(
  "create",
  { name: Parameter.projectName, organization: Parameter.projectOrganization, json },
  Effect.fnUntraced(function* ({ json, name, organization }) {
    const made = yield* askServer((client) => client.projects.create({ payload: { name, organization } }))
    yield* print(
      json,
      made,
      () => `Made project ${printable(made.name)} of ${printable(made.organization)}: ${made.id}.`
    )
  })
).pipe(Command.withDescription("Make a project"))

const listProjects = Command.make(
  "list",
  { json },
  Effect.fnUntraced(function* ({ json }) {
    const all = yield* askForAll((client, after: ProjectId | undefined) =>
      client.projects.list({ query: { after } })
    )
    yield* print(json, all, () =>
      table(
        ["NAME", "ORGANIZATION", "MEMBERS", "FILES", "SINCE", "ID"],
        all.map(({ created_at, files, id, members, name, organization }) => [
          name,
          organization,
          String(members),
          String(files),
          shortTime(created_at),
          id
        ])
      )
    )
  })
).pipe(Command.withDescription("List the projects"))

const listMembers = Command.make(
  "members",
  { project: Parameter.project, json },
  Effect.fnUntraced(function* ({ json, project }) {
    const { id } = yield* findProject(project)
    const all = yield* askForAll((client, after: UserId | undefined) =>
      client.projects.listMembers({ params: { project_id: id }, query: { after } })
    )
    yield* print(json, all, () =>
      table(
        ["EMAIL", "ROLE", "SINCE", "ID"],
        all.map(({ added_at, email, id, role }) => [email, role, shortTime(added_at), id])
      )
    )
  })
).pipe(Command.withDescription("List the members of a project"))

const addMember = Command.make(
  "add-member",
  { project: Parameter.project, email: Parameter.email, role: Parameter.role, json },
  Effect.fnUntraced(function* ({ email, json, project, role }) {
    const { id, name } = yield* findProject(project)
    const member = yield* askServer((client) =>
      client.projects.addMember({ params: { project_id: id }, payload: { email, role } })
    )
    yield* print(json, member, () => `${member.email} is now ${member.role} of project ${printable(name)}.`)
  })
).pipe(Command.withDescription("Make a user a member of a project, or change the role"))

const removeMember = Command.make(
  "remove-member",
  { project: Parameter.project, email: Parameter.email, json },
  Effect.fnUntraced(function* ({ email, json, project }) {
    const { id, name } = yield* findProject(project)
    const done = yield* askServer((client) =>
      client.projects.removeMember({ params: { project_id: id }, query: { email } })
    )
    yield* print(json, done, () => `${printable(email)} is no member of project ${printable(name)} any more.`)
  })
).pipe(Command.withDescription("End a membership, at once"))

export const projectCommand = Command.make("project").pipe(
  Command.withDescription("Projects: members, files and the search in them"),
  Command.withSubcommands([
    createProject,
    listProjects,
    listMembers,
    addMember,
    removeMember,
    addFiles,
    listCorpus,
    removeFile,
    reindex,
    search,
    evaluate
  ])
)
