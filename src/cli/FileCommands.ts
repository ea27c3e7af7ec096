import { NodeHttpClient } from "@effect/platform-node"
import { DateTime, Effect, Option } from "effect"
import { Command } from "effect/cli"
import type { FileObject } from "../api/FileObject.ts"
import type { FileId } from "../domain/Ids.ts"
import { checkedSettings } from "../admin/CheckedSettings.ts"
import { askForAll, askServer, sendToServer } from "./AdminClient.ts"
import { CliFailure } from "./CommandLine.ts"
import * as Parameter from "./CliParameters.ts"
import { findLocalFile, type LocalFile, refuseLarger } from "./LocalFile.ts"
import { print, printable, shortTime, table, makeProgress, sending } from "./Output.ts"

const { json } = Parameter

const timeOf = ({ created_at }: FileObject): string => shortTime(DateTime.makeUnsafe(created_at * 1000))

const purposeOf = (purpose: Option.Option<string>) =>
  Option.isSome(purpose) ? { purpose: purpose.value } : {}

const listFiles = Command.make(
  "list",
  { user: Parameter.user, purpose: Parameter.purpose, json },
  Effect.fnUntraced(function* ({ json, purpose, user }) {
    const query = { email: user, ...purposeOf(purpose) }
    const all = yield* askForAll((client, after: FileId | undefined) =>
      client.files.list({ query: { ...query, after } })
    )
    yield* print(json, all, () =>
      table(
        ["NAME", "PURPOSE", "BYTES", "STATUS", "SINCE", "ID"],
        all.map((file) => [
          file.filename,
          file.purpose,
          String(file.bytes),
          file.status,
          timeOf(file),
          file.id
        ])
      )
    )
  })
).pipe(Command.withDescription("List a user's files, newest first"))

const showFile = Command.make(
  "show",
  { id: Parameter.fileId, user: Parameter.user, json },
  Effect.fnUntraced(function* ({ id, json, user }) {
    const file = yield* askServer((client) =>
      client.files.get({ params: { file_id: id }, query: { email: user } })
    )
    yield* print(json, file, () =>
      table(
        ["FIELD", "VALUE"],
        [
          ["id", file.id],
          ["name", file.filename],
          ["purpose", file.purpose],
          ["bytes", String(file.bytes)],
          ["since", timeOf(file)],
          ["status", file.status],
          ...(file.status_details === undefined ? [] : [["details", file.status_details]])
        ]
      )
    )
  })
).pipe(Command.withDescription("Show what is known of a file"))

const deleteFile = Command.make(
  "delete",
  { id: Parameter.fileId, user: Parameter.user, json },
  Effect.fnUntraced(function* ({ id, json, user }) {
    const deleted = yield* askServer((client) =>
      client.files.delete({ params: { file_id: id }, query: { email: user } })
    )
    yield* print(json, deleted, () => `Deleted file ${deleted.id}, its text and its bytes.`)
  })
).pipe(Command.withDescription("Delete a file for good"))

/** What became of the text of a file that was just stored. */
const outcome = ({ id, status, status_details }: FileObject, user: string): string => {
  switch (status) {
    case "processed":
      return "Its text is ready (processed)."
    case "uploaded":
      return `Its text is still being read (uploaded); look again with \`parley file show ${id} --user ${user}\`.`
    case "error":
      return `Its text can't be read (error). ${printable(status_details ?? "")}`.trimEnd()
  }
}

/** Sends a file and tells how far it has come. */
const send = Effect.fnUntraced(function* (
  file: LocalFile,
  about: { readonly email: string; readonly purpose?: string }
) {
  const progress = yield* makeProgress(sending(printable(file.name), file.size))
  const query = { ...about, filename: file.name }
  yield* progress.start
  return yield* sendToServer(file.bytes, progress.advance, (client, payload) =>
    client.files.upload({ query, payload })
  ).pipe(Effect.ensuring(progress.close))
})

const uploadFile = Command.make(
  "upload",
  { path: Parameter.path, user: Parameter.user, purpose: Parameter.purpose, json },
  Effect.fnUntraced(function* ({ json, path, purpose, user }) {
    const file = yield* findLocalFile(path)
    const about = { email: user, ...purposeOf(purpose) }
    const limits = yield* askServer((client) => client.files.uploadLimits({ query: { email: user } }))
    yield* refuseLarger(path, file, limits.file_bytes_max)
    const stored = yield* send(file, about)
    yield* print(
      json,
      stored,
      () => `Stored "${printable(stored.filename)}" as ${stored.id}. ${outcome(stored, user)}`
    )
  })
).pipe(
  Command.withDescription("Upload a file for a user"),
  // `fetch` keeps every piece of a body that it has sent, until the end.
  Command.provide(NodeHttpClient.layerNodeHttp)
)

/** For an operator whose server refuses to start, so it asks none. */
const adoptStore = Command.make(
  "adopt-store",
  { json },
  Effect.fnUntraced(
    function* ({ json }) {
      const settings = yield* checkedSettings
      const late = yield* Effect.promise(() => import("../admin/AdoptStore.ts"))
      const { database, isWhole, place, previousDatabaseId } = yield* late.adoptStore(settings)
      const before =
        previousDatabaseId === null
          ? ""
          : ` It was bound to the database of id ${previousDatabaseId}, with which the service doesn't start on it any more.`
      const missing = isWhole
        ? ""
        : " None of the files that the database knows is there: they can't be read until their bytes are back."
      yield* print(
        json,
        { store: place, database, previous_database_id: previousDatabaseId },
        () => `Bound ${place} to ${database}.${before}${missing}`
      )
    },
    Effect.mapError(({ message }: { readonly message: string }) => new CliFailure({ message }))
  )
).pipe(
  Command.withDescription("Bind the store of files to the database of these settings, while no server runs")
)

export const fileCommand = Command.make("file").pipe(
  Command.withDescription("Files"),
  Command.withSubcommands([listFiles, showFile, deleteFile, uploadFile, adoptStore])
)
