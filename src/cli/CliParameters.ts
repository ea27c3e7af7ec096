import { expirySecondsMax } from "../admin/AdminApi.ts"
import { documentsMax, textCharactersMax, queryCharactersMax, searchHitsMax } from "../admin/AdminBodies.ts"
import { Purpose } from "../api/FilesApi.ts"
import { AccountName, Email, expected, PlanName } from "../domain/Account.ts"
import { ApiKeyId, FileId, ProjectId } from "../domain/Ids.ts"
import { ProjectName, projectNameExpected, ProjectRole } from "../domain/Project.ts"
import { purposeCharactersMax } from "../domain/StoredFile.ts"
import { askServer } from "./AdminClient.ts"
import { CliFailure } from "./CommandLine.ts"
import { printable } from "./Output.ts"
import { Effect, Option, Schema } from "effect"
import { Argument, Flag } from "effect/cli"

/** What the commands take, each checked before anything is sent. */

export const json = Flag.Boolean("json").pipe(
  Flag.withDescription("Print one JSON document"),
  Flag.withDefault(false)
)

/** A rule as the end of "Expected: …". */
const must = (rule: string) => () => `${rule}.`

export const organizationName = Argument.String("name").pipe(
  Argument.filter(Schema.is(AccountName), must(expected.name)),
  Argument.withDescription("Name of the organization")
)

export const newPlan = Flag.String("plan").pipe(
  Flag.filter(Schema.is(PlanName), must(expected.plan)),
  Flag.withDescription("Plan of the organization")
)

export const plan = Flag.optional(newPlan)

export const email = Argument.String("email").pipe(
  Argument.filter(Schema.is(Email), must(expected.email)),
  Argument.withDescription("E-mail address of the user")
)

export const organization = Flag.String("org").pipe(
  Flag.filter(Schema.is(AccountName), must(expected.name)),
  Flag.withDescription("Name of the organization")
)

/** What a command is about, which may be named in its place or by a flag. */
interface Named {
  readonly inPlace: Option.Option<string>
  readonly byFlag: Option.Option<string>
}

/** The one name that was given. */
export const one = ({ byFlag, inPlace }: Named, what: string): Effect.Effect<string, CliFailure> => {
  const [name, ...others] = [inPlace, byFlag].flatMap(Option.toArray)
  return name !== undefined && others.length === 0
    ? Effect.succeed(name)
    : Effect.fail(new CliFailure({ message: `Name one ${what}.` }))
}

export const organizationToChange = {
  inPlace: Argument.optional(organizationName),
  byFlag: Flag.optional(organization)
}

export const userToChange = {
  inPlace: Argument.optional(email),
  byFlag: Flag.String("email").pipe(
    Flag.filter(Schema.is(Email), must(expected.email)),
    Flag.withDescription("E-mail address of the user"),
    Flag.optional
  )
}

export const withKey = Flag.Boolean("with-key").pipe(
  Flag.withDescription("Make a key for the user, too"),
  Flag.withDefault(false)
)

export const user = Flag.String("user").pipe(
  Flag.filter(Schema.is(Email), must(expected.email)),
  Flag.withDescription("E-mail address of the owner")
)

export const keyName = Flag.String("name").pipe(
  Flag.filter(Schema.is(AccountName), must(expected.name)),
  Flag.withDescription("What to call the key")
)

export const keyId = Argument.String("id").pipe(
  Argument.filterMap(
    (text) => (Schema.is(ApiKeyId)(text) ? Option.some(ApiKeyId.make(text)) : Option.none()),
    must("the id of a key, as `parley key list` shows it")
  ),
  Argument.withDescription("Id of the key")
)

export const fileId = Argument.String("id").pipe(
  Argument.filterMap(
    (text) => (Schema.is(FileId)(text) ? Option.some(FileId.make(text)) : Option.none()),
    must("the id of a file, as `parley file list` shows it")
  ),
  Argument.withDescription("Id of the file")
)

export const path = Argument.String("path").pipe(Argument.withDescription("Where the file is"))

export const purpose = Flag.String("purpose").pipe(
  Flag.filter(Schema.is(Purpose), must(`1 to ${purposeCharactersMax} characters`)),
  Flag.withDescription("What the file is for"),
  Flag.optional
)

export const projectName = Argument.String("name").pipe(
  Argument.filter(Schema.is(ProjectName), must(projectNameExpected)),
  Argument.withDescription("Name of the project")
)

export const project = Argument.String("project").pipe(
  Argument.withDescription("The project, by its name or its id")
)

export const projectOrganization = Flag.String("org").pipe(
  Flag.filter(Schema.is(AccountName), must(expected.name)),
  Flag.withDescription("Name of the organization whose project it is")
)

export const role = Flag.Literals("role", ProjectRole.literals).pipe(
  Flag.withDescription("What the member is to the project"),
  Flag.withDefault("member" as const)
)

export const paths = Argument.String("path").pipe(
  Argument.withDescription("Where the files are"),
  Argument.variadic({ min: 1 })
)

export const fileOwner = Flag.String("user").pipe(
  Flag.filter(Schema.is(Email), must(expected.email)),
  Flag.withDescription(
    "E-mail address of who is to own the files; the first owner of the project, if left out"
  ),
  Flag.optional
)

export const wait = Flag.Boolean("wait").pipe(
  Flag.withDescription("Wait until the files are searchable"),
  Flag.withDefault(false)
)

export const query = Argument.String("query").pipe(
  Argument.filter(
    (text) => text.trim() !== "" && text.length <= queryCharactersMax,
    must(`1 to ${queryCharactersMax} characters`)
  ),
  Argument.withDescription("What to look for")
)

export const hits = (usual: number) =>
  Flag.Int("limit").pipe(
    Flag.filter(
      (limit) => limit >= 1 && limit <= searchHitsMax,
      must(`a whole number from 1 to ${searchHitsMax}`)
    ),
    Flag.withDescription(`Most results; ${usual}, if left out`),
    Flag.withDefault(usual)
  )

export const explain = Flag.Boolean("explain").pipe(
  Flag.withDescription("Say by what the results were found"),
  Flag.withDefault(false)
)

export const queries = Flag.String("queries").pipe(
  Flag.withDescription('A file with a line of JSON for each query: {"_id": "1", "text": "What …?"}')
)

export const message = Argument.String("text").pipe(
  Argument.filter(
    (text) => text.length <= textCharactersMax,
    must(`no more than ${textCharactersMax} characters`)
  ),
  Argument.withDescription("What a user would say")
)

export const documents = Flag.Int("documents").pipe(
  Flag.filter(
    (count) => count >= 0 && count <= documentsMax,
    must(`a whole number from 0 to ${documentsMax}`)
  ),
  Flag.withDescription("Files that would be attached"),
  Flag.withDefault(0)
)

export const tools = Flag.Boolean("tools").pipe(
  Flag.withDescription("Whether tools would be offered; as the settings say, if left out"),
  Flag.optional
)

export const outputTokens = Flag.Int("output-tokens").pipe(
  Flag.filter((count) => count >= 1, must("a whole number from 1")),
  Flag.withDescription("Most tokens that the answer might have"),
  Flag.optional
)

const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 }

/** The seconds of a length of time such as "30d". */
export const parseLength = (text: string): Option.Option<number> => {
  const [, digits, unit] = /^(\d{1,9})([smhdw])$/.exec(text) ?? []
  const seconds = Number(digits) * (secondsOf[unit ?? ""] ?? Number.NaN)
  return seconds >= 1 && seconds <= expirySecondsMax ? Option.some(seconds) : Option.none()
}

export const expiresIn = Flag.String("expires-in").pipe(
  Flag.filterMap(parseLength, must("a length such as 12h, 30d or 4w (units s, m, h, d, w), at most 3650d")),
  Flag.withDescription("After how long the key expires, such as 30d; never, if left out"),
  Flag.optional
)

/** Projects of one name that a message lists. */
const namedMax = 10

/** The project that a command line names, by its id or by its name. */
export const findProject = Effect.fnUntraced(function* (text: string) {
  if (Schema.is(ProjectId)(text)) return { id: ProjectId.make(text), name: text }
  const nobody = new CliFailure({ message: `There is no project ${printable(text)}.` })
  if (!Schema.is(ProjectName)(text)) return yield* nobody
  const { data } = yield* askServer((client) => client.projects.list({ query: { name: text } }))
  const [found, ...others] = data
  if (found === undefined) return yield* nobody
  if (others.length === 0) return { id: found.id, name: found.name }
  const ids = data.slice(0, namedMax).map(({ id, organization }) => `${id} (${printable(organization)})`)
  return yield* new CliFailure({
    message: `${data.length} projects have the name ${printable(text)}; name yours by its id: ${ids.join(", ")}.`
  })
})
