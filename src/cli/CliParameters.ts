import { Effect, Option, Schema } from "effect"
import { Argument, Flag } from "effect/cli"
import { Purpose } from "../api/FilesApi.ts"
import { AccountName, Email, expected, PlanName } from "../domain/Account.ts"
import { ApiKeyId, FileId, LinkId, ProjectId } from "../domain/Ids.ts"
import { ProjectName } from "../domain/Project.ts"
import { purposeCharactersMax } from "../domain/StoredFile.ts"
import { type After, askForAll } from "./AdminClient.ts"
import { CliFailure } from "./CommandLine.ts"
import { printable } from "./Table.ts"

/**
 * Arguments and flags that several commands take, each checked before anything is sent. What a command is
 * about is named by position, in one way everywhere: a user by e-mail address, an organization by name, a
 * project by ORG/PROJECT, by a name that is unique or by id, everything else by id, behind its owner if it
 * has one. Flags say the rest.
 */

/** A rule as the end of "Expected: …". */
export const must = (rule: string) => () => `${rule}.`

const isEmail = Schema.is(Email)
const isAccountName = Schema.is(AccountName)

/** A flag with the e-mail address of a user. */
export const emailFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.filter(isEmail, must(expected.email)),
    Flag.withMetavar("email"),
    Flag.withDescription(description)
  )

/** A flag with the name of an organization, a user or a key. */
export const nameFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.filter(isAccountName, must(expected.name)),
    Flag.withMetavar("name"),
    Flag.withDescription(description)
  )

/** The id of a thing, which `parley <what> list` shows. */
const idArgument = <Id>(decode: (text: string) => Option.Option<Id>, what: string) =>
  Argument.String("id").pipe(
    Argument.filterMap(decode, must(`the id of a ${what}, as \`parley ${what} list\` shows it`)),
    Argument.withDescription(`Id of the ${what}, as \`parley ${what} list\` shows it`)
  )

export const keyId = idArgument(Schema.decodeOption(ApiKeyId), "key")
export const invitationId = idArgument(Schema.decodeOption(LinkId), "invitation")
export const fileId = idArgument(Schema.decodeOption(FileId), "file")

export const organizationName = Argument.String("org").pipe(
  Argument.filter(isAccountName, must(expected.name)),
  Argument.withDescription("Name of the organization")
)

export const newOrganizationName = Argument.String("new-name").pipe(
  Argument.filter(isAccountName, must(expected.name)),
  Argument.withDescription("The new name")
)

export const organizationFlag = nameFlag("org", "Name of the organization")

export const newPlan = Flag.String("plan").pipe(
  Flag.filter(Schema.is(PlanName), must(expected.plan)),
  Flag.withMetavar("plan"),
  Flag.withDescription("Plan of the organization")
)

export const plan = Flag.optional(newPlan)

export const email = Argument.String("email").pipe(
  Argument.filter(isEmail, must(expected.email)),
  Argument.withDescription("E-mail address of the user")
)

export const purpose = Flag.String("purpose").pipe(
  Flag.filter(Schema.is(Purpose), must(`1 to ${purposeCharactersMax} characters`)),
  Flag.withDescription("What the file is for"),
  Flag.optional
)

/** A flag with a whole number within bounds. */
export const countFlag = (
  name: string,
  { from, to }: { readonly from: number; readonly to?: number },
  description: string
) =>
  Flag.Int(name).pipe(
    Flag.filter(
      (count) => count >= from && (to === undefined || count <= to),
      must(`a whole number from ${from}${to === undefined ? "" : ` to ${to}`}`)
    ),
    Flag.withDescription(description)
  )

export const project = Argument.String("project").pipe(
  Argument.withDescription("The project: ORG/PROJECT, its name if only one has it, or its id")
)

/** Projects that a message lists. */
const namedMax = 10
/** Slashes in an argument behind each of which a project's name may begin. */
const slashesMax = 8

/** A project as a command line names it. */
const pathOf = ({ name, organization }: { readonly name: string; readonly organization: string }): string =>
  `${printable(organization)}/${printable(name)}`

/** The names of a project that a text may mean: the whole of it, and what is behind each slash. */
const namesIn = (text: string): ReadonlyArray<string> => {
  const parts = text.split("/")
  return parts.map((_, index) => parts.slice(index).join("/")).filter((name) => Schema.is(ProjectName)(name))
}

/** The project that a command line names, by ORG/PROJECT, by its name or by its id. */
export const findProject = Effect.fnUntraced(function* (text: string) {
  if (Schema.is(ProjectId)(text)) return { id: ProjectId.make(text), name: text }
  const named = yield* Effect.forEach(namesIn(text).slice(0, slashesMax + 1), (name) =>
    askForAll((client, page: After<ProjectId>) => client.projects.list({ query: { name, ...page } }))
  )
  const isMeant = (name: string) => name.toLowerCase() === text.toLowerCase()
  const found = named.flat().filter((one) => isMeant(one.name) || isMeant(`${one.organization}/${one.name}`))
  const [project, ...others] = found
  if (project === undefined) {
    return yield* new CliFailure({
      code: "project_not_found",
      message: `There is no project ${printable(text)}. \`parley project list\` shows those that exist.`
    })
  }
  if (others.length === 0) return { id: project.id, name: project.name }
  const paths = found.slice(0, namedMax).map(pathOf)
  return yield* new CliFailure({
    code: "ambiguous",
    message: `${found.length} projects have the name ${printable(text)}; name yours with its organization: ${paths.join(", ")}.`
  })
})
