import { NodeHttpClient } from "@effect/platform-node"
import { Duration, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { CorpusFileBody } from "../admin/AdminBodies.ts"
import type { FileId, ProjectId } from "../domain/Ids.ts"
import type { CorpusStatus } from "../domain/Project.ts"
import { type After, askForAll, askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { CliFailure, command, given } from "./CommandLine.ts"
import { type Advance, listed, shortTime, uploading, withProgress } from "./Output.ts"
import { printable } from "./Table.ts"
import { findLocalFile, type LocalFile, refuseLarger, upload } from "./Upload.ts"

/** Files that are uploaded at once, where the server allows as many. */
const uploadsMax = 4
/** Interval at which a waiting command asks for the state of the files. */
const pollSeconds = 1
/** Seconds for which the number of searchable files may stay the same before a waiting command fails. */
const stallSeconds = 600

const filesOf = (id: ProjectId, status?: CorpusStatus) =>
  askForAll((client, page: After<FileId>) =>
    client.projects.listFiles({
      params: { project_id: id },
      query: { ...page, ...(status === undefined ? {} : { status }) }
    })
  )

const plural = (count: number): string => (count === 1 ? "1 file" : `${count} files`)

interface Destination {
  readonly projectId: ProjectId
  /** The user who will own the files. */
  readonly email: string
}

/**
 * Uploads a file and adds it. An uploaded file is added also when another file's failure ends the command.
 */
const addFile = (file: LocalFile, { email, projectId }: Destination, advance: Advance) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const stored = yield* restore(upload(file, { email }, advance))
      return yield* askServer((client) =>
        client.projects.addFile({ params: { project_id: projectId }, payload: { file_id: stored.id } })
      )
    })
  )

/** Uploads the files and adds them, some at a time. */
const addAll = Effect.fnUntraced(function* (
  files: ReadonlyArray<LocalFile>,
  destination: Destination,
  concurrency: number
) {
  const [first] = files
  const name = files.length === 1 && first !== undefined ? printable(first.name) : plural(files.length)
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  let added = 0
  const addNext = (advance: Advance) => (file: LocalFile) =>
    addFile(file, destination, advance).pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          added++
        })
      ),
      Effect.mapError(({ message }) => ({ file, message }))
    )
  return yield* withProgress(uploading(name, bytes), (advance) =>
    Effect.forEach(files, addNext(advance), { concurrency })
  ).pipe(
    Effect.mapError(({ file, message }) => {
      const before = `Before that, ${added} of ${plural(files.length)} were added.`
      return new CliFailure({
        message: files.length === 1 ? message : `${printable(file.name)}: ${message} ${before}`
      })
    })
  )
})

/** Waits until none of the files is pending. Fails when their number stays the same for too long. */
const awaitSearchable = Effect.fnUntraced(function* (
  projectId: ProjectId,
  files: ReadonlyArray<CorpusFileBody>
) {
  const ids = new Set(files.map(({ id }) => id))
  const isOurs = ({ id }: CorpusFileBody) => ids.has(id)
  const work = {
    title: "Making searchable",
    total: files.length,
    unit: "file",
    done: `${plural(files.length)} done.`
  } as const
  yield* withProgress(
    work,
    Effect.fnUntraced(function* (advance) {
      let before = files.length
      let quietSeconds = 0
      while (true) {
        const pending = (yield* filesOf(projectId, "pending")).filter(isOurs).length
        yield* advance(before - pending)
        if (pending === 0) return
        quietSeconds = pending === before ? quietSeconds + pollSeconds : 0
        before = pending
        if (quietSeconds >= stallSeconds) {
          return yield* new CliFailure({
            message: `${plural(pending)} did not become searchable; nothing happened for ${stallSeconds} seconds.`
          })
        }
        yield* Effect.sleep(Duration.seconds(pollSeconds))
      }
    })
  )
  return (yield* filesOf(projectId)).filter(isOurs)
})

const outcome = ({ chunks, filename, id, status, status_details }: CorpusFileBody): string => {
  const name = `"${printable(filename)}" (${id})`
  switch (status) {
    case "indexed":
      return `Added ${name}: searchable, ${chunks === 1 ? "1 chunk" : `${chunks ?? 0} chunks`}.`
    case "pending":
      return `Added ${name}: searchable soon (pending).`
    case "error":
      return `Added ${name}, but it can't be searched (error). ${printable(status_details ?? "")}`.trimEnd()
  }
}

/** Files of which it is said why they can't be added; there may be thousands. */
const reasonsMax = 10

const reasonsOf = (failures: ReadonlyArray<CliFailure>): string => {
  const reasons = failures.slice(0, reasonsMax).map(({ message }) => message)
  const more = failures.length - reasons.length
  return [...reasons, ...(more === 0 ? [] : [`And ${more} more.`])].join(" ")
}

export const addFiles = command(
  "add-file",
  "Upload files and add them to a project",
  {
    project: Parameter.project,
    paths: Argument.String("path").pipe(
      Argument.withDescription("Paths of the files"),
      Argument.variadic({ min: 1 })
    ),
    user: Flag.optional(
      Parameter.emailFlag(
        "user",
        "E-mail address of the user who will own the files; the first owner of the project, if left out"
      )
    ),
    wait: Flag.Boolean("wait").pipe(
      Flag.withDescription("Wait until the files are searchable"),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function* ({ paths, project, user, wait }) {
    const { id: projectId } = yield* Parameter.findProject(project)
    const limits = yield* askServer((client) =>
      client.projects.uploadLimits({ params: { project_id: projectId }, query: given({ email: user }) })
    )
    const [files, unusable] = yield* Effect.partition(paths, (path) =>
      Effect.tap(findLocalFile(path), (file) => refuseLarger(path, file, limits.file_bytes_max))
    )
    if (files.length === 0) return yield* new CliFailure({ message: reasonsOf(unusable) })
    const destination = { projectId, email: limits.email }
    const added = yield* addAll(files, destination, Math.min(uploadsMax, limits.uploads_max))
    const value = wait ? yield* awaitSearchable(projectId, added) : added
    const failed = value.filter(({ status }) => status === "error").length
    const problems = [
      failed === 0 ? "" : `${plural(failed)} can't be searched.`,
      unusable.length === 0 ? "" : `${plural(unusable.length)} could not be added. ${reasonsOf(unusable)}`
    ].filter((problem) => problem !== "")
    const failure = problems.length === 0 ? null : problems.join(" ")
    return { value, text: value.map(outcome).join("\n"), failure }
  })
).pipe(
  // `fetch` keeps every piece of a body that it has sent, until the end.
  Command.provide(NodeHttpClient.layerNodeHttp),
  Command.withExamples([{ command: "parley project add-file Acme/Handbook handbook.md travel.pdf --wait" }])
)

export const listCorpus = command(
  "files",
  "List the files of a project, and whether they are searchable",
  { project: Parameter.project },
  Effect.fnUntraced(function* ({ project }) {
    const { id } = yield* Parameter.findProject(project)
    return listed(
      yield* filesOf(id),
      {
        NAME: ({ filename }) => filename,
        STATUS: ({ status }) => status,
        CHUNKS: ({ chunks }) => String(chunks ?? "-"),
        BYTES: ({ bytes }) => String(bytes),
        OWNER: ({ owner }) => owner,
        SINCE: ({ added_at }) => shortTime(added_at),
        ID: ({ id }) => id,
        DETAILS: ({ status_details }) => status_details ?? ""
      },
      "The project has no files. `parley project add-file PROJECT PATH` adds some."
    )
  })
).pipe(Command.withExamples([{ command: "parley project files Acme/Handbook" }]))

export const removeFile = command(
  "remove-file",
  "Remove a file from a project, with immediate effect",
  { project: Parameter.project, id: Parameter.fileId },
  Effect.fnUntraced(function* ({ id, project }) {
    const { id: projectId, name } = yield* Parameter.findProject(project)
    const value = yield* askServer((client) =>
      client.projects.removeFile({ params: { project_id: projectId, file_id: id } })
    )
    return { value, text: `Removed file ${id} from project ${printable(name)}; its owner keeps it.` }
  })
).pipe(
  Command.withExamples([
    { command: "parley project remove-file Acme/Handbook 0198c5f2-7d8e-7c3a-9f10-2b6f0a4d1e55" }
  ])
)

export const reindex = command(
  "reindex",
  "Index all files of a project again, in the background",
  { project: Parameter.project },
  Effect.fnUntraced(function* ({ project }) {
    const { id, name } = yield* Parameter.findProject(project)
    const value = yield* askServer((client) => client.projects.reindex({ params: { project_id: id } }))
    return {
      value,
      text: `${plural(value.files)} of project ${printable(name)} will be indexed again; see \`parley project files\`.`
    }
  })
).pipe(Command.withExamples([{ command: "parley project reindex Acme/Handbook" }]))
