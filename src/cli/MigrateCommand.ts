import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { Console, Effect, Layer, Logger } from "effect"
import { Command, Flag } from "effect/cli"
import { checkedSettings } from "../admin/CheckedSettings.ts"
import { copyEmbedded } from "../postgres/EmbeddedCopy.ts"
import { findEmbedded } from "../postgres/EmbeddedPostgres.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { Database, databasePlace } from "../sql/Database.ts"
import { migrate, type MigrationPlan, newestKnown, plannedMigrations } from "../sql/Migrations.ts"
import { CliFailure, command } from "./CommandLine.ts"

/** The migrations to run; `isNew` where no start has created the embedded database yet. */
interface Outcome {
  readonly plan: MigrationPlan
  readonly isNew: boolean
}

const announce = (name: string) => Console.error(`Running ${name}.`)

/**
 * An embedded server that no service runs is started meanwhile, on a copy of its data where nothing may
 * change.
 */
const outcomeOf = Effect.fnUntraced(function* (settings: Settings, dryRun: boolean) {
  const embedded = settings.database.url === null ? yield* findEmbedded(settings.dataDir) : null
  if (dryRun && embedded !== null && !embedded.hasData) {
    return { plan: { before: 0, after: newestKnown, pending: [] }, isNew: true } satisfies Outcome
  }
  const running = embedded?.running ?? null
  const isCopied = dryRun && embedded !== null && running === null
  const dataDir = isCopied ? yield* copyEmbedded(settings.dataDir) : settings.dataDir
  return yield* Effect.gen(function* () {
    const { address, isEmbedded } = yield* Database
    const plan = yield* plannedMigrations(address)
    const isDue = !dryRun && plan.pending.length > 0
    if (isDue && embedded !== null && !isEmbedded) {
      return yield* new CliFailure({
        message: `A service runs on ${databasePlace(settings)}. Stop it first; the start of this version migrates, too.`
      })
    }
    return { plan: isDue ? yield* migrate(address, announce) : plan, isNew: false } satisfies Outcome
  }).pipe(Effect.provide(Database.layerBeside), Effect.provideService(AppConfig, { ...settings, dataDir }))
}, Effect.scoped)

const textOf = (place: string, { isNew, plan }: Outcome, dryRun: boolean): string => {
  const { after, before, pending } = plan
  if (isNew) return `There is no database yet: the first start creates ${place}, with schema ${after}.`
  const count = pending.length === 1 ? "1 migration" : `${pending.length} migrations`
  if (pending.length === 0)
    return `Nothing to do: ${place} has schema ${after}, which is that of this version.`
  return dryRun
    ? [
        `${count} would bring ${place} from schema ${before} to ${after}:`,
        ...pending.map((name) => `  ${name}`),
        "Nothing was changed. Make a backup, stop the services of older versions, and run `parley migrate` or start this one."
      ].join("\n")
    : `Brought ${place} from schema ${before} to ${after} by ${count}.`
}

/**
 * Works on the database of the settings and asks no server, so that it can be done before the first one
 * starts.
 */
export const migrateCommand = command(
  "migrate",
  "Bring the tables of the database to this version, as a start does",
  {
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("Only list what would be done"),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(
    function* ({ dryRun }) {
      const settings = yield* checkedSettings
      const outcome = yield* outcomeOf(settings, dryRun)
      const place = databasePlace(settings)
      const { after, before, pending } = outcome.plan
      return {
        value: {
          database: place,
          exists: !outcome.isNew,
          dry_run: dryRun,
          before,
          after,
          migrations: pending
        },
        text: textOf(place, outcome, dryRun)
      }
    },
    Effect.provide(Layer.merge(NodeServices.layer, NodeCrypto.layer)),
    Effect.provideService(Logger.LogToStderr, true),
    Effect.mapError(({ message }: { readonly message: string }) => new CliFailure({ message }))
  )
).pipe(Command.withExamples([{ command: "parley migrate --dry-run" }]))
