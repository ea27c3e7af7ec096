import { Effect } from "effect"
import { isLoopback } from "./OidcCodec.ts"
import { type Setting, shown, variable } from "./Setting.ts"
import type { SettingProblem } from "./SettingProblem.ts"
import { settingsTable } from "./SettingsTable.ts"

type Row = Setting<unknown>

/** Settings as far as they have been read. */
export interface Given {
  /** The value of a row, null where it is not set; undefined where there is a problem with it. */
  readonly valueOf: <A>(setting: Setting<A>) => A | undefined
  /** The variable that a row was taken from. */
  readonly nameOf: (setting: Row) => string
  /**
   * A problem with a row that is allowed by itself; `allowed` and `example` are those of the row unless
   * given.
   */
  readonly problemOf: (
    setting: Row,
    seen: string,
    words?: { readonly allowed?: string; readonly example?: string }
  ) => SettingProblem
}

/** Finds what is wrong with settings beyond a single one. */
export type SettingsCheck = (given: Given) => Effect.Effect<ReadonlyArray<SettingProblem>>

/** Variables that name a database for other programs. */
const databaseNames = [
  ["PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD", "PGPASSFILE", "PGSERVICE"],
  ["POSTGRES_URL", "PARLEY_DATABASE_URL"]
].flat()

/** A fallback to the embedded database would hide that another one was meant. */
const databaseProblems: SettingsCheck = Effect.fnUntraced(function* ({ problemOf, valueOf }) {
  const { url } = settingsTable.database
  const isSet = (name: string) => Effect.map(variable(name), (text) => text !== undefined)
  const names = yield* Effect.filter(databaseNames, isSet)
  if (names.length === 0 || valueOf(url) !== null) return []
  const seen = `nothing, but ${names.join(", ")}, which this service doesn't read`
  return [problemOf(url, seen, { allowed: `${url.allowed}; or neither, for the embedded database` })]
})

/** Settings that are missing although another one needs them: without them its service can't be reached. */
const missingProblems: SettingsCheck = ({ nameOf, problemOf, valueOf }) => {
  const { files, oidc, retrieval, s3, tools } = settingsTable
  const isSet = (row: Row) => (valueOf(row) ?? null) !== null
  const missing = (by: string, rows: ReadonlyArray<Row>) =>
    rows.filter((row) => valueOf(row) === null).map((row) => problemOf(row, `nothing, but ${by}`))
  const s3Needs = [s3.endpoint, s3.bucket, s3.accessKeyId, s3.secretAccessKey]
  const s3Use = [files.store, files.moveTo].find((row) => valueOf<string | null>(row) === "s3")
  const oidcNeeds: ReadonlyArray<Row> = [oidc.issuer, oidc.clientId, oidc.clientSecret]
  const oidcGiven = oidcNeeds.find(isSet)
  const provider = valueOf(tools.searchProvider)
  const searchNeeds = provider === "searxng" ? tools.searchUrl : tools.searchKey
  return Effect.succeed([
    ...(s3Use === undefined ? [] : missing(`${s3Use.name} is s3`, s3Needs)),
    ...(isSet(tools.searchProvider)
      ? missing(`${tools.searchProvider.name} is ${provider}`, [searchNeeds])
      : []),
    ...(isSet(retrieval.embeddingsUrl)
      ? missing(`${retrieval.embeddingsUrl.name} is set`, [retrieval.embeddingsModel])
      : []),
    ...(oidcGiven === undefined ? [] : missing(`${nameOf(oidcGiven)} is set`, oidcNeeds))
  ])
}

/**
 * A provider sends browsers back to an address that was registered with it, and this service must know it.
 */
const publicUrlProblems: SettingsCheck = ({ problemOf, valueOf }) => {
  const { console, http, oidc } = settingsTable
  const [host, issuer, publicUrl] = [valueOf(http.host), valueOf(oidc.issuer), valueOf(console.publicUrl)]
  if (typeof issuer !== "string" || publicUrl !== null || host === undefined || isLoopback(host)) {
    return Effect.succeed([])
  }
  const seen = `nothing, but ${oidc.issuer.name} is set and ${http.host.name} is ${shown(host)}`
  return Effect.succeed([problemOf(console.publicUrl, seen)])
}

/** All addresses of the machine. */
const wildcards: ReadonlyArray<unknown> = ["0.0.0.0", "::"]

const isSameAddress = (one: unknown, other: unknown): boolean =>
  one === other || wildcards.includes(one) || wildcards.includes(other)

/** Ports that an earlier one of these settings has at the same address. */
const portProblems = ({ problemOf, valueOf }: Given): ReadonlyArray<SettingProblem> => {
  const { http, observability } = settingsTable
  const ports: ReadonlyArray<readonly [Setting<number | null>, Setting<string>]> = [
    [http.port, http.host],
    [http.adminPort, http.adminHost],
    [observability.metricsPort, observability.metricsHost]
  ]
  return ports.flatMap(([port, host], index) => {
    const number = valueOf(port) ?? null
    const taken = ports
      .slice(0, index)
      .find(([other, at]) => valueOf(other) === number && isSameAddress(valueOf(at), valueOf(host)))
    if (number === null || taken === undefined) return []
    const allowed = `another port than ${taken[0].name}, which is ${number} at the same address`
    return [problemOf(port, shown(`${number}`), { allowed })]
  })
}

/** Numbers that are allowed by themselves, but not together with another one. */
const conflictProblems: SettingsCheck = (given) => {
  const { problemOf, valueOf } = given
  const { files, http } = settingsTable
  const store = valueOf(files.store)
  const [headers, request] = [valueOf(http.headersSeconds), valueOf(http.requestSeconds)]
  const problems = [...portProblems(given)]
  if (store !== undefined && valueOf(files.moveTo) === store) {
    const allowed = `another store than ${files.store.name}; or neither, once the files were moved`
    problems.push(problemOf(files.moveTo, shown(store), { allowed }))
  }
  // Node refuses to start a server whose headers may take longer than the whole request.
  if (headers !== undefined && request !== undefined && headers > request) {
    const allowed = `at most ${http.requestSeconds.name}, which is ${request}`
    problems.push(problemOf(http.headersSeconds, shown(`${headers}`), { allowed, example: `${request}` }))
  }
  return Effect.succeed(problems)
}

/** The checks that need no other room. */
export const ownChecks: ReadonlyArray<SettingsCheck> = [
  missingProblems,
  publicUrlProblems,
  conflictProblems,
  databaseProblems
]
