import { Console, Effect, FileSystem, Schema, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { type FoundBody, queryCharactersMax, searchHitsDefault, searchHitsMax } from "../admin/AdminBodies.ts"
import type { ProjectId, UserId } from "../domain/Ids.ts"
import { ProjectName, projectNameExpected, ProjectRole } from "../domain/Project.ts"
import { type After, askForAll, askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { CliFailure, command, group, json, unreadable } from "./CommandLine.ts"
import { addFiles, listCorpus, reindex, removeFile } from "./CorpusCommands.ts"
import { deleteProject, renameProject } from "./DataCommands.ts"
import { listed, shortTime } from "./Output.ts"
import { printable, type Table, type Text } from "./Table.ts"

const createProject = command(
  "create",
  "Create a project",
  {
    name: Argument.String("name").pipe(
      Argument.filter(Schema.is(ProjectName), Parameter.must(projectNameExpected)),
      Argument.withDescription("Name of the project")
    ),
    organization: Parameter.organizationFlag
  },
  Effect.fnUntraced(function* (payload) {
    const value = yield* askServer((client) => client.projects.create({ payload }))
    const name = `${printable(value.name)} of ${printable(value.organization)}`
    return { value, text: `Created project ${name}: ${value.id}.` }
  })
).pipe(Command.withExamples([{ command: "parley project create Handbook --org Acme" }]))

const listProjects = command(
  "list",
  "List the projects",
  {},
  Effect.fnUntraced(function* () {
    const projects = yield* askForAll((client, page: After<ProjectId>) =>
      client.projects.list({ query: page })
    )
    return listed(
      projects,
      {
        NAME: ({ name }) => name,
        ORGANIZATION: ({ organization }) => organization,
        MEMBERS: ({ members }) => String(members),
        FILES: ({ files }) => String(files),
        SINCE: ({ created_at }) => shortTime(created_at),
        ID: ({ id }) => id
      },
      "There are no projects. `parley project create NAME --org NAME` creates one."
    )
  })
).pipe(Command.withExamples([{ command: "parley project list" }]))

const listMembers = command(
  "members",
  "List the members of a project",
  { project: Parameter.project },
  Effect.fnUntraced(function* ({ project }) {
    const { id } = yield* Parameter.findProject(project)
    const members = yield* askForAll((client, page: After<UserId>) =>
      client.projects.listMembers({ params: { project_id: id }, query: page })
    )
    return listed(
      members,
      {
        EMAIL: ({ email }) => email,
        ROLE: ({ role }) => role,
        SINCE: ({ added_at }) => shortTime(added_at)
      },
      "The project has no members. `parley project add-member PROJECT EMAIL` adds one."
    )
  })
).pipe(Command.withExamples([{ command: "parley project members Acme/Handbook" }]))

const addMember = command(
  "add-member",
  "Add a user to a project, or change the user's role",
  {
    project: Parameter.project,
    email: Parameter.email,
    role: Flag.Literals("role", ProjectRole.literals).pipe(
      Flag.withDescription("Role of the member in the project"),
      Flag.withDefault("member" as const)
    )
  },
  Effect.fnUntraced(function* ({ email, project, role }) {
    const { id, name } = yield* Parameter.findProject(project)
    const value = yield* askServer((client) =>
      client.projects.addMember({ params: { project_id: id }, payload: { email, role } })
    )
    return { value, text: `${value.email} is now ${value.role} of project ${printable(name)}.` }
  })
).pipe(
  Command.withExamples([{ command: "parley project add-member Acme/Handbook ada@example.com --role owner" }])
)

const removeMember = command(
  "remove-member",
  "Remove a user from a project, with immediate effect",
  { project: Parameter.project, email: Parameter.email },
  Effect.fnUntraced(function* ({ email, project }) {
    const { id, name } = yield* Parameter.findProject(project)
    const value = yield* askServer((client) =>
      client.projects.removeMember({ params: { project_id: id }, query: { email } })
    )
    return { value, text: `${printable(email)} is no longer a member of project ${printable(name)}.` }
  })
).pipe(Command.withExamples([{ command: "parley project remove-member Acme/Handbook ada@example.com" }]))

/** Characters of a passage that are shown. */
const shownCharacters = 300
/** Terms that are shown for a hit. */
const shownTerms = 8
/** Hits for each query of an evaluation, unless the command line says otherwise. */
const evaluationHits = 20
/** Queries of an evaluation that run at once. */
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

const explanationText = ({
  chunks,
  languages,
  terms
}: NonNullable<FoundBody["explanation"]>): ReadonlyArray<string | Table> => {
  const languagesText = languages.length === 0 ? "" : ` Languages: ${languages.map(printable).join(", ")}.`
  return [
    `${chunks === 1 ? "1 chunk" : `${chunks} chunks`}.${languagesText}`,
    listed(
      terms,
      {
        TERM: ({ term }) => term,
        WORD: ({ word }) => word,
        EDITS: ({ edits }) => String(edits),
        CHUNKS: ({ chunks }) => String(chunks),
        IDF: ({ idf }) => number(idf),
        WEIGHT: ({ weight }) => number(weight)
      },
      "No term of the query is in the project."
    ).text,
    ""
  ]
}

const foundText = (found: FoundBody): Text => [
  ...(found.explanation === null ? [] : explanationText(found.explanation)),
  found.nothing === null ? found.hits.map(hitText(found)).join("\n\n") : reasons[found.nothing]
]

const limitFlag = (usual: number) =>
  Parameter.countFlag(
    "limit",
    { from: 1, to: searchHitsMax },
    `Maximum number of results; ${usual}, if left out`
  ).pipe(Flag.withDefault(usual))

const searchIn = (
  id: ProjectId,
  payload: { readonly query: string; readonly limit: number; readonly explain: boolean }
) => askServer((client) => client.projects.search({ params: { project_id: id }, payload }))

const search = command(
  "search",
  "Search the files of a project in the way that answers do",
  {
    project: Parameter.project,
    query: Argument.String("query").pipe(
      Argument.filter(
        (text) => text.trim() !== "" && text.length <= queryCharactersMax,
        Parameter.must(`1 to ${queryCharactersMax} characters`)
      ),
      Argument.withDescription("Text to search for")
    ),
    limit: limitFlag(searchHitsDefault),
    explain: Flag.Boolean("explain").pipe(
      Flag.withDescription("Show the terms by which the results were found"),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function* ({ project, ...payload }) {
    const { id } = yield* Parameter.findProject(project)
    const value = yield* searchIn(id, payload)
    return { value, text: foundText(value) }
  })
).pipe(Command.withExamples([{ command: 'parley project search Acme/Handbook "parental leave" --explain' }]))

const Query = Schema.Struct({
  _id: Schema.Union([Schema.String, Schema.Int]),
  text: Schema.String.check(Schema.isMaxLength(queryCharactersMax))
})
const readQuery = Schema.decodeEffect(Schema.fromJsonString(Query))

const noQuery = (path: string, line: number): CliFailure =>
  new CliFailure({
    message: `Line ${line} of ${printable(path)} is no query, such as {"_id": "1", "text": "What …?"}.`
  })

/** The queries of a file, one a line. The file is read while they are asked. */
const queriesOf = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  return fs.stream(path).pipe(
    Stream.mapError(unreadable(path)),
    Stream.decodeText,
    Stream.splitLines,
    Stream.zipWithIndex,
    Stream.filter(([line]) => line.trim() !== ""),
    Stream.mapEffect(([line, index]) => Effect.mapError(readQuery(line), () => noQuery(path, index + 1)))
  )
})

/**
 * Prints a line of JSON for each query, in their order, for programs that measure the search; with `--json`,
 * one array.
 */
const evaluate = Command.make(
  "eval",
  {
    project: Parameter.project,
    queries: Flag.String("queries").pipe(
      Flag.withDescription('A file with a line of JSON for each query: {"_id": "1", "text": "What …?"}')
    ),
    limit: limitFlag(evaluationHits),
    json
  },
  Effect.fnUntraced(function* ({ json, limit, project, queries }) {
    const { id } = yield* Parameter.findProject(project)
    const answerTo = Effect.fnUntraced(function* ({ _id, text }: typeof Query.Type) {
      const { hits } = yield* searchIn(id, { query: text, limit, explain: false })
      const results = hits.map(({ end, file_id, filename, score, start }) => ({
        file_id,
        filename,
        start,
        end,
        score
      }))
      return { query_id: String(_id), results }
    })
    const answers = Stream.mapEffect(yield* queriesOf(queries), answerTo, { concurrency: queriesAtOnce })
    if (json) return yield* Console.log(JSON.stringify(yield* Stream.runCollect(answers), null, 2))
    yield* Stream.runForEach(answers, (answer) => Console.log(JSON.stringify(answer)))
  })
).pipe(
  Command.withDescription("Search for every query of a file, and print a line of JSON for each"),
  Command.withExamples([{ command: "parley project eval Acme/Handbook --queries queries.jsonl" }])
)

export const projectCommand = group("project", "Projects: members, files and search", [
  createProject,
  listProjects,
  renameProject,
  deleteProject,
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
