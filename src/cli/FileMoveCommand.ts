import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { SecureRandom } from "effect/crypto"
import { makeFileMove } from "../files/FileMove.ts"
import { leaveAllStores } from "../files/StoreBinding.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { Database, databasePlace } from "../sql/Database.ts"
import { plannedMigrations } from "../sql/Migrations.ts"
import { local } from "./BackupCommands.ts"
import { CliFailure, command } from "./CommandLine.ts"
import { withProgress } from "./Output.ts"

/** Timeout of the statement that has all files name the new store. */
const switchSeconds = 3_600

const current = Effect.gen(function* () {
  const { pending } = yield* plannedMigrations((yield* Database).address)
  if (pending.length === 0) return
  const place = databasePlace(yield* AppConfig)
  return yield* new CliFailure({
    message: `${place} has the schema of an older version: start this version, or run \`parley migrate\`.`
  })
})

const moved = Effect.gen(function* () {
  const { begin, from, kind, to } = yield* makeFileMove
  const { files, run } = yield* begin
  const work = { title: "Copying files", total: files, unit: "file", done: `Copied ${files} files.` } as const
  const count = files === 0 ? yield* run(() => Effect.void) : yield* withProgress(work, run)
  return {
    value: { from, to, moved: count },
    text:
      `All files are in ${to}; ${count} were moved by this run, each compared with what was uploaded. Now set PARLEY_FILES_STORE=${kind}, remove ` +
      `PARLEY_FILES_MOVE_TO and start the service. The old bytes are still in ${from}: \`parley file move --erase-old\` with the settings of ` +
      "this run erases them."
  }
})

const erased = Effect.gen(function* () {
  const { countOld, eraseOld, from, to } = yield* makeFileMove
  const blobs = yield* countOld
  const work = {
    title: `Removing the bytes in ${from}`,
    total: blobs,
    unit: "blob",
    done: `Removed ${blobs} blobs.`
  } as const
  const removed = blobs === 0 ? yield* eraseOld(() => Effect.void) : yield* withProgress(work, eraseOld)
  return {
    value: { from, to, removed },
    text: `Removed ${removed} blobs from ${from}. The files are in ${to}.`
  }
})

/**
 * Works on the stores and the database of the settings. Old bytes are erased beside the service or without
 * one.
 */
export const moveCommand = command(
  "move",
  "Move all files to the store of PARLEY_FILES_MOVE_TO, while the service is stopped",
  {
    eraseOld: Flag.Boolean("erase-old").pipe(
      Flag.withDescription("Remove the bytes that a finished move has left in the old store"),
      Flag.withDefault(false)
    )
  },
  ({ eraseOld }) =>
    local(
      Effect.fnUntraced(function* (given) {
        const settings = { ...given, database: { ...given.database, statementSeconds: switchSeconds } }
        return yield* Effect.gen(function* () {
          yield* current
          // Only this command uses a server that it has started: processes registered there have ended.
          if ((yield* Database).isEmbedded) yield* leaveAllStores
          return eraseOld ? yield* erased : yield* moved
        }).pipe(
          Effect.provide(Database.layerBeside),
          Effect.provide(SecureRandom.layerWebCrypto),
          Effect.provideService(AppConfig, settings)
        )
      })
    )
).pipe(Command.withExamples([{ command: "parley file move" }, { command: "parley file move --erase-old" }]))
