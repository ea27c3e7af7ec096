import { Effect, Option } from "effect"
import { AppConfig, unknownText } from "../settings/AppConfig.ts"
import { diskProblem, freeSpace } from "../postgres/DataDisk.ts"
import { portProblem } from "../http/PortProbe.ts"
import { examineEmbedded } from "../postgres/EmbeddedPostgres.ts"
import { meetsRequirements } from "../sql/ServerRequirements.ts"
import { checkedSettings } from "./CheckedSettings.ts"
import type { Check } from "./ServerBody.ts"
import { accountChecks, check, settingsChecks } from "./SettingsChecks.ts"

/** Less free space than this is worth a warning. */
const spaceMebibytesLow = 2_048

const databaseProblem = Effect.gen(function* () {
  const { database, dataDir } = yield* AppConfig
  if (database.url === null) return yield* examineEmbedded(dataDir)
  return yield* meetsRequirements({ url: database.url }, database)
})

const database = databaseProblem.pipe(
  Effect.map(() => check("database", "ok", "Nothing keeps the service from using it.")),
  Effect.catch(({ message }) => Effect.succeed(check("database", "failed", message)))
)

export const diskCheck = Effect.gen(function* () {
  const { dataDir } = yield* AppConfig
  const problem = yield* diskProblem(dataDir)
  if (problem !== null) return check("disk", "failed", problem)
  return Option.match(yield* freeSpace(dataDir), {
    onNone: () => check("disk", "warning", "How much space is free in the data directory can't be told."),
    onSome: ({ directory, mebibytes }) =>
      check(
        "disk",
        mebibytes < spaceMebibytesLow ? "warning" : "ok",
        `${mebibytes} MiB are free in ${directory}.`
      )
  })
})

const ports = Effect.gen(function* () {
  const { http, observability } = yield* AppConfig
  const wanted = [
    { name: "PORT", host: http.host, port: http.port },
    { name: "PARLEY_METRICS_PORT", host: observability.metricsHost, port: observability.metricsPort }
  ]
  return yield* Effect.forEach(wanted, ({ host, name, port }) =>
    port === null
      ? Effect.succeed([])
      : Effect.map(portProblem(host, port), (problem) => [
          problem === null
            ? check("port", "ok", `${name} is free.`)
            : check("port", "failed", `${problem} ${name} names it.`)
        ])
  )
})

/** What can be found out about a server that does not run, from its settings and without changing anything. */
export const localChecks: Effect.Effect<ReadonlyArray<Check>> = checkedSettings.pipe(
  Effect.flatMap((settings) =>
    Effect.gen(function* () {
      const found = [yield* database, yield* diskCheck, ...(yield* ports).flat()]
      return [...found, ...accountChecks(), ...(yield* settingsChecks)]
    }).pipe(Effect.provideService(AppConfig, settings))
  ),
  Effect.catchTag("SettingsInvalid", ({ problems, unknown }) =>
    Effect.succeed([
      ...problems.map(({ allowed, details = [], name, seen }) =>
        check(
          "settings",
          "failed",
          `${name} is ${[seen, details.join("; ")].join(" ").trimEnd()}, but must be ${allowed}.`
        )
      ),
      ...(unknown.length === 0 ? [] : [check("settings", "warning", unknownText(unknown))])
    ])
  )
)
