import { ConfigProvider, Context, Effect, Option, Schema, Struct } from "effect"
import { type Setting, shown } from "./Setting.ts"
import type { Settings } from "./Settings.ts"
import { settingsTable } from "./SettingsTable.ts"
import { type FoundSecret, secretVariable, variable } from "./Variable.ts"

export type { Settings } from "./Settings.ts"

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
  /** Variables that begin like ours but mean nothing here: one of them may be what is missing. */
  unknown: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const count = new Set(this.problems.map(({ name }) => name)).size
    const paragraphs = [
      `${count === 1 ? "One setting" : `${count} settings`} can't be used:`,
      ...this.problems.map(problemText),
      ...(this.unknown.length === 0 ? [] : [unknownText(this.unknown)])
    ]
    return paragraphs.join("\n\n")
  }
}

/** A sentence about variables that begin like ours but mean nothing here. */
export const unknownText = (names: ReadonlyArray<string>): string =>
  `${names.length === 1 ? "This variable means" : "These variables mean"} nothing here, and may be misspelt: ${names.join(", ")}.`

/** The settings of this process. */
export class AppConfig extends Context.Service<AppConfig, Settings>()("parley/AppConfig") {}

const groups = Struct.keys(settingsTable)
const rows: ReadonlyArray<Setting<unknown>> = groups.flatMap((group): ReadonlyArray<Setting<unknown>> =>
  Object.values(settingsTable[group])
)

/** Variables by which other programs are told of a database. With one of them set, the embedded one isn't what was meant. */
const databaseNames = [
  "PGHOST",
  "PGHOSTADDR",
  "PGPORT",
  "PGDATABASE",
  "PGUSER",
  "PGPASSWORD",
  "PGPASSFILE",
  "PGSERVICE",
  "POSTGRES_URL",
  "PARLEY_DATABASE_URL"
]

/** Read by the command line, which is a client and has no settings of its own. */
const otherNames = ["PARLEY_URL"]

/** The text of a row and the variable it came from, or what is wrong with it. */
interface Found extends FoundSecret {
  readonly setting: Setting<unknown>
}

const find = Effect.fnUntraced(function* (setting: Setting<unknown>): Effect.fn.Return<Found> {
  const { name } = setting
  if (setting.secret) return { setting, ...(yield* secretVariable(name)) }
  return { setting, name, text: yield* variable(name), problem: null }
})

const problemOf = ({ name, problem, setting, text }: Found): ReadonlyArray<SettingProblem> => {
  if (problem === null && Option.isSome(setting.parse(text))) return []
  const inFile = name !== setting.name
  return [
    {
      name,
      seen: problem ?? (setting.secret ? "<redacted>" : shown(text ?? "", setting.isUrl)),
      allowed: inFile ? `the path of a file that holds ${setting.allowed}` : setting.allowed,
      example: inFile ? `${name}=/run/secrets/${setting.name}` : `${name}=${setting.example}`
    }
  ]
}

/** Settings as far as they have been read. */
export interface Given {
  /** The value of a row; none where there is a problem with it. */
  readonly valueOf: <A>(setting: Setting<A>) => Option.Option<A>
  /** The variable that a row was taken from. */
  readonly nameOf: (setting: Setting<unknown>) => string
}

const givenOf = (found: ReadonlyArray<Found>): Given => {
  const byName = new Map(found.map((row) => [row.setting.name, row]))
  return {
    valueOf: (setting) => {
      const row = byName.get(setting.name)
      return row === undefined || row.problem !== null ? Option.none() : setting.parse(row.text)
    },
    nameOf: (setting) => byName.get(setting.name)?.name ?? setting.name
  }
}

/** What is wrong with settings that only the room that they are for can judge. */
export type SettingsCheck = (given: Given) => Effect.Effect<ReadonlyArray<SettingProblem>>

/** With variables set that name a database in another way, falling back to the embedded one would hide the mistake. */
const databaseProblems = Effect.fnUntraced(function* (found: ReadonlyArray<Found>) {
  const { url } = settingsTable.database
  const isSet = found.some(
    ({ problem, setting, text }) => setting === url && (text !== undefined || problem !== null)
  )
  const names = yield* Effect.filter(databaseNames, (name) =>
    Effect.map(variable(name), (text) => text !== undefined)
  )
  if (isSet || names.length === 0) return []
  const problem: SettingProblem = {
    name: url.name,
    seen: `nothing, but ${names.join(", ")}, which this service doesn't read`,
    allowed: `${url.allowed}; or neither, for the embedded database`,
    example: `${url.name}=${url.example}`
  }
  return [problem]
})

/** Node refuses to start a server whose headers may take longer than the whole request. */
const headersProblems = ({ valueOf }: Given): ReadonlyArray<SettingProblem> => {
  const { headersSeconds, requestSeconds } = settingsTable.http
  const [headers, request] = [valueOf(headersSeconds), valueOf(requestSeconds)]
  if (Option.isNone(headers) || Option.isNone(request) || headers.value <= request.value) return []
  const { name } = headersSeconds
  const allowed = `at most ${requestSeconds.name}, which is ${request.value}`
  return [{ name, seen: shown(String(headers.value)), allowed, example: `${name}=${request.value}` }]
}

/** All addresses of the machine. */
const wildcards: ReadonlyArray<string> = ["0.0.0.0", "::"]

/** One port can't serve the requests and the metrics. */
const portProblems = ({ valueOf }: Given): ReadonlyArray<SettingProblem> => {
  const { http, observability } = settingsTable
  const port = Option.getOrNull(valueOf(observability.metricsPort))
  const hosts = [valueOf(http.host), valueOf(observability.metricsHost)].map(Option.getOrNull)
  const isSameHost = hosts[0] === hosts[1] || hosts.some((host) => host !== null && wildcards.includes(host))
  if (port === null || !isSameHost || Option.getOrNull(valueOf(http.port)) !== port) return []
  const { example, name } = observability.metricsPort
  const allowed = `another port than ${http.port.name}, which is ${port} at the same address`
  return [{ name, seen: shown(String(port)), allowed, example: `${name}=${example}` }]
}

/** Object storage can't be used without all that it takes to reach it. */
const s3Problems = (found: ReadonlyArray<Found>): ReadonlyArray<SettingProblem> => {
  const { files, s3 } = settingsTable
  const isOn = found.some(({ setting, text }) => setting === files.store && text?.toLowerCase() === "s3")
  const required: ReadonlyArray<Setting<unknown>> = isOn
    ? [s3.endpoint, s3.bucket, s3.accessKeyId, s3.secretAccessKey]
    : []
  const missing = found.filter(({ problem, text }) => text === undefined && problem === null)
  return required
    .filter((setting) => missing.some((row) => row.setting === setting))
    .map(({ allowed, example, name }) => ({
      name,
      seen: `nothing, but ${files.store.name} is s3`,
      allowed,
      example: `${name}=${example}`
    }))
}

/** A search needs to know where to ask, or with which key. */
const searchProblems = ({ valueOf }: Given, found: ReadonlyArray<Found>): ReadonlyArray<SettingProblem> => {
  const { searchKey, searchProvider, searchUrl } = settingsTable.tools
  const provider = Option.getOrNull(valueOf(searchProvider))
  if (provider === null) return []
  const needed: Setting<unknown> = provider === "searxng" ? searchUrl : searchKey
  const isMissing = found.some(
    ({ problem, setting, text }) => setting === needed && text === undefined && problem === null
  )
  const { allowed, example, name } = needed
  const seen = `nothing, but ${searchProvider.name} is ${provider}`
  return isMissing ? [{ name, seen, allowed, example: `${name}=${example}` }] : []
}

/** Every server of embeddings has other models. */
const embeddingsProblems = ({ valueOf }: Given): ReadonlyArray<SettingProblem> => {
  const { embeddingsModel, embeddingsUrl } = settingsTable.retrieval
  const [url, model] = [valueOf(embeddingsUrl), valueOf(embeddingsModel)]
  if (Option.getOrNull(url) === null || Option.isNone(model) || model.value !== null) return []
  const { allowed, example, name } = embeddingsModel
  const seen = `nothing, but ${embeddingsUrl.name} is set`
  return [{ name, seen, allowed, example: `${name}=${example}` }]
}

interface ReadRow extends Struct.Lambda {
  <A>(setting: Setting<A>): A
  readonly "~lambda.out": this["~lambda.in"] extends Setting<infer A> ? A : never
}

const assemble = (found: ReadonlyArray<Found>): Settings => {
  const textByRow = new Map(found.map(({ setting, text }) => [setting.name, text]))
  const read = Struct.lambda<ReadRow>((setting) =>
    Option.getOrThrow(setting.parse(textByRow.get(setting.name)))
  )
  const files = Struct.map(settingsTable.files, read)
  return {
    ...Struct.map(settingsTable.service, read),
    http: Struct.map(settingsTable.http, read),
    stream: Struct.map(settingsTable.stream, read),
    database: Struct.map(settingsTable.database, read),
    auth: Struct.map(settingsTable.auth, read),
    policy: Struct.map(settingsTable.policy, read),
    models: Struct.map(settingsTable.models, read),
    usage: Struct.map(settingsTable.usage, read),
    conversations: Struct.map(settingsTable.conversations, read),
    tools: Struct.map(settingsTable.tools, read),
    retrieval: Struct.map(settingsTable.retrieval, read),
    observability: Struct.map(settingsTable.observability, read),
    files: { ...files, s3: files.store === "s3" ? s3Of(Struct.map(settingsTable.s3, read)) : null }
  }
}

/** What is missing has been told by `s3Problems`. */
const s3Of = ({
  accessKeyId,
  bucket,
  endpoint,
  secretAccessKey,
  ...others
}: S3Rows): Settings["files"]["s3"] =>
  accessKeyId === null || bucket === null || endpoint === null || secretAccessKey === null
    ? null
    : { ...others, accessKeyId, bucket, endpoint, secretAccessKey }

type S3Rows = {
  readonly [Field in keyof typeof settingsTable.s3]: (typeof settingsTable.s3)[Field] extends Setting<infer A>
    ? A
    : never
}

/** The settings that the ConfigProvider holds, or every problem with them at once. */
export const readSettings = Effect.fnUntraced(function* (
  checks: ReadonlyArray<SettingsCheck>
): Effect.fn.Return<Settings, SettingsInvalid> {
  const found = yield* Effect.forEach(rows, find)
  const given = givenOf(found)
  const [first, ...others] = [
    ...found.flatMap(problemOf),
    ...(yield* databaseProblems(found)),
    ...s3Problems(found),
    ...headersProblems(given),
    ...portProblems(given),
    ...searchProblems(given, found),
    ...embeddingsProblems(given),
    ...(yield* Effect.forEach(checks, (check) => check(given))).flat()
  ]
  if (first === undefined) return assemble(found)
  return yield* new SettingsInvalid({ problems: [first, ...others], unknown: yield* unknownVariables })
})

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

/** Variables that begin like ours but mean nothing here, probably mistyped. Worth a warning. */
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
