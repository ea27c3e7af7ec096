import { NodeCrypto, NodeHttpClient, NodeServices } from "@effect/platform-node"
import { DateTime, Effect, Layer } from "effect"
import { Argument, Command } from "effect/cli"
import { SecureRandom } from "effect/crypto"
import { checkedSettings } from "../admin/CheckedSettings.ts"
import type { FileObject } from "../api/FileObject.ts"
import type { FileId } from "../domain/Ids.ts"
import { makeBlobs } from "../files/BlobStore.ts"
import { makeStoreBinding, leaveAllStores } from "../files/StoreBinding.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { Database } from "../sql/Database.ts"
import { layerMigrations } from "../sql/Migrations.ts"
import { type After, askForAll, askServer } from "./AdminClient.ts"
import * as Parameter from "./CliParameters.ts"
import { CliFailure, command, given, group } from "./CommandLine.ts"
import { moveCommand } from "./FileMoveCommand.ts"
import { listed, shortTime, uploading, withProgress } from "./Output.ts"
import { printable, Table } from "./Table.ts"
import { findLocalFile, refuseLarger, upload } from "./Upload.ts"

const timeOf = ({ created_at }: FileObject): string => shortTime(DateTime.makeUnsafe(created_at * 1000))

const listFiles = command(
  "list",
  "List a user's files, newest first",
  { email: Parameter.email, purpose: Parameter.purpose },
  Effect.fnUntraced(function* ({ email, purpose }) {
    const query = { email, ...given({ purpose }) }
    const files = yield* askForAll((client, page: After<FileId>) =>
      client.files.list({ query: { ...query, ...page } })
    )
    return listed(
      files,
      {
        NAME: ({ filename }) => filename,
        PURPOSE: ({ purpose }) => purpose,
        BYTES: ({ bytes }) => String(bytes),
        STATUS: ({ status }) => status,
        SINCE: timeOf,
        ID: ({ id }) => id
      },
      `${email} has no files.`
    )
  })
).pipe(Command.withExamples([{ command: "parley file list ada@example.com" }]))

const showFile = command(
  "show",
  "Show the properties of a file",
  { email: Parameter.email, id: Parameter.fileId },
  Effect.fnUntraced(function* ({ email, id }) {
    const file = yield* askServer((client) => client.files.get({ params: { file_id: id }, query: { email } }))
    const rows = [
      ["id", file.id],
      ["name", file.filename],
      ["purpose", file.purpose],
      ["bytes", String(file.bytes)],
      ["since", timeOf(file)],
      ["status", file.status],
      ...(file.status_details === undefined ? [] : [["details", file.status_details]])
    ]
    return { value: file, text: new Table(["FIELD", "VALUE"], rows) }
  })
).pipe(
  Command.withExamples([{ command: "parley file show ada@example.com 0198c5f2-7d8e-7c3a-9f10-2b6f0a4d1e55" }])
)

const deleteFile = command(
  "delete",
  "Delete a file permanently",
  { email: Parameter.email, id: Parameter.fileId },
  Effect.fnUntraced(function* ({ email, id }) {
    const value = yield* askServer((client) =>
      client.files.delete({ params: { file_id: id }, query: { email } })
    )
    return { value, text: `Deleted file ${value.id}, its text and its bytes.` }
  })
).pipe(
  Command.withExamples([
    { command: "parley file delete ada@example.com 0198c5f2-7d8e-7c3a-9f10-2b6f0a4d1e55" }
  ])
)

/** The state of the text of a file that was just stored. */
const outcome = ({ id, status, status_details }: FileObject, user: string): string => {
  switch (status) {
    case "processed":
      return "Its text is ready (processed)."
    case "uploaded":
      return `Its text is still being read (uploaded); look again with \`parley file show ${user} ${id}\`.`
    case "error":
      return `Its text can't be read (error). ${printable(status_details ?? "")}`.trimEnd()
  }
}

const uploadFile = command(
  "upload",
  "Upload a file for a user",
  {
    email: Parameter.email,
    path: Argument.String("path").pipe(Argument.withDescription("Path of the file")),
    purpose: Parameter.purpose
  },
  Effect.fnUntraced(function* ({ email, path, purpose }) {
    const file = yield* findLocalFile(path)
    const limits = yield* askServer((client) => client.files.uploadLimits({ query: { email } }))
    yield* refuseLarger(path, file, limits.file_bytes_max)
    const about = { email, ...given({ purpose }) }
    const value = yield* withProgress(uploading(printable(file.name), file.size), (advance) =>
      upload(file, about, advance)
    )
    return { value, text: `Stored "${printable(value.filename)}" as ${value.id}. ${outcome(value, email)}` }
  })
).pipe(
  // `fetch` keeps every piece of a body that it has sent, until the end.
  Command.provide(NodeHttpClient.layerNodeHttp),
  Command.withExamples([{ command: "parley file upload ada@example.com report.pdf" }])
)

const adopt = Effect.gen(function* () {
  const { database } = yield* AppConfig
  // No other process uses the embedded database, so what is registered there belongs to processes that are
  // gone.
  if (database.url === null) yield* leaveAllStores
  const binding = yield* makeStoreBinding(yield* makeBlobs)
  return yield* binding.adopt
})

/** Binds the file store of the settings to their database, whatever either was bound to. */
const adoptedStore = (settings: Settings) =>
  adopt.pipe(
    Effect.scoped,
    Effect.provide(Layer.provideMerge(layerMigrations, Database.layer)),
    Effect.provide(Layer.mergeAll(NodeServices.layer, NodeCrypto.layer, SecureRandom.layerWebCrypto)),
    Effect.provide(Layer.succeed(AppConfig, settings))
  )

/** Helps an operator whose server refuses to start, so it asks none. */
const adoptStore = command(
  "adopt-store",
  "Bind the file store to the database of these settings, while no server runs",
  {},
  Effect.fnUntraced(
    function* () {
      const settings = yield* checkedSettings
      const { database, isWhole, place, previousDatabaseId } = yield* adoptedStore(settings)
      const before =
        previousDatabaseId === null
          ? ""
          : ` It was bound to the database with id ${previousDatabaseId}, whose service can't start with it any more.`
      const missing = isWhole
        ? ""
        : " None of the files in the database is there: they can't be read until their bytes are back."
      return {
        value: { store: place, database, previous_database_id: previousDatabaseId },
        text: `Bound ${place} to ${database}.${before}${missing}`
      }
    },
    Effect.mapError(({ message }: { readonly message: string }) => new CliFailure({ message }))
  )
).pipe(Command.withExamples([{ command: "parley file adopt-store" }]))

export const fileCommand = group("file", "Files", [
  listFiles,
  showFile,
  deleteFile,
  uploadFile,
  moveCommand,
  adoptStore
]).pipe(Command.withAlias("files"))
