import { NodeHttpClient } from "@effect/platform-node"
import { Duration, Effect, Option } from "effect"
import { Command } from "effect/cli"
import type { FileId, ProjectId } from "../domain/Ids.ts"
import type { CorpusStatus } from "../domain/Project.ts"
import type { CorpusFileBody } from "../admin/AdminBodies.ts"
import { askForAll, askServer, sendToServer } from "./AdminClient.ts"
import { CliFailure } from "./CommandLine.ts"
import * as Parameter from "./CliParameters.ts"
import { findProject } from "./CliParameters.ts"
import { findLocalFile, type LocalFile, refuseLarger } from "./LocalFile.ts"
import { print, printable, shortTime, table, makeProgress, type Progress, sending } from "./Output.ts"

const { json } = Parameter

/** Files that are sent at once, where the server allows as many. */
const uploadsMax = 4
/** How often a waiting command looks. */
const lookSeconds = 1
/** How long nothing may become searchable before a waiting command gives up. */
const stallSeconds = 600

const filesOf = (id: ProjectId, status?: CorpusStatus) =>
  askForAll((client, after: FileId | undefined) =>
    client.projects.listFiles({
      params: { project_id: id },
      query: { after, ...(status === undefined ? {} : { status }) }
    })
  )

const plural = (count: number): string => (count === 1 ? "1 file" : `${count} files`)

interface Destination {
  readonly projectId: ProjectId
  /** Who is to own the files. */
  readonly email: string
}

/** Sends a file and adds it. What was sent is added also when another file's failure ends the command. */
const addFile = (file: LocalFile, { email, projectId }: Destination, progress: Progress) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const stored = yield* restore(
        sendToServer(file.bytes, progress.advance, (client, payload) =>
          client.files.upload({ query: { email, filename: file.name }, payload })
        )
      )
      return yield* askServer((client) =>
        client.projects.addFile({ params: { project_id: projectId }, payload: { file_id: stored.id } })
      )
    })
  )

/** Sends the files and adds them, some at a time. */
const sendAll = Effect.fnUntraced(function* (
  files: ReadonlyArray<LocalFile>,
  destination: Destination,
  atOnce: number
) {
  const [first] = files
  const name = files.length === 1 && first !== undefined ? printable(first.name) : plural(files.length)
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  const progress = yield* makeProgress(sending(name, bytes))
  yield* progress.start
  let added = 0
  return yield* Effect.forEach(
    files,
    (file) =>
      addFile(file, destination, progress).pipe(
        Effect.tap(() =>
          Effect.sync(() => {
            added++
          })
        ),
        Effect.mapError(({ message }) => ({ file, message }))
      ),
    { concurrency: atOnce }
  ).pipe(
    Effect.ensuring(progress.close),
    Effect.mapError(({ file, message }) =>
      files.length === 1
        ? new CliFailure({ message })
        : new CliFailure({
            message: `${printable(file.name)}: ${message} Before that, ${added} of ${plural(files.length)} were added.`
          })
    )
  )
})

/** Waits until none of the files is pending, as long as that gets on. */
const awaitSearchable = Effect.fnUntraced(function* (
  projectId: ProjectId,
  files: ReadonlyArray<CorpusFileBody>
) {
  const ids = new Set(files.map(({ id }) => id))
  const progress = yield* makeProgress({
    title: "Making searchable",
    total: files.length,
    unit: "files",
    done: `${plural(files.length)} done.`
  })
  yield* progress.start
  const look = Effect.gen(function* () {
    let before = files.length
    let quietSeconds = 0
    while (true) {
      const pending = (yield* filesOf(projectId, "pending")).filter(({ id }) => ids.has(id)).length
      yield* progress.advance(before - pending)
      if (pending === 0) return
      quietSeconds = pending === before ? quietSeconds + lookSeconds : 0
      before = pending
      if (quietSeconds >= stallSeconds) {
        return yield* new CliFailure({
          message: `${plural(pending)} did not become searchable; nothing happened for ${stallSeconds} seconds.`
        })
      }
      yield* Effect.sleep(Duration.seconds(lookSeconds))
    }
  })
  yield* look.pipe(Effect.ensuring(progress.close))
  return (yield* filesOf(projectId)).filter(({ id }) => ids.has(id))
})

/** What became of a file. */
const outcome = ({ chunks, filename, id, status, status_details }: CorpusFileBody): string => {
  const name = `"${printable(filename)}" (${id})`
  switch (status) {
    case "indexed":
      return `Added ${name}: searchable, ${chunks ?? 0} chunks.`
    case "pending":
      return `Added ${name}: searchable soon (pending).`
    case "error":
      return `Added ${name}, but it can't be searched (error). ${printable(status_details ?? "")}`.trimEnd()
  }
}

export const addFiles = Command.make(
  "add-file",
  {
    project: Parameter.project,
    paths: Parameter.paths,
    user: Parameter.fileOwner,
    wait: Parameter.wait,
    json
  },
  Effect.fnUntraced(function* ({ json, paths, project, user, wait }) {
    const { id: projectId } = yield* findProject(project)
    const limits = yield* askServer((client) =>
      client.projects.uploadLimits({
        params: { project_id: projectId },
        query: Option.isSome(user) ? { email: user.value } : {}
      })
    )
    const files = yield* Effect.forEach(paths, (path) =>
      Effect.tap(findLocalFile(path), (file) => refuseLarger(path, file, limits.file_bytes_max))
    )
    const destination = { projectId, email: limits.email }
    const added = yield* sendAll(files, destination, Math.min(uploadsMax, limits.uploads_max))
    const final = wait ? yield* awaitSearchable(projectId, added) : added
    yield* print(json, final, () => final.map(outcome).join("\n"))
    const failed = final.filter(({ status }) => status === "error").length
    if (failed > 0) return yield* new CliFailure({ message: `${plural(failed)} can't be searched.` })
  })
).pipe(
  Command.withDescription("Upload files and add them to a project"),
  // `fetch` keeps every piece of a body that it has sent, until the end.
  Command.provide(NodeHttpClient.layerNodeHttp)
)

export const listCorpus = Command.make(
  "files",
  { project: Parameter.project, json },
  Effect.fnUntraced(function* ({ json, project }) {
    const { id } = yield* findProject(project)
    const all = yield* filesOf(id)
    yield* print(json, all, () =>
      table(
        ["NAME", "STATUS", "CHUNKS", "BYTES", "OWNER", "SINCE", "ID", "DETAILS"],
        all.map((file) => [
          file.filename,
          file.status,
          file.chunks === null ? "-" : String(file.chunks),
          String(file.bytes),
          file.owner,
          shortTime(file.added_at),
          file.id,
          file.status_details ?? ""
        ])
      )
    )
  })
).pipe(Command.withDescription("List the files of a project, and whether they are searchable"))

export const removeFile = Command.make(
  "remove-file",
  { project: Parameter.project, id: Parameter.fileId, json },
  Effect.fnUntraced(function* ({ id, json, project }) {
    const { id: projectId, name } = yield* findProject(project)
    const done = yield* askServer((client) =>
      client.projects.removeFile({ params: { project_id: projectId, file_id: id } })
    )
    yield* print(json, done, () => `Took file ${id} out of project ${printable(name)}; its owner keeps it.`)
  })
).pipe(Command.withDescription("Take a file out of a project, at once"))

export const reindex = Command.make(
  "reindex",
  { project: Parameter.project, json },
  Effect.fnUntraced(function* ({ json, project }) {
    const { id, name } = yield* findProject(project)
    const begun = yield* askServer((client) => client.projects.reindex({ params: { project_id: id } }))
    yield* print(
      json,
      begun,
      () =>
        `${plural(begun.files)} of project ${printable(name)} will be indexed again; see \`parley project files\`.`
    )
  })
).pipe(Command.withDescription("Index all files of a project again, in the background"))
