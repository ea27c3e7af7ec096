import { ConfigProvider, Context, Effect, Option, Redacted, Struct } from "effect"
import { nearMiss } from "../runtime/nearMiss.ts"
import { type FoundSecret, secretVariable, type Setting, shown, variable } from "./Setting.ts"
import { type SettingProblem, SettingsInvalid } from "./SettingProblem.ts"
import { type Given, ownChecks, type SettingsCheck } from "./SettingsChecks.ts"
import { settingsTable } from "./SettingsTable.ts"

type Row = Setting<unknown>

const rows: ReadonlyArray<Row> = Object.values(settingsTable).flatMap((group) => Object.values<Row>(group))

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

/**
 * Time for a reverse proxy to notice that `/readyz` reports 503, and to close the idle connections that it
 * keeps.
 */
const drainSecondsBehindProxy = 5

/** The values of settings that have no problem. */
const valuesOf = ({ valueOf }: Given) => {
  const readRow = Struct.lambda<ReadRow>(valueOf)
  const readGroup = Struct.lambda<ReadGroup>((group) => Struct.map(group, readRow))
  const { s3, service, ...groups } = Struct.map(settingsTable, readGroup)
  /** `s3` is null unless a store is "s3". */
  const isS3 = groups.files.store === "s3" || groups.files.moveTo === "s3"
  const files = { ...groups.files, s3: isS3 && isWhole(s3) ? s3 : null }
  const console = { ...groups.console, basePath: basePathOf(groups.console.publicUrl) }
  const usualDrainSeconds = console.trustedProxies.length === 0 ? 0 : drainSecondsBehindProxy
  const http = { ...groups.http, drainSeconds: groups.http.drainSeconds ?? usualDrainSeconds }
  return { ...service, ...groups, http, files, console }
}

type NonNull<A> = { readonly [Field in keyof A]: Exclude<A[Field], null> }

const isWhole = <A extends object>(values: A): values is A & NonNull<A> =>
  Object.values(values).every((value) => value !== null)

/** Every setting, as the table says. Times are in seconds, sizes in bytes; paths are absolute. */
export type Settings = ReturnType<typeof valuesOf>

/** The settings of this process. */
export class AppConfig extends Context.Service<AppConfig, Settings>()("parley/settings/AppConfig") {}

/** The settings that the ConfigProvider holds, or every problem with them at once. */
export const readSettings = Effect.fnUntraced(function* (
  checks: ReadonlyArray<SettingsCheck>
): Effect.fn.Return<Settings, SettingsInvalid> {
  const found = yield* Effect.forEach(rows, find)
  const given = givenOf(found)
  const [first, ...others] = [
    ...found.flatMap(foundProblems),
    ...(yield* Effect.forEach([...ownChecks, ...checks], (check) => check(given))).flat()
  ]
  if (first === undefined) return valuesOf(given)
  return yield* new SettingsInvalid({ problems: [first, ...others], unknown: yield* unknownVariables })
})

/**
 * Every setting in the order of docs/settings.md, with the text of its value: null when it is not set,
 * redacted when it is secret.
 */
export const namedSettings = (settings: Settings) => {
  const { dataDir, logFormat, logLevel, ...others } = settings
  const values: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    ...others,
    service: { dataDir, logFormat, logLevel },
    s3: settings.files.s3 ?? {}
  }
  return Object.entries(settingsTable).flatMap(([group, settingsOfGroup]) =>
    Object.entries<Row>(settingsOfGroup).map(
      ([field, { default: byDefault, description, isPerProcess, name }]) => ({
        name,
        value: valueText(values[group]?.[field] ?? null),
        byDefault,
        description,
        isPerProcess
      })
    )
  )
}

const valueText = (value: unknown): string | Redacted.Redacted | null => {
  if (value === null) return null
  if (Redacted.isRedacted(value)) return Redacted.make(String(Redacted.value(value)))
  return Array.isArray(value) && value.length === 0 ? "none" : String(value)
}

/** The settings for people: the value of a secret is "<redacted>". */
export const describeSettings = (settings: Settings) =>
  namedSettings(settings).map(({ byDefault, description, name, value }) => ({
    name,
    value: value === null ? null : String(value),
    default: byDefault,
    description
  }))

/**
 * Read by clients, such as the command line and the examples, which have no settings of their own, and by the
 * build.
 */
const otherNames = ["PARLEY_URL", "PARLEY_API_KEY", "PARLEY_BUILD_ID"]

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

const prefix = "PARLEY_"

const withoutPrefix = (name: string): string => (name.startsWith(prefix) ? name.slice(prefix.length) : name)

/** The name with the setting that it most likely means, such as PORT for PARLEY_PORT. */
const withHint = (name: string, known: ReadonlySet<string>): string => {
  const names = new Map([...known].map((one) => [withoutPrefix(one), one]))
  const meant = names.get(nearMiss(withoutPrefix(name), [...names.keys()]) ?? "")
  return meant === undefined ? name : `${name} (did you mean ${meant}?)`
}

/** Variables that begin like settings but are none, probably misspelled, with what they may mean. */
export const unknownVariables: Effect.Effect<ReadonlyArray<string>> = Effect.map(
  namesBelow(["PARLEY"]),
  (names) => {
    const known = new Set([
      ...otherNames,
      ...rows.flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : [name]))
    ])
    return names
      .filter((name) => !known.has(name))
      .toSorted()
      .map((name) => withHint(name, known))
  }
)
