import { Accounts } from "../auth/Accounts.ts"
import { Conversations } from "../conversations/Conversations.ts"
import { TextExtraction } from "../documents/TextExtraction.ts"
import { failureReason } from "../domain/failureReason.ts"
import { type License, Plans } from "../domain/Plan.ts"
import { StoreHealth, type StoreReport } from "../files/StoreHealth.ts"
import { InstalledLicense, lapsedText, stateOf } from "../plans/License.ts"
import { databaseElsewhere } from "../postgres/DataDisk.ts"
import { demoModel } from "../providers/DemoModel.ts"
import { Retrieval } from "../retrieval/Retrieval.ts"
import { Router } from "../routing/Router.ts"
import { AppConfig } from "../settings/AppConfig.ts"
import { reasonOf, DatabaseReport } from "../sql/Database.ts"
import { readOnlyText } from "../sql/ServerRequirements.ts"
import { SearchProbe } from "../tools/WebSearch.ts"
import type { Check } from "./AdminBodies.ts"
import { AdminKey } from "./AdminKey.ts"
import { diskCheck, accountChecks, check, searchCheck, settingsChecks } from "./LocalChecks.ts"
import { DateTime, Duration, Effect, FileSystem } from "effect"

/** A licence that ends this soon is worth a warning. */
const daysLow = 30

/** Plans that a check names. */
const namesMax = 10

/** Whether organizations have plans that nobody defined. */
const plansCheck = Effect.gen(function* () {
  const { catalog } = yield* Plans
  const inUse = yield* (yield* Accounts).plansInUse
  if (catalog === null) {
    return check("plans", "ok", "No plan bounds anything; PARLEY_PLANS_FILE names a catalog of them.")
  }
  const undefinedPlans = inUse.filter(({ plan }) => !catalog.has(plan))
  if (undefinedPlans.length === 0) {
    return check("plans", "ok", `PARLEY_PLANS_FILE has every plan that organizations have.`)
  }
  const names = undefinedPlans
    .slice(0, namesMax)
    .map(({ organizations, plan }) => `${plan} (${organizations})`)
    .join(", ")
  const detail =
    `Organizations have plans that PARLEY_PLANS_FILE doesn't define, and may do nothing: ${names}. Define them there, or ` +
    "give those organizations others by `parley org set-plan`."
  return check("plans", "warning", detail)
}).pipe(
  Effect.catchTag("DatabaseUnavailable", () =>
    Effect.succeed(
      check("plans", "warning", "There is no database that tells which plans organizations have.")
    )
  )
)

const seats = ["users", "organizations"] as const

/** What there is more of than the licence has room for, as it may be from before the licence; null if nothing. */
const beyond = Effect.fnUntraced(function* (bounds: License["bounds"]) {
  const counts = yield* (yield* Accounts).counts
  const over = seats.flatMap((what) => {
    const max = bounds[what]
    return max === undefined || counts[what] <= max ? [] : [`${what}: ${counts[what]} of ${max}`]
  })
  return over.length === 0
    ? null
    : `There is more than the licence has room for (${over.join(", ")}). Disable users, or install another one in PARLEY_LICENSE.`
})

/** Whether the licence is in force, for how long, and whether what it counts is within it. */
const licenseCheck = Effect.gen(function* () {
  const { license } = yield* InstalledLicense
  if (license === null) return check("licence", "ok", "This is the free edition, which bounds nothing.")
  const now = yield* DateTime.now
  const state = stateOf(license, DateTime.toEpochMillis(now))
  if (state !== "in_force") return check("licence", "failed", lapsedText(license, state))
  const over = yield* beyond(license.bounds)
  if (over !== null) return check("licence", "warning", over)
  if (license.endsAtMillis === null) return check("licence", "ok", "It is in force, and has no end.")
  const end = DateTime.makeUnsafe(license.endsAtMillis)
  const isNear = DateTime.isLessThan(end, DateTime.add(now, { days: daysLow }))
  return check("licence", isNear ? "warning" : "ok", `It is in force until ${DateTime.formatIso(end)}.`)
}).pipe(
  Effect.catchTag("DatabaseUnavailable", () =>
    Effect.succeed(check("licence", "warning", "There is no database that tells what the licence counts."))
  )
)

/** For what takes longer than a look, such as the trash of a bucket. */
const reportSeconds = 15
/** Ids that a line names. */
const idsMax = 3

const storeLine = ({ database, databaseId, looked, missing, place, trashed }: StoreReport) => {
  const bound = `${place} works and is bound to ${database} (id ${databaseId}). Blobs in the trash: ${trashed}.`
  if (missing.length === 0) return check("files", "ok", bound)
  const ids = missing.slice(0, idsMax).join(", ")
  return check(
    "files",
    "warning",
    `${bound} ${missing.length} of the newest ${looked} files have no bytes there: ${ids}${missing.length > idsMax ? ", …" : ""}. ` +
      "Restore the store from the backup that belongs to the database's."
  )
}

/** Whether files can be stored and read. Bytes are stored, read back and removed for it. */
export const storeCheck = Effect.gen(function* () {
  const { check: works, place, report } = yield* StoreHealth
  return yield* works.pipe(
    Effect.andThen(report),
    Effect.timeout(`${reportSeconds} seconds`),
    Effect.map(storeLine),
    Effect.catch((error) =>
      Effect.succeed(check("files", "failed", `${place} can't be used: ${failureReason(error)}`))
    )
  )
})

/** Clocks that differ by more are worth a warning: keys expire and days begin by them. */
const clockSecondsMax = 5

const database = Effect.gen(function* () {
  const { facts } = yield* DatabaseReport
  const { database, dataDir } = yield* AppConfig
  const { readOnly, schemaVersion, version } = yield* facts
  if (readOnly) return check("database", "failed", readOnlyText)
  const elsewhere = database.url === null ? yield* databaseElsewhere(dataDir) : null
  const embedded = elsewhere === null ? "the embedded one" : `the embedded one in ${elsewhere}`
  const which = database.url === null ? embedded : "the one of DATABASE_URL"
  return check("database", "ok", `PostgreSQL ${version}, ${which}, with tables of version ${schemaVersion}.`)
}).pipe(
  Effect.catchTag("DatabaseUnavailable", (error) =>
    Effect.succeed(check("database", "failed", `The database does not answer: ${reasonOf(error)}`))
  )
)

const clock = Effect.gen(function* () {
  const { facts } = yield* DatabaseReport
  const before = yield* DateTime.now
  const { now } = yield* facts
  const after = yield* DateTime.now
  // The database looked at its clock somewhere between the two.
  const ahead = Duration.toSeconds(DateTime.distance(after, now))
  const behind = Duration.toSeconds(DateTime.distance(now, before))
  const seconds = Math.max(0, ahead, behind)
  const difference = `This machine's clock and the database's differ by ${seconds.toFixed(1)} seconds.`
  return seconds > clockSecondsMax
    ? check("clock", "warning", `${difference} Keep both right, for instance by NTP.`)
    : check("clock", "ok", difference)
}).pipe(
  Effect.catchTag("DatabaseUnavailable", () =>
    Effect.succeed(check("clock", "warning", "There is no database to compare this machine's clock with."))
  )
)

/** The models that are known, and what each of their servers says when it is asked. */
const models = Effect.gen(function* () {
  const router = yield* Router
  const known = yield* router.models
  const detail = yield* router.describe
  const isDemo = known.every(({ id }) => id === demoModel.id)
  const probes = yield* router.probe
  const isDoubtful = isDemo || probes.some(({ isWell }) => !isWell)
  return [
    check("models", known.length === 0 ? "failed" : isDoubtful ? "warning" : "ok", detail),
    ...probes.map(({ detail, isWell, provider }) =>
      check(`provider ${provider}`, isWell ? "ok" : "failed", detail)
    )
  ]
})

const adminKeyFile = Effect.gen(function* () {
  const { file } = yield* AdminKey
  if (file === null) return check("admin key", "ok", "The settings give it.")
  const fs = yield* FileSystem.FileSystem
  const { mode } = yield* fs.stat(file)
  return (mode & 0o077) === 0
    ? check("admin key", "ok", `It is in ${file}, for its owner alone.`)
    : check("admin key", "warning", `Others may read ${file}: run \`chmod 600 ${file}\`.`)
}).pipe(
  Effect.catchTag("PlatformError", () =>
    Effect.succeed(
      check("admin key", "warning", "Its file is gone. The key still works; the next start makes a new one.")
    )
  )
)

/** One embedding, where a server of embeddings is set. */
const embeddings = Effect.gen(function* () {
  const { probe } = yield* Retrieval
  if (probe === null) return []
  const { detail, isWell } = yield* probe
  return [check("embeddings", isWell ? "ok" : "failed", detail)]
})

/** One search, where the settings name a provider that models may ask. */
const webSearch = Effect.gen(function* () {
  const settings = searchCheck((yield* AppConfig).tools)
  const { search } = yield* SearchProbe
  if (search === null || settings.status !== "ok") return settings
  return yield* search.pipe(
    Effect.map((results) =>
      results > 0
        ? check("web search", "ok", `${settings.detail} It answers.`)
        : check(
            "web search",
            "warning",
            `${settings.detail} It answers, but found nothing for a common word.`
          )
    ),
    Effect.catchTag("ToolFailed", ({ message }) =>
      Effect.succeed(check("web search", "failed", `${settings.detail} ${message}`))
    )
  )
})

const conversations = Effect.gen(function* () {
  const { idle, kept } = yield* (yield* Conversations).counts
  const { retentionDays } = (yield* AppConfig).conversations
  const detail =
    retentionDays === 0
      ? `${kept} are stored, and none is deleted by its age (PARLEY_CONVERSATION_DAYS is 0).`
      : `${kept} are stored. ${idle} of them were last used more than ${retentionDays} days ago ` +
        "(PARLEY_CONVERSATION_DAYS); the next hourly sweep deletes those."
  return check("conversations", "ok", detail)
}).pipe(
  Effect.catchTag("DatabaseUnavailable", () =>
    Effect.succeed(check("conversations", "warning", "How many are stored can't be told."))
  )
)

/** Whether the processes that read documents are kept from everything else. */
const documentReaders = Effect.gen(function* () {
  const missing = yield* (yield* TextExtraction).unconfined
  return missing.length === 0
    ? check("document readers", "ok", "They run without privileges and without a network.")
    : check("document readers", "warning", missing.join(" "))
})

/** What goes wrong in one check is its outcome, and keeps no other from being reported. */
const isolated = <A extends Check | ReadonlyArray<Check>, R>(
  name: string,
  self: Effect.Effect<A, never, R>
) =>
  Effect.catchDefect(self, (defect) => {
    const reason = failureReason(defect)
    return Effect.as(
      Effect.logError(`The check "${name}" failed: ${reason}`),
      check(name, "failed", `This check could not be made: ${reason}`)
    )
  })

/** Everything that can be found out about this server without changing anything. */
export const examine = Effect.gen(function* () {
  const all = yield* Effect.all(
    [
      isolated("database", database),
      isolated("clock", clock),
      isolated("conversations", conversations),
      isolated("models", models),
      isolated("embeddings", embeddings),
      isolated("disk", diskCheck),
      isolated("document readers", documentReaders),
      isolated("web search", webSearch),
      isolated("files", storeCheck),
      isolated("admin key", adminKeyFile),
      isolated("plans", plansCheck),
      isolated("licence", licenseCheck),
      isolated("account", Effect.sync(accountChecks)),
      isolated("settings", settingsChecks)
    ],
    { concurrency: "unbounded" }
  )
  return all.flat()
})
