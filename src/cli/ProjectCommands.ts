import { Effect } from "effect"
import { Command } from "effect/cli"
import type { ProjectId, UserId } from "../domain/Ids.ts"
import { askForAll, askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { addFiles, listCorpus, reindex, removeFile } from "./CorpusCommands.ts"
import { findProject } from "./FindProject.ts"
import { print, printable, shortTime, table } from "./Output.ts"
import { evaluate, search } from "./SearchCommands.ts"

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
