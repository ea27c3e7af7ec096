import { Console, Effect, Option, Redacted, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { findEmbedded, forgetMove, noteMove, startEmbeddedPostgres } from "../postgres/EmbeddedPostgres.ts"
import type { Settings } from "../settings/AppConfig.ts"
import { allowedOf, postgresUrl } from "../settings/TextCodec.ts"
import { moveDatabase } from "../sql/DatabaseMove.ts"
import { local } from "./BackupCommands.ts"
import * as Parameter from "./CliParameters.ts"
import { CliFailure, command, group } from "./CommandLine.ts"

/** Fails unless there is an embedded database that no process uses. */
const requireStopped = Effect.fnUntraced(function* ({ dataDir, database }: Settings) {
  if (database.url !== null) {
    return yield* new CliFailure({
      message:
        "DATABASE_URL is set, so the service doesn't use the embedded database. Unset it for this command; between two servers of your own, use the tools of PostgreSQL."
    })
  }
  const { hasData, running } = yield* findEmbedded(dataDir)
  if (!hasData) {
    return yield* new CliFailure({
      message: `There is no embedded database in ${dataDir}; PARLEY_DATA_DIR names the directory.`
    })
  }
  if (running !== null) {
    return yield* new CliFailure({
      message: `A service or another command runs on the embedded database in ${dataDir}. Stop it, and run this command again.`
    })
  }
})

const url = Argument.String("url").pipe(
  Argument.filter(
    (text) => Option.isSome(Schema.decodeOption(postgresUrl)(text)),
    Parameter.must(allowedOf(postgresUrl))
  ),
  Argument.withDescription("The empty database of your own PostgreSQL, as DATABASE_URL names it")
)

const move = command(
  "move",
  "Move the embedded database to your own PostgreSQL, while the service is stopped",
  { url },
  ({ url }) =>
    local(
      Effect.fnUntraced(function* (settings) {
        yield* requireStopped(settings)
        const { dataDir, database } = settings
        const { connectionsMax } = database
        const source = yield* startEmbeddedPostgres({ dataDir, connectionsMax, durable: true })
        const { place, tables } = yield* moveDatabase(
          source,
          Redacted.make(url),
          database,
          ({ name, rows }) => Console.error(`Copied ${name} (${rows} rows).`)
        )
        yield* noteMove(dataDir, place)
        const rows = tables.reduce((sum, table) => sum + table.rows, 0)
        return {
          value: { moved_to: place, rows, tables },
          text:
            `Moved ${rows} rows of ${tables.length} tables to ${place}, and compared all of them. Now set DATABASE_URL to it and start the service. ` +
            "The embedded database stays as it is, and no service starts on it; `parley database resume` goes back to it."
        }
      })
    )
).pipe(
  Command.withExamples([{ command: "parley database move postgres://parley:PASSWORD@db.example.com/parley" }])
)

const resume = command(
  "resume",
  "Use the embedded database again that was moved away, without what was written elsewhere since",
  {},
  () =>
    local(
      Effect.fnUntraced(function* (settings) {
        yield* requireStopped(settings)
        const resumed = yield* forgetMove(settings.dataDir)
        return {
          value: { resumed },
          text: resumed
            ? "The embedded database can be used again: unset DATABASE_URL and start the service."
            : "The embedded database was not moved."
        }
      })
    )
).pipe(Command.withExamples([{ command: "parley database resume" }]))

export const databaseCommand = group("database", "The database", [move, resume])
