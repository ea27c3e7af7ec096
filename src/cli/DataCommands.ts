import { Effect, Schema, Duration, FileSystem, type PlatformError, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { DeletedUserBody } from "../admin/DataApi.ts"
import { ProjectName, projectNameExpected } from "../domain/Project.ts"
import { askServer, askWithoutLimit, tooLong } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { CliFailure, command, given, group, unusable } from "./CommandLine.ts"
import { printable } from "./Table.ts"

/** Deleting and renaming what other commands create. */

export const yes = Flag.Boolean("yes").pipe(
  Flag.withDescription("Delete; without it, nothing is deleted"),
  Flag.withDefault(false)
)

/** Fails unless `--yes` was given. */
export const confirmed = (isConfirmed: boolean, what: string): Effect.Effect<void, CliFailure> =>
  isConfirmed
    ? Effect.void
    : Effect.fail(
        new CliFailure({
          message: `This deletes ${what}. It can't be undone. Nothing was deleted: repeat the command with --yes.`
        })
      )

const countText = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`

const erasedText = ({ email, erased }: DeletedUserBody): string => {
  const deleted = `Deleted user ${printable(email)}. Every server rejects the user's keys within 5 seconds.`
  if (erased === null) return `${deleted} What the user has stored is still being erased, in the background.`
  const { conversations, files, files_handed_over: handedOver } = erased
  const handed = handedOver === 0 ? "" : ` ${countText(handedOver, "file")} handed over.`
  return `${deleted} Erased: ${countText(conversations, "conversation")}, ${countText(files, "file")}.${handed}`
}

export const deleteUser = command(
  "delete",
  "Delete a user, and erase what the user has stored",
  {
    email: Parameter.email,
    files: Flag.Literals("files", ["erase"]).pipe(
      Flag.withDescription("Erase the user's files; this or --files-to is required for a user with files"),
      Flag.optional
    ),
    filesTo: Parameter.emailFlag(
      "files-to",
      "Hand the user's files over to this user of the same organization"
    ).pipe(Flag.optional),
    yes
  },
  Effect.fnUntraced(function* ({ email, files, filesTo, yes }) {
    yield* confirmed(yes, `user ${printable(email)} with all conversations and keys`)
    const payload = { email, ...given({ files, files_to: filesTo }) }
    const value = yield* askServer((client) => client.data.deleteUser({ payload }))
    return { value, text: erasedText(value) }
  })
).pipe(
  Command.withExamples([{ command: "parley user delete ada@example.com --files-to grace@example.com --yes" }])
)

const newProjectName = Argument.String("new-name").pipe(
  Argument.filter(Schema.is(ProjectName), Parameter.must(projectNameExpected)),
  Argument.withDescription("The new name")
)

export const renameOrganization = command(
  "rename",
  "Rename an organization",
  { organization: Parameter.organizationName, name: Parameter.newOrganizationName },
  Effect.fnUntraced(function* (payload) {
    const value = yield* askServer((client) => client.data.renameOrganization({ payload }))
    const text = `Organization ${printable(payload.organization)} is now ${printable(value.name)}.`
    return { value, text }
  })
).pipe(Command.withExamples([{ command: "parley org rename Acme Example" }]))

const noEnd = (url: string) =>
  new CliFailure({
    message: `The connection to ${url} broke off. What was deleted stays deleted: repeat the command for the rest.`
  })

export const deleteOrganization = command(
  "delete",
  "Delete an organization",
  {
    name: Parameter.organizationName,
    withContents: Flag.Boolean("with-contents").pipe(
      Flag.withDescription("Delete its projects, too, and its users with all they have stored"),
      Flag.withDefault(false)
    ),
    yes
  },
  Effect.fnUntraced(function* ({ name, withContents, yes }) {
    const contents = withContents ? " with its projects, its users and all they have stored" : ""
    yield* confirmed(yes, `organization ${printable(name)}${contents}`)
    const payload = { organization: name, with_contents: withContents }
    const value = yield* askWithoutLimit((client) => client.data.deleteOrganization({ payload }), noEnd)
    const counts = `${countText(value.users, "user")} and ${countText(value.projects, "project")}`
    return { value, text: `Deleted organization ${printable(value.name)} with ${counts}.` }
  })
).pipe(Command.withExamples([{ command: "parley org delete Acme --with-contents --yes" }]))

export const renameProject = command(
  "rename",
  "Rename a project",
  { project: Parameter.project, name: newProjectName },
  Effect.fnUntraced(function* ({ name, project }) {
    const { id, name: oldName } = yield* Parameter.findProject(project)
    const value = yield* askServer((client) =>
      client.data.renameProject({ params: { project_id: id }, payload: { name } })
    )
    return { value, text: `Project ${printable(oldName)} is now ${printable(value.name)}.` }
  })
).pipe(Command.withExamples([{ command: "parley project rename Acme/Handbook Manual" }]))

export const deleteProject = command(
  "delete",
  "Delete a project; files stay with their owners",
  { project: Parameter.project, yes },
  Effect.fnUntraced(function* ({ project, yes }) {
    const { id, name } = yield* Parameter.findProject(project)
    yield* confirmed(yes, `project ${printable(name)} with its members and its search index`)
    const value = yield* askServer((client) => client.data.deleteProject({ params: { project_id: id } }))
    return { value, text: `Deleted project ${printable(value.name)}. Its files stay with their owners.` }
  })
).pipe(Command.withExamples([{ command: "parley project delete Acme/Handbook --yes" }]))

/** Seconds for which an export may make no progress. */
const stallSeconds = 60

/** Mode of the archive: only the person who asked for it may read it. */
const fileMode = 0o600

const brokenOff = new CliFailure({ message: "The export broke off, and no file was written. Try again." })

const unwritable =
  (path: string) =>
  ({ reason }: PlatformError.PlatformError): CliFailure =>
    unusable(path, `can't be written (${reason._tag})`)

/** Writes to a file beside it that gets the name at the end, so that no incomplete archive has it. */
const writeArchive = Effect.fnUntraced(function* (path: string, bytes: Stream.Stream<Uint8Array, unknown>) {
  const fs = yield* FileSystem.FileSystem
  const partial = `${path}.partial`
  const file = yield* fs.open(partial, { flag: "w", mode: fileMode })
  let size = 0
  yield* bytes.pipe(
    Stream.mapError(() => brokenOff),
    Stream.timeoutOrElse({
      duration: Duration.seconds(stallSeconds),
      orElse: () => Stream.fromEffect(tooLong("sent nothing for", stallSeconds))
    }),
    Stream.runForEach((chunk) => {
      size += chunk.length
      return file.writeAll(chunk)
    }),
    Effect.andThen(file.sync),
    Effect.andThen(fs.rename(partial, path)),
    Effect.onError(() => Effect.ignore(fs.remove(partial)))
  )
  return size
}, Effect.scoped)

const exportUser = command(
  "export",
  "Write what the service keeps of a user to a ZIP archive; the audit log records it",
  {
    email: Parameter.email,
    file: Argument.String("file").pipe(Argument.withDescription("The archive; it must not exist yet"))
  },
  Effect.fnUntraced(function* ({ email, file }) {
    const fs = yield* FileSystem.FileSystem
    if (yield* fs.exists(file).pipe(Effect.mapError(unwritable(file)))) {
      return yield* unusable(file, "exists already. Name another file, or remove it")
    }
    const bytes = yield* askServer((client) => client.data.exportUser({ query: { email } }))
    const size = yield* writeArchive(file, bytes).pipe(
      Effect.catchTag("PlatformError", (error) => unwritable(file)(error))
    )
    return { value: { email, file, bytes: size }, text: `Wrote ${size} bytes to ${printable(file)}.` }
  })
).pipe(Command.withExamples([{ command: "parley data export ada@example.com ada.zip" }]))

export const dataCommand = group("data", "Data of users", [exportUser])
