import { ConfigProvider, Context, Effect, Option, Redacted, Schema, Struct } from "effect"
import { isLoopback } from "./OidcCodec.ts"
import { type FoundSecret, secretVariable, type Setting, shown, variable } from "./Setting.ts"
import { settingsTable } from "./SettingsTable.ts"

type Row = Setting<unknown>

const rows: ReadonlyArray<Row> = Object.values(settingsTable).flatMap((group) => Object.values<Row>(group))

const SettingProblem = Schema.Struct({
  name: Schema.String,
  /** What was found, without anything secret. */
  seen: Schema.String,
  /** The places inside of it that are wrong, where it is a file with many. */
  details: Schema.optionalKey(Schema.Array(Schema.String)),
  allowed: Schema.String,
  example: Schema.String
})
export type SettingProblem = typeof SettingProblem.Type

const problemText = ({ allowed, details = [], example, name, seen }: SettingProblem): string => {
  const lines = [name, `  seen:    ${seen}`, ...details.map((detail) => `             ${detail}`)]
  return [...lines, `  allowed: ${allowed}`, `  example: ${example}`].map((line) => `  ${line}`).join("\n")
}

/** The environment can't be used. The message lists every problem, and holds no secret. */
export class SettingsInvalid extends Schema.TaggedError<SettingsInvalid>()("SettingsInvalid", {
  problems: Schema.NonEmptyArray(SettingProblem),
  /** Variables that begin like settings but are none: one of them may be what is missing. */
  unknown: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const count = new Set(this.problems.map(({ name }) => name)).size
    const paragraphs = [
      `${count === 1 ? "One setting is" : `${count} settings are`} invalid:`,
      ...this.problems.map(problemText),
      ...(this.unknown.length === 0 ? [] : [unknownText(this.unknown)])
    ]
    return paragraphs.join("\n\n")
  }
}

/** A sentence about variables that begin like settings but are none. */
export const unknownText = (names: ReadonlyArray<string>): string =>
  `${names.length === 1 ? "This variable is no setting" : "These variables are no settings"}, and may be misspelled: ${names.join(", ")}.`

/** A row, and what was found of it. */
interface Found extends FoundSecret {
  readonly setting: Row
}

const find = Effect.fnUntraced(function* (setting: Row): Effect.fn.Return<Found> {
  const { name } = setting
  if (setting.secret) return { setting, ...(yield* secretVariable(name)) }
  return { setting, name, text: yield* variable(name), problem: null }
})

const foundProblems = ({ name, problem, setting, text }: Found): ReadonlyArray<SettingProblem> => {
  if (problem === null && Option.isSome(setting.parse(text))) return []
  const isFile = name !== setting.name
  const details = setting.detailsOf?.(text ?? "") ?? []
  return [
    {
      name,
      seen: problem ?? (setting.secret ? "<redacted>" : shown(text ?? "", setting.isUrl)),
      ...(details.length === 0 ? {} : { details }),
      allowed: `${isFile ? "the path of a file that holds " : ""}${setting.allowed}`,
      example: `${name}=${isFile ? `/run/secrets/${setting.name}` : setting.example}`
    }
  ]
}

/** Settings as far as they have been read. */
export interface Given {
  /** The value of a row, null where it is not set; undefined where there is a problem with it. */
  readonly valueOf: <A>(setting: Setting<A>) => A | undefined
  /** The variable that a row was taken from. */
  readonly nameOf: (setting: Row) => string
  /** A problem with a row that is allowed by itself; `allowed` and `example` are those of the row unless given. */
  readonly problemOf: (
    setting: Row,
    seen: string,
    words?: { readonly allowed?: string; readonly example?: string }
  ) => SettingProblem
}

const givenOf = (found: ReadonlyArray<Found>): Given => {
  const byName = new Map(found.map((row) => [row.setting.name, row]))
  const nameOf = ({ name }: Row) => byName.get(name)?.name ?? name
  return {
    valueOf: ({ name, parse }) => {
      const row = byName.get(name)
      return row === undefined || row.problem !== null ? undefined : Option.getOrUndefined(parse(row.text))
    },
    nameOf,
    problemOf: (setting, seen, { allowed = setting.allowed, example = setting.example } = {}) => ({
      name: nameOf(setting),
      seen,
      allowed,
      example: `${setting.name}=${example}`
    })
  }
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
  const oidcNeeds: ReadonlyArray<Row> = [oidc.issuer, oidc.clientId, oidc.clientSecret]
  const oidcGiven = oidcNeeds.find(isSet)
  const provider = valueOf(tools.searchProvider)
  const searchNeeds = provider === "searxng" ? tools.searchUrl : tools.searchKey
  return Effect.succeed([
    ...(valueOf(files.store) === "s3" ? missing(`${files.store.name} is s3`, s3Needs) : []),
    ...(isSet(tools.searchProvider)
      ? missing(`${tools.searchProvider.name} is ${provider}`, [searchNeeds])
      : []),
    ...(isSet(retrieval.embeddingsUrl)
      ? missing(`${retrieval.embeddingsUrl.name} is set`, [retrieval.embeddingsModel])
      : []),
    ...(oidcGiven === undefined ? [] : missing(`${nameOf(oidcGiven)} is set`, oidcNeeds))
  ])
}

/** A provider sends browsers back to an address that was registered with it, and this service must know it. */
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

/** Numbers that are allowed by themselves, but not together with another one. */
const conflictProblems: SettingsCheck = ({ problemOf, valueOf }) => {
  const { http, observability } = settingsTable
  const [headers, request] = [valueOf(http.headersSeconds), valueOf(http.requestSeconds)]
  const [port, metricsPort] = [valueOf(http.port), valueOf(observability.metricsPort)]
  const hosts = [valueOf(http.host), valueOf(observability.metricsHost)]
  const isSameHost = hosts[0] === hosts[1] || hosts.some((host) => wildcards.includes(host))
  const problems: Array<SettingProblem> = []
  // Node refuses to start a server whose headers may take longer than the whole request.
  if (headers !== undefined && request !== undefined && headers > request) {
    const allowed = `at most ${http.requestSeconds.name}, which is ${request}`
    problems.push(problemOf(http.headersSeconds, shown(`${headers}`), { allowed, example: `${request}` }))
  }
  if (port !== undefined && port === metricsPort && isSameHost) {
    const allowed = `another port than ${http.port.name}, which is ${port} at the same address`
    problems.push(problemOf(observability.metricsPort, shown(`${port}`), { allowed }))
  }
  return Effect.succeed(problems)
}

interface ReadRow extends Struct.Lambda {
  <A>(setting: Setting<A>): A
  readonly "~lambda.out": this["~lambda.in"] extends Setting<infer A> ? A : never
}

interface ReadGroup extends Struct.Lambda {
  (group: object): unknown
  readonly "~lambda.out": {
    readonly [Field in keyof this["~lambda.in"]]: Struct.Apply<ReadRow, this["~lambda.in"][Field]>
  }
}

/** The path of the web application; it begins and ends with a slash. */
const basePathOf = (publicUrl: string | null): string =>
  publicUrl === null ? "/" : new URL(publicUrl).pathname.replace(/\/*$/, "/")

/** The values of settings that have no problem. */
const valuesOf = ({ valueOf }: Given) => {
  const readRow = Struct.lambda<ReadRow>(valueOf)
  const readGroup = Struct.lambda<ReadGroup>((group) => Struct.map(group, readRow))
  const { s3, service, ...groups } = Struct.map(settingsTable, readGroup)
  /** `s3` is null unless `store` is "s3". */
  const files = { ...groups.files, s3: groups.files.store === "s3" && isWhole(s3) ? s3 : null }
  const console = { ...groups.console, basePath: basePathOf(groups.console.publicUrl) }
  return { ...service, ...groups, files, console }
}

type NonNull<A> = { readonly [Field in keyof A]: Exclude<A[Field], null> }

const isWhole = <A extends object>(values: A): values is A & NonNull<A> =>
  Object.values(values).every((value) => value !== null)

/** Every setting, as the table says. Times are in seconds, sizes in bytes; paths are absolute. */
export type Settings = ReturnType<typeof valuesOf>

/** The settings of this process. */
export class AppConfig extends Context.Service<AppConfig, Settings>()("parley/AppConfig") {}

/** The settings that the ConfigProvider holds, or every problem with them at once. */
export const readSettings = Effect.fnUntraced(function* (
  checks: ReadonlyArray<SettingsCheck>
): Effect.fn.Return<Settings, SettingsInvalid> {
  const found = yield* Effect.forEach(rows, find)
  const given = givenOf(found)
  const allChecks = [missingProblems, publicUrlProblems, conflictProblems, databaseProblems, ...checks]
  const [first, ...others] = [
    ...found.flatMap(foundProblems),
    ...(yield* Effect.forEach(allChecks, (check) => check(given))).flat()
  ]
  if (first === undefined) return valuesOf(given)
  return yield* new SettingsInvalid({ problems: [first, ...others], unknown: yield* unknownVariables })
})

/**
 * Every setting in the order of docs/settings.md, with the text of its value: null when it is not set, redacted when it
 * is secret.
 */
export const namedSettings = (settings: Settings) => {
  const { dataDir, logLevel, ...others } = settings
  const values: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    ...others,
    service: { dataDir, logLevel },
    s3: settings.files.s3 ?? {}
  }
  return Object.entries(settingsTable).flatMap(([group, settingsOfGroup]) =>
    Object.entries<Row>(settingsOfGroup).map(([field, { default: byDefault, description, name }]) => ({
      name,
      value: valueText(values[group]?.[field] ?? null),
      byDefault,
      description
    }))
  )
}

const valueText = (value: unknown): string | Redacted.Redacted | null => {
  if (value === null) return null
  if (Redacted.isRedacted(value)) return Redacted.make(String(Redacted.value(value)))
  return Array.isArray(value) && value.length === 0 ? "none" : String(value)
}

/** The same for people: the value of a secret is "<redacted>". */
export const describeSettings = (settings: Settings) =>
  namedSettings(settings).map(({ byDefault, description, name, value }) => ({
    name,
    value: value === null ? null : String(value),
    default: byDefault,
    description
  }))

/** Read by the command line, which is a client and has no settings of its own. */
const otherNames = ["PARLEY_URL"]

/** The names below a path of the environment, whose provider splits them at the underscores. */
const namesBelow = (path: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const provider = yield* ConfigProvider.ConfigProvider
    const node = yield* Effect.orDie(provider.load(path))
    if (node === undefined) return []
    const own = node.value === undefined ? [] : [path.join("_")]
    if (node._tag === "Value") return own
    const keys = node._tag === "Record" ? [...node.keys] : [String(node.length - 1)]
    const below = yield* Effect.forEach(keys, (key) => namesBelow([...path, key]))
    return [...own, ...below.flat()]
  })

/** Variables that begin like settings but are none, probably misspelled. */
export const unknownVariables: Effect.Effect<ReadonlyArray<string>> = Effect.map(
  namesBelow(["PARLEY"]),
  (names) => {
    const known = new Set([
      ...otherNames,
      ...rows.flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : [name]))
    ])
    return names.filter((name) => !known.has(name)).toSorted()
  }
)
