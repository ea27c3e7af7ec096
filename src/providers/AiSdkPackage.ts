import { Effect, Predicate, Redacted, Schema } from "effect"
import type { ReasoningEffort } from "../domain/ModelCall.ts"
import { importPackage, installCommand, isPackageName } from "../settings/InstalledPackage.ts"
import type { FileProblem } from "../settings/JsonFile.ts"
import { secretVariable, VariableName } from "../settings/Setting.ts"
import { makeAiSdk, sdkVersions } from "./AiSdk.ts"
import { isSdkModel, makeSdkSend } from "./AiSdkStream.ts"
import type { Fields, Protocol } from "./Protocol.ts"
import type { Send } from "./Upstream.ts"

/** A package of the AI SDK that asks the models of one provider. */
export interface SdkPackage {
  /** Its name, and the address that it is given, for people. */
  readonly place: string
  /** All that says which server answers: the place, and the options of the catalog. */
  readonly server: string
  readonly protocol: Protocol
  readonly send: Send
  /** The options that come from variables. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
}

const ProviderOptions = Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown))

/** What a provider of the protocol `ai-sdk` has beside the others, each optional but for `package`. */
export const sdkFields = {
  /** The name of the package, or of a part of it. */
  package: Schema.optionalKey(
    Schema.String.check(
      Schema.makeFilter((text) =>
        isPackageName(text) ? undefined : "Expected the name of a package, such as @ai-sdk/google"
      )
    )
  ),
  /** Where the package is installed, relative to the catalog. */
  packageFolder: Schema.optionalKey(Schema.NonEmptyString),
  /** Given to the function of the package that creates a provider. */
  options: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  /** Sent with every request. */
  providerOptions: Schema.optionalKey(ProviderOptions),
  /** Sent with requests of an effort. */
  efforts: Schema.optionalKey(
    Schema.Struct({
      none: Schema.optionalKey(ProviderOptions),
      minimal: Schema.optionalKey(ProviderOptions),
      low: Schema.optionalKey(ProviderOptions),
      medium: Schema.optionalKey(ProviderOptions),
      high: Schema.optionalKey(ProviderOptions),
      xhigh: Schema.optionalKey(ProviderOptions),
      max: Schema.optionalKey(ProviderOptions)
    } satisfies Record<ReasoningEffort, unknown>)
  )
}

const SdkEntry = Schema.Struct(sdkFields)

export type SdkEntry = typeof SdkEntry.Type

interface Given {
  readonly entry: SdkEntry
  readonly baseUrl: string | undefined
  readonly key: Redacted.Redacted | null
  /** Any model of the provider, by which the version of the interface is found. */
  readonly modelId: string
  readonly file: string
  /** Of the entry in the file. */
  readonly path: string
}

interface LoadedPackage {
  readonly sdk: SdkPackage | null
  readonly problems: ReadonlyArray<FileProblem>
}

/** Of an entry that names none. */
export const noSdkPackage: LoadedPackage = { sdk: null, problems: [] }

/** Loads the package of an entry and creates its provider; the problems are those of the catalog and of the package. */
export const loadSdkPackage = Effect.fnUntraced(function* (given: Given): Effect.fn.Return<LoadedPackage> {
  const { baseUrl, entry, file, key, path } = given
  const name = entry.package
  if (name === undefined) return noSdkPackage
  const { problems, secrets, settings } = yield* readOptions(entry.options ?? {}, `${path}.options`)
  if (problems.length > 0) return { sdk: null, problems }
  const place = { file, folder: entry.packageFolder ?? "." }
  const loaded = yield* importPackage(name, place).pipe(
    Effect.flatMap((exports) =>
      createProvider(exports, {
        ...settings,
        ...(baseUrl === undefined ? {} : { baseURL: baseUrl }),
        ...(key === null ? {} : { apiKey: Redacted.value(key) })
      })
    ),
    Effect.flatMap((provider) =>
      Effect.map(versionOf(provider, given.modelId), (version) => ({ provider, version }))
    ),
    Effect.result
  )
  if (loaded._tag === "Failure") {
    const message = `Expected a package for the AI SDK 5 to 7, but ${name} ${loaded.failure}. To install one, run: ${installCommand(name, place)}`
    return { sdk: null, problems: [{ path: `${path}.package`, message }] }
  }
  const { provider, version } = loaded.success
  const url = baseUrl === undefined ? null : new URL(baseUrl)
  const shown = url === null ? name : `${name} at ${url.origin}${url.pathname}`
  const sdk: SdkPackage = {
    place: shown,
    server: entry.options === undefined ? shown : `${shown} ${JSON.stringify(entry.options)}`,
    protocol: makeAiSdk({
      version,
      providerOptions: entry.providerOptions ?? {},
      efforts: entry.efforts ?? {}
    }),
    send: makeSdkSend((id) => provider.languageModel(id)),
    secrets
  }
  return { sdk, problems }
})

interface SdkProvider {
  readonly languageModel: (id: string) => unknown
}

const isSdkProvider = (value: unknown): value is SdkProvider =>
  Predicate.hasProperty(value, "languageModel") && typeof value.languageModel === "function"

type Create = (settings: Fields) => unknown

const isCreate = (value: unknown): value is Create => typeof value === "function"

/** Names of functions that create a provider, such as `createGoogle`. */
const createName = /^create[A-Z]/

const createProvider = (exports: unknown, settings: Fields): Effect.Effect<SdkProvider, string> =>
  Effect.suspend(() => {
    const named = Predicate.isObject(exports) ? Object.entries(exports) : []
    const creating = new Set(
      named.flatMap(([name, value]) => (createName.test(name) && isCreate(value) ? [value] : []))
    )
    const [create] = creating
    if (create === undefined || creating.size > 1) {
      return Effect.fail(
        `exports ${creating.size} functions that are named create…, where one has to create a provider`
      )
    }
    return Effect.flatMap(
      Effect.try({ try: () => create(settings), catch: (error) => refusedOptions(error) }),
      (provider) =>
        isSdkProvider(provider)
          ? Effect.succeed(provider)
          : Effect.fail("creates a provider without language models")
    )
  })

const refusedOptions = (error: unknown): string =>
  `refuses what baseUrl, keyVariable and options say (${error instanceof Error ? error.name : "an error"})`

const versionOf = (
  provider: SdkProvider,
  modelId: string
): Effect.Effect<(typeof sdkVersions)[number], string> =>
  Effect.flatMap(
    Effect.try({ try: () => provider.languageModel(modelId), catch: (error) => refusedOptions(error) }),
    (model) => {
      const found = isSdkModel(model) ? model.specificationVersion : null
      const version = sdkVersions.find((one) => one === found)
      return version === undefined
        ? Effect.fail(`has models of the interface ${String(found)}, and not of ${sdkVersions.join(", ")}`)
        : Effect.succeed(version)
    }
  )

/** Objects and lists lie at most so deep in the options. */
const levelsMax = 8

/** Names of options that hold a secret. */
const secretName = /key|token|secret|password/i

const isReference = Schema.is(Schema.Struct({ variable: VariableName }))

interface ReadOptions {
  readonly settings: Fields
  readonly secrets: Array<Redacted.Redacted>
  readonly problems: Array<FileProblem>
}

/** The options with the values of their variables, and the problems of those. */
const readOptions = Effect.fnUntraced(function* (options: Fields, path: string) {
  const read: ReadOptions = { settings: {}, secrets: [], problems: [] }
  if (options["baseURL"] !== undefined)
    read.problems.push({
      path: `${path}.baseURL`,
      message: "Expected nothing, because baseUrl of the provider is the address"
    })
  const settings = yield* readFields(options, path, read, levelsMax)
  return { ...read, settings }
})

const readFields = (fields: Fields, path: string, read: ReadOptions, levels: number): Effect.Effect<Fields> =>
  Effect.map(
    Effect.forEach(Object.entries(fields), ([name, value]) =>
      Effect.map(readValue(name, value, `${path}.${name}`, read, levels), (found) => [name, found] as const)
    ),
    Object.fromEntries
  )

const readValue = Effect.fnUntraced(function* (
  name: string,
  value: unknown,
  path: string,
  read: ReadOptions,
  levels: number
): Effect.fn.Return<unknown> {
  const problem = (message: string) => void read.problems.push({ path, message })
  if (isReference(value)) {
    const found = yield* secretVariable(value.variable)
    if (found.text === undefined) {
      problem(
        `Expected the name of a variable, but ${found.name} ${found.problem === null ? "is not set" : `has ${found.problem}`}`
      )
      return null
    }
    read.secrets.push(Redacted.make(found.text))
    return found.text
  }
  if (Predicate.isString(value) && secretName.test(name))
    problem('Expected { "variable": "NAME" }, because a secret belongs in a variable')
  if (!Predicate.isObject(value)) return value
  if (levels > 0) return yield* readFields(value, path, read, levels - 1)
  problem(`Expected no more than ${levelsMax} objects within each other`)
  return null
})
