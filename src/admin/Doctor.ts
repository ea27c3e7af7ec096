import { DateTime, Effect, FileSystem } from "effect"
import { Accounts } from "../auth/Accounts.ts"
import { Backups } from "../backup/Backups.ts"
import type { LastBackup } from "../backup/LastBackup.ts"
import { Conversations } from "../conversations/Conversations.ts"
import { type License, Plans } from "../domain/Plan.ts"
import { StoreHealth, type StoreReport } from "../files/StoreHealth.ts"
import { InstalledLicense, notInForceText, stateOf } from "../plans/License.ts"
import { databaseElsewhere, diskProblem } from "../postgres/DataDisk.ts"
import { Retrieval } from "../retrieval/Retrieval.ts"
import { failureReason } from "../runtime/failureReason.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { Database, reasonOf } from "../sql/Database.ts"
import { newestKnown } from "../sql/Migrations.ts"
import { readOnlyText } from "../sql/ServerRequirements.ts"
import { AdminKey } from "./AdminKey.ts"
import { diskCheck, settingsChecks } from "./LocalChecks.ts"
import { ok, type Outcome, warning, failed, isolated } from "./Outcome.ts"
import {
  clockChecks,
  identityCheck,
  modelChecks,
  readersCheck,
  schemasCheck,
  webSearchCheck
} from "./OutsideChecks.ts"
import { publicAddressChecks } from "./PublicAddress.ts"
import { Reload } from "./Reload.ts"

/** Age in days from which the newest backup is worth a warning, if no schedule is set. */
const backupDaysMax = 7
/** Number of missed backups of a schedule that is worth a warning. */
const backupsMissedMax = 2

const hoursBetween = (from: DateTime.Utc, to: DateTime.Utc): number =>
  Math.max(0, (to.epochMilliseconds - from.epochMilliseconds) / 3_600_000)

/** Judges the newest backup by its age and the schedule. */
export const backupOutcome = (
  last: LastBackup | null,
  { directory, everyHours }: { readonly directory: string; readonly everyHours: number },
  failure: string | null,
  now: DateTime.Utc
): Outcome => {
  const schedule =
    everyHours === 0
      ? "Make one by `parley backup FILE`, or set PARLEY_BACKUP_EVERY_HOURS."
      : `One is due every ${everyHours} hours in ${directory}.`
  if (failure !== null) {
    return warning(
      `The latest scheduled backup failed: ${failure} Correct that; the service tries again by itself, and \`parley backup FILE\` makes one at once.`
    )
  }
  if (last === null) return (everyHours === 0 ? warning : ok)(`There is no backup yet. ${schedule}`)
  const hours = hoursBetween(last.at, now)
  const kind = last.encrypted ? "encrypted" : "not encrypted"
  const found = `The newest backup is of ${DateTime.formatIso(last.at)}, ${kind}, in ${last.path}.`
  const hoursMax = everyHours === 0 ? backupDaysMax * 24 : everyHours * backupsMissedMax
  return hours > hoursMax
    ? warning(`${found} That is ${Math.floor(hours)} hours ago. ${schedule}`)
    : ok(found)
}

/** Checks that there is a good backup that is not too old. */
const backupCheck = Effect.gen(function* () {
  const { failure, last, ...schedule } = yield* Backups
  return backupOutcome(yield* last, schedule, yield* failure, yield* DateTime.now)
})

/** A license that ends this soon is worth a warning. */
const licenseDaysLow = 30
/** Undefined plans that the check names. */
const namesMax = 10
/** Missing files that the check names. */
const idsMax = 3
/** Limit of a check of the file store. */
const storeSeconds = 15

export const databaseCheck = Effect.gen(function* () {
  const { facts } = yield* Database
  const { database, dataDir } = yield* AppConfig
  const { readOnly, schemaVersion, version } = yield* facts
  if (readOnly) return failed(readOnlyText)
  const elsewhere = database.url === null ? yield* databaseElsewhere(dataDir) : null
  const embedded = elsewhere === null ? "the embedded one" : `the embedded one in ${elsewhere}`
  const which = database.url === null ? embedded : "the one of DATABASE_URL"
  const found = `PostgreSQL ${version}, ${which}, with tables of version ${schemaVersion}.`
  return schemaVersion > newestKnown
    ? warning(
        `${found} A newer version of the service has migrated it; this process knows ${newestKnown}. Update this process.`
      )
    : ok(found)
}).pipe(
  Effect.catchTag("DatabaseUnavailable", (error) =>
    Effect.succeed(
      failed(
        `The database does not answer: ${reasonOf(error)}. Start it, or correct DATABASE_URL; the service goes on by itself.`
      )
    )
  )
)

const conversationsCheck = Effect.gen(function* () {
  const { hidden, idle, kept } = yield* (yield* Conversations).counts
  const { retentionDays } = (yield* AppConfig).conversations
  return ok(
    retentionDays === 0
      ? `${kept} are stored, and none is deleted by its age (PARLEY_CONVERSATION_DAYS is 0).`
      : `${kept} are stored, of which ${hidden} are hidden: requests without a conversation created them. ${idle} of these were last ` +
          `used more than ${retentionDays} days ago (PARLEY_CONVERSATION_DAYS); the next hourly sweep deletes those.`
  )
})

/** One embedding, where an embeddings server is set. */
const embeddingChecks = Effect.gen(function* () {
  const { probe } = yield* Retrieval
  if (probe === null) return []
  const { detail, isWell } = yield* probe
  return [{ name: "embeddings", ...(isWell ? ok : failed)(detail) }]
})

/** A name at the beginning of a sentence. */
const begun = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1)

const storeOutcome = ({ database, databaseId, looked, missing, place, trashed }: StoreReport): Outcome => {
  const bound = `${begun(place)} works and is bound to ${database} (id ${databaseId}). Blobs in the trash: ${trashed}.`
  if (missing.length === 0) return ok(bound)
  const ids = `${missing.slice(0, idsMax).join(", ")}${missing.length > idsMax ? ", …" : ""}`
  return warning(
    `${bound} ${missing.length} of the newest ${looked} files have no bytes there: ${ids}. ` +
      "Restore the store from the backup that belongs to the database's."
  )
}

/** Checks that files can be stored and read: bytes are stored, read back and removed. */
export const storeCheck = Effect.gen(function* () {
  const { check: works, place, report } = yield* StoreHealth
  return yield* works.pipe(
    Effect.andThen(report),
    Effect.timeout(`${storeSeconds} seconds`),
    Effect.map(storeOutcome),
    Effect.catch((error) =>
      Effect.succeed(
        failed(
          `${begun(place)} can't be used: ${failureReason(error)}. Until that is corrected, no file can be uploaded or read; see docs/storage.md.`
        )
      )
    )
  )
})

const adminKeyCheck = Effect.gen(function* () {
  const { file } = yield* AdminKey
  if (file === null) return ok("The settings give it.")
  const fs = yield* FileSystem.FileSystem
  const { mode } = yield* fs.stat(file)
  return (mode & 0o077) === 0
    ? ok(`It is in ${file}, readable by its owner only.`)
    : warning(`Others may read ${file}: run \`chmod 600 ${file}\`.`)
}).pipe(
  Effect.catchTag("PlatformError", () =>
    Effect.succeed(warning("Its file is gone. The key still works; the next start creates a new one."))
  )
)

/** Reports why files that were changed while the service runs can't be used. */
const reloadCheck = Effect.gen(function* () {
  const problem = yield* (yield* Reload).problem
  if (problem === null) return []
  const detail = `The service goes on with what it read before. Correct the file, and run \`parley config reload\`. ${problem}`
  return [{ name: "reload", ...failed(detail) }]
})

/** Checks that the catalog defines the plans of all organizations. */
const plansCheck = Effect.gen(function* () {
  const { catalog } = yield* (yield* Plans).current
  const inUse = yield* (yield* Accounts).plansInUse
  if (catalog === null)
    return ok("Plans bound nothing. To set bounds, name a catalog of plans in PARLEY_PLANS_FILE.")
  const undefinedPlans = inUse.filter(({ plan }) => !catalog.has(plan))
  if (undefinedPlans.length === 0) return ok("PARLEY_PLANS_FILE has every plan that organizations have.")
  const names = undefinedPlans
    .slice(0, namesMax)
    .map(({ organizations, plan }) => `${plan} (${organizations})`)
    .join(", ")
  return warning(
    `Organizations have plans that PARLEY_PLANS_FILE doesn't define, and may do nothing: ${names}. Define them there, or ` +
      "give those organizations others by `parley org set-plan`."
  )
})

/** Users and organizations beyond the license, which may be older than it is. */
const excessOf = (
  bounds: License["bounds"],
  counts: { readonly users: number; readonly organizations: number }
): ReadonlyArray<string> =>
  (["users", "organizations"] as const).flatMap((name) => {
    const max = bounds[name]
    return max === undefined || counts[name] <= max ? [] : [`${name}: ${counts[name]} of ${max}`]
  })

const licenseCheck = Effect.gen(function* () {
  const { license } = yield* InstalledLicense
  if (license === null) return ok("This is the free edition, which bounds nothing.")
  const now = yield* DateTime.now
  const state = stateOf(license, DateTime.toEpochMillis(now))
  if (state !== "in_force") return failed(notInForceText(license, state))
  const over = excessOf(license.bounds, yield* (yield* Accounts).counts)
  if (over.length > 0) {
    return warning(
      `There is more than the license has room for (${over.join(", ")}). Disable users, or install another one in PARLEY_LICENSE.`
    )
  }
  if (license.endsAtMillis === null) return ok("It is in force, and has no end.")
  const end = DateTime.makeUnsafe(license.endsAtMillis)
  const isNear = DateTime.isLessThan(end, DateTime.add(now, { days: licenseDaysLow }))
  return (isNear ? warning : ok)(`It is in force until ${DateTime.formatIso(end)}.`)
})

/** All checks of a running server. None of them changes anything. */
export const examine = Effect.gen(function* () {
  const checks = yield* Effect.all(
    [
      isolated("database", databaseCheck),
      isolated("clock", clockChecks),
      isolated("conversations", conversationsCheck),
      isolated("models", modelChecks),
      isolated("embeddings", embeddingChecks),
      isolated("disk", diskCheck(diskProblem)),
      isolated("document readers", readersCheck),
      isolated("schema checkers", schemasCheck),
      isolated("web search", webSearchCheck),
      isolated("files", storeCheck),
      isolated("backup", backupCheck),
      isolated("admin key", adminKeyCheck),
      isolated("single sign-on", identityCheck),
      isolated("plans", plansCheck),
      isolated("reload", reloadCheck),
      isolated("license", licenseCheck),
      isolated("public address", publicAddressChecks),
      isolated("settings", settingsChecks)
    ],
    { concurrency: "unbounded" }
  )
  return checks.flat()
})
