import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { Console, Effect, Layer, Logger, Option, Redacted, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { checkedSettings } from "../admin/CheckedSettings.ts"
import { findEmbedded, startEmbeddedPostgres } from "../postgres/EmbeddedPostgres.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { allowedOf, postgresUrl } from "../settings/TextCodec.ts"
import { openCopySession } from "../sql/CopySession.ts"
import { moveDatabase } from "../sql/DatabaseMove.ts"
import { pauseState, resumeWrites, tryPauseLock } from "../sql/WritePause.ts"
import * as Parameter from "./CliParameters.ts"
import { CliFailure, command, group } from "./CommandLine.ts"
import { Reads } from "./HelpText.ts"

/** The embedded server: that of a running service, or one that runs for as long as the scope is open. */
const embeddedAddress = Effect.fnUntraced(function* ({ dataDir, database }: Settings) {
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
  const { connectionsMax } = database
  return running ?? (yield* startEmbeddedPostgres({ dataDir, connectionsMax, durable: true }))
})

const withSettings = <A, E extends { readonly message: string }, R>(
  use: (settings: Settings) => Effect.Effect<A, E, R>
) =>
  Effect.flatMap(checkedSettings, (settings) =>
    Effect.provideService(use(settings), AppConfig, settings)
  ).pipe(
    Effect.scoped,
    Effect.provide(Layer.merge(NodeServices.layer, NodeCrypto.layer)),
    Effect.provideService(Logger.LogToStderr, true),
    Effect.mapError(({ message }) => new CliFailure({ message }))
  )

const url = Argument.String("url").pipe(
  Argument.filter(
    (text) => Option.isSome(Schema.decodeOption(postgresUrl)(text)),
    Parameter.must(allowedOf(postgresUrl))
  ),
  Argument.withDescription("The empty database of your own PostgreSQL, as DATABASE_URL names it")
)

const move = command(
  "move",
  "Move the embedded database to your own PostgreSQL; the service only reads meanwhile",
  { url },
  ({ url }) =>
    withSettings(
      Effect.fnUntraced(function* (settings) {
        const source = yield* embeddedAddress(settings)
        const { place, tables } = yield* moveDatabase(
          source,
          Redacted.make(url),
          settings.database,
          ({ name, rows }) => Console.error(`Copied ${name} (${rows} rows).`)
        )
        const rows = tables.reduce((sum, table) => sum + table.rows, 0)
        return {
          value: { moved_to: place, rows, tables },
          text:
            `Moved ${rows} rows of ${tables.length} tables to ${place}, and compared all of them. Now set DATABASE_URL to it and restart the service. ` +
            "Until then it only reads. The embedded database stays as it is; `parley database resume` goes back to it."
        }
      })
    )
).pipe(
  Command.annotate(Reads, "settings"),
  Command.withExamples([{ command: "parley database move postgres://parley:PASSWORD@db.example.com/parley" }])
)

const resume = command(
  "resume",
  "Use the embedded database again that was moved away, without what was written elsewhere since",
  {},
  () =>
    withSettings(
      Effect.fnUntraced(function* (settings) {
        const session = yield* openCopySession(yield* embeddedAddress(settings))
        const { isPaused, movedTo } = yield* pauseState(session)
        if (!isPaused && movedTo === null) {
          return { value: { resumed: false }, text: "The embedded database was not moved." }
        }
        if (!(yield* tryPauseLock(session))) {
          return yield* new CliFailure({ message: "A command is moving this database just now." })
        }
        yield* resumeWrites(session)
        return { value: { resumed: true }, text: "The embedded database takes writes again." }
      })
    )
).pipe(Command.annotate(Reads, "settings"), Command.withExamples([{ command: "parley database resume" }]))

export const databaseCommand = group("database", "The database", [move, resume])
