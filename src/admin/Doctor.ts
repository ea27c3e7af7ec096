import { DateTime, Duration, Effect, FileSystem } from "effect"
import { AppConfig } from "../settings/AppConfig.ts"
import { databaseElsewhere } from "../postgres/DataDisk.ts"
import { Conversations } from "../conversations/Conversations.ts"
import { TextExtraction } from "../documents/TextExtraction.ts"
import { demoModel } from "../providers/DemoModel.ts"
import { Router } from "../routing/Router.ts"
import { failureReason } from "../domain/failureReason.ts"
import { Retrieval } from "../retrieval/Retrieval.ts"
import { reasonOf } from "../sql/Database.ts"
import { DatabaseReport } from "../sql/DatabaseReport.ts"
import { readOnlyText } from "../sql/ServerRequirements.ts"
import { SearchProbe } from "../tools/search/SearchProbe.ts"
import { AdminKey } from "./AdminKey.ts"
import { diskCheck } from "./LocalChecks.ts"
import { licenseCheck, plansCheck } from "./PolicyChecks.ts"
import type { Check } from "./ServerBody.ts"
import { accountChecks, check, searchCheck, settingsChecks } from "./SettingsChecks.ts"
import { storeCheck } from "./StoreCheck.ts"

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
