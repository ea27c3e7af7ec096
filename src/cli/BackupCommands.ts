import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { DateTime, Effect, identity, Layer, Logger, Path, Stdio } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { checkedSettings } from "../admin/CheckedSettings.ts"
import { createBackup, type MadeBackup } from "../backup/Backup.ts"
import { backupsIn } from "../backup/BackupList.ts"
import type { Progress } from "../backup/Progress.ts"
import { restoreBackup, type RestoredBackup } from "../backup/Restore.ts"
import { type VerifiedBackup, verifyBackup } from "../backup/Verification.ts"
import { CurrentActor } from "../domain/Actor.ts"
import { findEmbedded } from "../postgres/EmbeddedPostgres.ts"
import { counted } from "../runtime/counted.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { Database, databasePlace } from "../sql/Database.ts"
import { CliFailure, command } from "./CommandLine.ts"
import { listed, shortTime, withProgress } from "./Output.ts"
import { printable } from "./Table.ts"

/** Connections besides the one that copies. */
const connectionsMax = 4
/** Ids of files that a message lists. */
const idsMax = 10

const file = Argument.String("file").pipe(Argument.withDescription("Path of the backup"))

/** These commands work on the installation itself, with the settings of its service, and need no server. */
export const local = <A, E extends { readonly message: string }, R>(
  work: (settings: Settings) => Effect.Effect<A, E, R>
) =>
  Effect.flatMap(checkedSettings, (settings) =>
    work(settings).pipe(Effect.provideService(AppConfig, settings))
  ).pipe(
    Effect.scoped,
    Effect.provideService(CurrentActor, { _tag: "Operator", origin: "cli", address: null, key: null }),
    Effect.provide(Layer.merge(NodeServices.layer, NodeCrypto.layer)),
    Effect.provideService(Logger.LogToStderr, true),
    Effect.mapError(({ message }: { readonly message: string }) => new CliFailure({ message }))
  )

/** The audit log and messages name the whole path. */
const wholePath = (file: string) => Effect.map(Path.Path, (path) => path.resolve(file))

/** Reports the progress of the work on the standard error. */
const shownProgress = Effect.map(
  Stdio.Stdio,
  (stdio): Progress =>
    (work, run) =>
      withProgress(work, run).pipe(Effect.provideService(Stdio.Stdio, stdio))
)

/** The database that a service runs on, or the embedded one, which runs meanwhile. */
const runningDatabase = Effect.fnUntraced(function* (settings: Settings) {
  const embedded = settings.database.url === null ? yield* findEmbedded(settings.dataDir) : null
  if (embedded !== null && !embedded.hasData) {
    return yield* new CliFailure({
      message: `There is no database in ${settings.dataDir}: set PARLEY_DATA_DIR or DATABASE_URL as the service has it.`
    })
  }
  const running = embedded?.running ?? null
  return running === null
    ? Database.layer
    : Database.layerAddress(running, { ...settings.database, connectionsMax })
})

const idsText = (what: string, ids: ReadonlyArray<string>): ReadonlyArray<string> =>
  ids.length === 0
    ? []
    : [
        `${what}: ${ids.slice(0, idsMax).join(", ")}${ids.length > idsMax ? ` and ${ids.length - idsMax} more` : ""}.`
      ]

const madeText = ({ bytes, damaged, encrypted, fileBytes, files, missing, path, rows }: MadeBackup): string =>
  [
    `Made ${path}: ${counted(rows, "row")} and ${counted(files, "file")} of ${counted(fileBytes, "byte")}, in ${counted(bytes, "byte")}${encrypted ? ", encrypted" : ", not encrypted"}.`,
    ...idsText("The store has no bytes of these files", missing),
    ...idsText("The store has other bytes of these files than were uploaded", damaged)
  ].join("\n")

const verifyCommand = command(
  "verify",
  "Read all of a backup, and compare every byte with its sums",
  { file },
  ({ file }) =>
    local(
      Effect.fnUntraced(function* ({ backup }) {
        const path = yield* wholePath(file)
        const verified = yield* verifyBackup(path, backup, yield* shownProgress)
        return { value: { path, ...described(verified) }, text: verifiedText(path, verified) }
      })
    )
).pipe(Command.withExamples([{ command: "parley backup verify parley.backup" }]))

const described = ({ header, manifest }: VerifiedBackup) => ({
  created_at: DateTime.formatIso(header.createdAt),
  version: header.version,
  schema: header.schema,
  postgres: header.postgres,
  rows: manifest.tables.reduce((sum, { rows }) => sum + rows, 0),
  files: manifest.files.count,
  file_bytes: manifest.files.bytes,
  missing: manifest.files.missing,
  damaged: manifest.files.damaged
})

const verifiedText = (path: string, verified: VerifiedBackup): string => {
  const { created_at, damaged, files, missing, rows, schema, version } = described(verified)
  return [
    `${path} is whole: ${counted(rows, "row")} and ${counted(files, "file")} as of ${created_at}, by parley ${version} (schema ${schema}).`,
    ...idsText("It has no bytes of these files", missing),
    ...idsText("It has other bytes of these files than were uploaded", damaged)
  ].join("\n")
}

const listCommand = command("list", "List the scheduled backups", {}, () =>
  local(
    Effect.fnUntraced(function* () {
      const { backups, directory } = yield* backupsIn
      const { text } = listed(backups, {
        CREATED: ({ createdAt }) => shortTime(createdAt),
        BYTES: ({ bytes }) => String(bytes),
        ENCRYPTED: ({ packing }) => (packing === "plain" ? "no" : `for a ${packing}`),
        FILE: ({ path }) => path
      })
      return {
        value: backups.map(({ bytes, createdAt, packing, path }) => ({
          path,
          created_at: DateTime.formatIso(createdAt),
          bytes,
          encrypted: packing !== "plain"
        })),
        text: backups.length === 0 ? `There are no scheduled backups in ${directory}.` : text
      }
    })
  )
).pipe(Command.withExamples([{ command: "parley backup list" }]))

/** Works while the service runs, and while it doesn't. */
export const backupCommand = command(
  "backup",
  "Make a backup of the database and all files, or look at backups",
  {
    file,
    scheduled: Flag.Boolean("scheduled").pipe(
      Flag.withDescription("Record the backup as made by the service itself"),
      Flag.withDefault(false)
    )
  },
  ({ file, scheduled }) =>
    local(
      Effect.fnUntraced(function* (settings) {
        const made = yield* createBackup(yield* wholePath(file), yield* shownProgress).pipe(
          Effect.provide(yield* runningDatabase(settings)),
          scheduled ? Effect.provideService(CurrentActor, { _tag: "System" }) : identity
        )
        const { createdAt, fileBytes, ...others } = made
        const value = { ...others, file_bytes: fileBytes, created_at: DateTime.formatIso(createdAt) }
        return { value, text: madeText(made) }
      })
    )
).pipe(
  Command.withExamples([{ command: "parley backup parley.backup" }]),
  Command.withSubcommands([verifyCommand, listCommand])
)

const restoredText = (place: string, { header, manifest, path }: RestoredBackup): string =>
  [
    `Restored ${path} of ${DateTime.formatIso(header.createdAt)} into ${place}: ${counted(manifest.files.count, "file")}, and all tables but the sessions of the web application.`,
    ...idsText("The backup has no bytes of these files", manifest.files.missing),
    "The service can be started now. It makes a new admin key unless its settings give one."
  ].join("\n")

export const restoreCommand = command(
  "restore",
  "Restore a backup into an empty installation",
  { file },
  ({ file }) =>
    local(
      Effect.fnUntraced(function* (settings) {
        const place = databasePlace(settings)
        const embedded = settings.database.url === null ? yield* findEmbedded(settings.dataDir) : null
        if (embedded !== null && embedded.running !== null) {
          return yield* new CliFailure({
            message: `A service runs on ${place}, and a backup is restored into an empty installation only. Set PARLEY_DATA_DIR to a new directory.`
          })
        }
        const restored = yield* restoreBackup(yield* wholePath(file), yield* shownProgress).pipe(
          Effect.provide(Database.layer)
        )
        return {
          value: { path: restored.path, ...described(restored) },
          text: restoredText(place, { ...restored, path: printable(restored.path) })
        }
      })
    )
).pipe(Command.withExamples([{ command: "parley restore parley.backup" }]))
