import { Effect, Option, Schema } from "effect"
import { Argument, Flag } from "effect/cli"
import { Purpose } from "../api/FilesApi.ts"
import { AccountName, Email, expected, PlanName } from "../domain/Account.ts"
import { ApiKeyId, FileId, LinkId, ProjectId } from "../domain/Ids.ts"
import { ProjectName } from "../domain/Project.ts"
import { purposeCharactersMax } from "../domain/StoredFile.ts"
import { askServer } from "./AdminClient.ts"
import { CliFailure } from "./CommandLine.ts"
import { printable } from "./Output.ts"

/** Arguments and flags that several commands take, each checked before anything is sent. */

/** A rule as the end of "Expected: …". */
export const must = (rule: string) => () => `${rule}.`

const isEmail = Schema.is(Email)
const isAccountName = Schema.is(AccountName)

/** A flag with the e-mail address of a user. */
export const emailFlag = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.filter(isEmail, must(expected.email)), Flag.withDescription(description))

/** A flag with the name of an organization, a user or a key. */
export const nameFlag = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.filter(isAccountName, must(expected.name)), Flag.withDescription(description))

const idArgument = <Id>(decode: (text: string) => Option.Option<Id>, what: string) =>
  Argument.String("id").pipe(
    Argument.filterMap(decode, must(`the id of a ${what}, as \`parley ${what} list\` shows it`)),
    Argument.withDescription(`Id of the ${what}`)
  )

export const keyId = idArgument(Schema.decodeOption(ApiKeyId), "key")
export const invitationId = idArgument(Schema.decodeOption(LinkId), "invitation")
export const fileId = idArgument(Schema.decodeOption(FileId), "file")

export const organizationName = Argument.String("name").pipe(
  Argument.filter(isAccountName, must(expected.name)),
  Argument.withDescription("Name of the organization")
)

export const organization = nameFlag("org", "Name of the organization")

export const newPlan = Flag.String("plan").pipe(
  Flag.filter(Schema.is(PlanName), must(expected.plan)),
  Flag.withDescription("Plan of the organization")
)

export const plan = Flag.optional(newPlan)

export const email = Argument.String("email").pipe(
  Argument.filter(isEmail, must(expected.email)),
  Argument.withDescription("E-mail address of the user")
)

export const user = emailFlag("user", "E-mail address of the owner")

/** A name that is given as an argument or by a flag. */
interface Named {
  readonly asArgument: Option.Option<string>
  readonly byFlag: Option.Option<string>
}

/** The one name that was given. */
export const one = ({ asArgument, byFlag }: Named, what: string): Effect.Effect<string, CliFailure> => {
  const [name, ...others] = [asArgument, byFlag].flatMap(Option.toArray)
  return name !== undefined && others.length === 0
    ? Effect.succeed(name)
    : Effect.fail(new CliFailure({ message: `Name one ${what}.` }))
}

export const organizationToChange = {
  asArgument: Argument.optional(organizationName),
  byFlag: Flag.optional(organization)
}

export const userToChange = {
  asArgument: Argument.optional(email),
  byFlag: Flag.optional(emailFlag("email", "E-mail address of the user"))
}

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
  Argument.withDescription("The project, by its name or its id")
)

/** Projects of one name that a message lists. */
const namedMax = 10

/** The project that a command line names, by its id or by its name. */
export const findProject = Effect.fnUntraced(function* (text: string) {
  if (Schema.is(ProjectId)(text)) return { id: ProjectId.make(text), name: text }
  const unknown = new CliFailure({ message: `There is no project ${printable(text)}.` })
  if (!Schema.is(ProjectName)(text)) return yield* unknown
  const { data } = yield* askServer((client) => client.projects.list({ query: { name: text } }))
  const [found, ...others] = data
  if (found === undefined) return yield* unknown
  if (others.length === 0) return { id: found.id, name: found.name }
  const ids = data.slice(0, namedMax).map(({ id, organization }) => `${id} (${printable(organization)})`)
  return yield* new CliFailure({
    message: `${data.length} projects have the name ${printable(text)}; name yours by its id: ${ids.join(", ")}.`
  })
})
