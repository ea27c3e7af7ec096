import { ConfigProvider, Context, Effect, Option, Schema, Struct } from "effect"
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

/** A problem with a setting; `from` is the variable that it was taken from. */
export const problemOf = (
  { allowed, example, name }: Row,
  seen: string,
  {
    from = name,
    ...words
  }: { readonly from?: string; readonly allowed?: string; readonly example?: string } = {}
): SettingProblem => ({ name: from, seen, allowed, ...words, example: `${name}=${words.example ?? example}` })

const foundProblems = ({ name, problem, setting, text }: Found): ReadonlyArray<SettingProblem> => {
  if (problem === null && Option.isSome(setting.parse(text))) return []
  const seen = problem ?? (setting.secret ? "<redacted>" : shown(text ?? "", setting.isUrl))
  const found = problemOf(setting, seen)
  if (name === setting.name) return [found]
  const allowed = `the path of a file that holds ${setting.allowed}`
  return [{ ...found, name, allowed, example: `${name}=/run/secrets/${setting.name}` }]
}

/** Settings as far as they have been read. */
export interface Given {
  /** The value of a row; none where there is a problem with it. */
  readonly valueOf: <A>(setting: Setting<A>) => Option.Option<A>
  /** The variable that a row was taken from. */
  readonly nameOf: (setting: Row) => string
}

const givenOf = (found: ReadonlyArray<Found>): Given => {
  const byName = new Map(found.map((row) => [row.setting.name, row]))
  return {
    valueOf: ({ name, parse }) => {
      const row = byName.get(name)
      return row === undefined || row.problem !== null ? Option.none() : parse(row.text)
    },
    nameOf: ({ name }) => byName.get(name)?.name ?? name
  }
}

/** Finds what is wrong with settings beyond a single one. */
export type SettingsCheck = (given: Given) => Effect.Effect<ReadonlyArray<SettingProblem>>

/** Variables by which other programs are told of a database. With one of them set, the embedded one isn't what was meant. */
const databaseNames = [
  ["PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD", "PGPASSFILE", "PGSERVICE"],
  ["POSTGRES_URL", "PARLEY_DATABASE_URL"]
].flat()

/** A fallback to the embedded database would hide that another one was meant. */
const databaseProblems: SettingsCheck = Effect.fnUntraced(function* ({ valueOf }) {
  const { url } = settingsTable.database
  const isSet = (name: string) => Effect.map(variable(name), (text) => text !== undefined)
  const names = yield* Effect.filter(databaseNames, isSet)
  if (names.length === 0 || !Option.contains(valueOf(url), null)) return []
  const seen = `nothing, but ${names.join(", ")}, which this service doesn't read`
  return [problemOf(url, seen, { allowed: `${url.allowed}; or neither, for the embedded database` })]
})

/** Settings that are missing although another one needs them: without them its service can't be reached. */
const missingProblems = ({ valueOf }: Given): ReadonlyArray<SettingProblem> => {
  const { files, retrieval, s3, tools } = settingsTable
  const provider = Option.getOrNull(valueOf(tools.searchProvider))
  const missing = (rows: ReadonlyArray<Row>, by: string) =>
    rows
      .filter((row) => Option.contains(valueOf(row), null))
      .map((row) => problemOf(row, `nothing, but ${by}`))
  return [
    Option.contains(valueOf(files.store), "s3")
      ? missing([s3.endpoint, s3.bucket, s3.accessKeyId, s3.secretAccessKey], `${files.store.name} is s3`)
      : [],
    provider === null
      ? []
      : missing(
          [provider === "searxng" ? tools.searchUrl : tools.searchKey],
          `${tools.searchProvider.name} is ${provider}`
        ),
    Option.getOrNull(valueOf(retrieval.embeddingsUrl)) === null
      ? []
      : missing([retrieval.embeddingsModel], `${retrieval.embeddingsUrl.name} is set`)
  ].flat()
}

/** Node refuses to start a server whose headers may take longer than the whole request. */
const headersProblems = ({ valueOf }: Given): ReadonlyArray<SettingProblem> => {
  const { headersSeconds, requestSeconds } = settingsTable.http
  const [headers, request] = [valueOf(headersSeconds), valueOf(requestSeconds)]
  if (Option.isNone(headers) || Option.isNone(request) || headers.value <= request.value) return []
  const allowed = `at most ${requestSeconds.name}, which is ${request.value}`
  return [problemOf(headersSeconds, shown(`${headers.value}`), { allowed, example: `${request.value}` })]
}

/** All addresses of the machine. */
const wildcards: ReadonlyArray<unknown> = ["0.0.0.0", "::"]

/** One port can't serve the requests and the metrics. */
const portProblems = ({ valueOf }: Given): ReadonlyArray<SettingProblem> => {
  const { http, observability } = settingsTable
  const port = Option.getOrNull(valueOf(observability.metricsPort))
  const hosts = [http.host, observability.metricsHost].map((host) => Option.getOrNull(valueOf(host)))
  const isSameHost = hosts[0] === hosts[1] || hosts.some((host) => wildcards.includes(host))
  if (port === null || !isSameHost || !Option.contains(valueOf(http.port), port)) return []
  const allowed = `another port than ${http.port.name}, which is ${port} at the same address`
  return [problemOf(observability.metricsPort, shown(`${port}`), { allowed })]
}

interface ReadRow extends Struct.Lambda {
  <A>(setting: Setting<A>): A
  readonly "~lambda.out": this["~lambda.in"] extends Setting<infer A> ? A : never
}

/** The values of settings that have no problem. */
const valuesOf = ({ valueOf }: Given) => {
  const read = Struct.lambda<ReadRow>((setting) => Option.getOrThrow(valueOf(setting)))
  const { service, http, stream, database, auth, policy, models, usage } = settingsTable
  const { conversations, files, s3, tools, retrieval, observability } = settingsTable
  const storage = Struct.map(s3, read)
  return {
    ...Struct.map(service, read),
    http: Struct.map(http, read),
    stream: Struct.map(stream, read),
    database: Struct.map(database, read),
    auth: Struct.map(auth, read),
    policy: Struct.map(policy, read),
    models: Struct.map(models, read),
    usage: Struct.map(usage, read),
    conversations: Struct.map(conversations, read),
    /** `s3` is null unless `store` is "s3". */
    files: {
      ...Struct.map(files, read),
      s3: Option.contains(valueOf(files.store), "s3") && isWhole(storage) ? storage : null
    },
    tools: Struct.map(tools, read),
    retrieval: Struct.map(retrieval, read),
    observability: Struct.map(observability, read)
  }
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
  const [first, ...others] = [
    ...found.flatMap(foundProblems),
    ...missingProblems(given),
    ...headersProblems(given),
    ...portProblems(given),
    ...(yield* Effect.forEach([databaseProblems, ...checks], (check) => check(given))).flat()
  ]
  if (first === undefined) return valuesOf(given)
  return yield* new SettingsInvalid({ problems: [first, ...others], unknown: yield* unknownVariables })
})

/** A setting as the operator sees it. */
export interface SettingDescription {
  readonly name: string
  /** Null when it is not set and has no default; "<redacted>" for a secret. */
  readonly value: string | null
  readonly default: string | null
  readonly description: string
}

/** Every setting with its value, in the order of docs/settings.md. */
export const describeSettings = (settings: Settings): ReadonlyArray<SettingDescription> => {
  const { dataDir, logLevel, ...others } = settings
  const values = { service: { dataDir, logLevel }, ...others, s3: settings.files.s3 ?? {} }
  return Struct.keys(settingsTable).flatMap((group) => {
    const fields = new Map<string, unknown>(Object.entries(values[group]))
    return Object.entries<Row>(settingsTable[group]).map(([field, setting]) => {
      const value = fields.get(field) ?? null
      return {
        name: setting.name,
        value: value === null ? null : Array.isArray(value) && value.length === 0 ? "none" : String(value),
        default: setting.default,
        description: setting.description
      }
    })
  })
}

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
