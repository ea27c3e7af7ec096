import { DateTime, Duration, Effect } from "effect"
import type { DatabaseUnavailable } from "../domain/Errors.ts"
import { readCatalogFile } from "../routing/CatalogFile.ts"
import { AppConfig, type Settings } from "../settings/AppConfig.ts"
import { Database } from "../sql/Database.ts"
import { clockDifference } from "./HttpProbe.ts"
import { named, ok, type Outcome, warning } from "./Outcome.ts"
import { isLoopback } from "./PublicAddress.ts"

/** A larger difference of clocks is worth a warning: keys expire and days begin by them. */
const clockSecondsMax = 5
/** Web servers whose clocks are compared with this machine's. */
const serversMax = 3

const remedy = "Keep the clock of every machine right, for instance by NTP (`timedatectl set-ntp true`)."

export const clockOutcome = (seconds: number, between: string): Outcome => {
  const difference = `This machine's clock and ${between} differ by ${seconds.toFixed(1)} seconds.`
  return seconds > clockSecondsMax ? warning(`${difference} ${remedy}`) : ok(difference)
}

const databaseClock = Effect.gen(function* () {
  const { facts } = yield* Database
  const before = yield* DateTime.now
  const { now } = yield* facts
  const after = yield* DateTime.now
  // The database read its clock between the two.
  const ahead = Duration.toSeconds(DateTime.distance(after, now))
  const behind = Duration.toSeconds(DateTime.distance(now, before))
  return clockOutcome(Math.max(0, ahead, behind), "the database's")
})

/** Other machines' web servers that the settings name. */
const outsideServers = Effect.fnUntraced(function* ({ files, models, oidc, retrieval }: Settings) {
  const catalog = models.file === null ? null : yield* Effect.option(readCatalogFile(models.file))
  const addresses = [
    oidc.issuer,
    models.openaiBaseUrl ?? (models.openaiApiKey === null ? null : "https://api.openai.com"),
    ...(catalog?._tag === "Some" ? catalog.value.servers.map(({ baseUrl }) => baseUrl.href) : []),
    files.s3?.endpoint ?? null,
    retrieval.embeddingsUrl
  ].flatMap((address) => (address === null ? [] : [new URL(address)]))
  return originsElsewhere(addresses)
})

/** A package that knows its own address has none of the web. */
export const originsElsewhere = (addresses: ReadonlyArray<URL>): ReadonlyArray<string> => {
  const elsewhere = addresses.filter(
    ({ hostname, protocol }) => /^https?:$/.test(protocol) && !isLoopback(hostname)
  )
  return [...new Set(elsewhere.map(({ origin }) => origin))].slice(0, serversMax)
}

/** Null where no other machine tells its time. One of several may be wrong: the one that is nearest counts. */
const outsideClock = Effect.gen(function* () {
  const servers = yield* outsideServers(yield* AppConfig)
  const found = yield* Effect.forEach(
    servers,
    (server) => Effect.map(clockDifference(server), (seconds) => ({ seconds, host: new URL(server).host })),
    { concurrency: serversMax }
  )
  const known = found.flatMap(({ host, seconds }) => (seconds === null ? [] : [{ host, seconds }]))
  if (known.length === 0) return null
  const seconds = Math.min(...known.map((one) => one.seconds))
  return clockOutcome(seconds, `that of ${known.map(({ host }) => host).join(", ")}`)
})

/** The clock of this machine, without a database. */
export const outsideClockChecks = Effect.map(outsideClock, (outcome) =>
  named("clock", outcome === null ? [] : [outcome])
)

/** The clock of this machine, compared with the database's and those of other machines. */
export const clockChecks: Effect.Effect<
  ReturnType<typeof named>,
  DatabaseUnavailable,
  Database | AppConfig
> = Effect.gen(function* () {
  const [database, outside] = yield* Effect.all([databaseClock, outsideClockChecks], { concurrency: 2 })
  return [...named("clock", [database]), ...outside]
})
