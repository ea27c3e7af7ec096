import { Effect, Predicate, Redacted, Schema } from "effect"
import type { ReasoningEffort } from "../domain/ModelCall.ts"
import {
  type ImportProblem,
  importPackage,
  installCommand,
  isPackageName
} from "../settings/InstalledPackage.ts"
import type { FileProblem } from "../settings/JsonFile.ts"
import { traceOf } from "../telemetry/StrayError.ts"
import { makeAiSdk, type ProviderOptions, type SdkTraits, sdkVersions } from "./AiSdk.ts"
import { type OptionsRead, readOptions, readOptionsByName } from "./AiSdkOptions.ts"
import { isSdkModel, makeSdkSend } from "./AiSdkStream.ts"
import { digestOf } from "./PromptCacheKey.ts"
import type { Fields, Protocol } from "./Protocol.ts"
import { sentenceOf } from "./ProviderSentence.ts"
import type { Send } from "./Upstream.ts"

/** A package of the AI SDK that asks the models of one provider. */
export interface SdkPackage {
  /** The name of the package and its address, for people. */
  readonly place: string
  /**
   * Everything that determines the answering server: the package, its address, and the options of the
   * catalog.
   */
  readonly server: string
  readonly protocol: Protocol
  readonly send: Send
  /** The options that come from variables. */
  readonly secrets: ReadonlyArray<Redacted.Redacted>
}

const ProviderOptionsField = Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown))

/** Fields that only a provider of the protocol `ai-sdk` has. All of them but `package` are optional. */
export const sdkFields = {
  /** The name of the package, or of a part of it. */
  package: Schema.optionalKey(
    Schema.String.check(
      Schema.makeFilter((text) =>
        isPackageName(text) ? undefined : "Expected the name of a package, such as @ai-sdk/google"
      )
    )
  ),
  /** The folder in which the package is installed, relative to the catalog. */
  packageFolder: Schema.optionalKey(Schema.NonEmptyString),
  /** Given to the function of the package that creates a provider. */
  options: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  /** Provider options that are sent with every request. */
  providerOptions: Schema.optionalKey(ProviderOptionsField),
  /** Provider options that are sent with requests for an effort. */
  efforts: Schema.optionalKey(
    Schema.Struct({
      none: Schema.optionalKey(ProviderOptionsField),
      minimal: Schema.optionalKey(ProviderOptionsField),
      low: Schema.optionalKey(ProviderOptionsField),
      medium: Schema.optionalKey(ProviderOptionsField),
      high: Schema.optionalKey(ProviderOptionsField),
      xhigh: Schema.optionalKey(ProviderOptionsField),
      max: Schema.optionalKey(ProviderOptionsField)
    } satisfies Record<ReasoningEffort, unknown>)
  )
}

const SdkEntry = Schema.Struct(sdkFields)

export type SdkEntry = typeof SdkEntry.Type

interface Given {
  readonly entry: SdkEntry
  readonly baseUrl: string | undefined
  readonly key: Redacted.Redacted | null
  /** Any model of the provider, which shows the version of the interface. */
  readonly modelId: string
  readonly file: string
  /** The path of the entry in the file. */
  readonly path: string
}

interface LoadedPackage {
  readonly sdk: SdkPackage | null
  readonly problems: ReadonlyArray<FileProblem>
}

/** The result for an entry that names no package. */
export const noSdkPackage: LoadedPackage = { sdk: null, problems: [] }

/**
 * Loads the package of an entry and creates its provider. The problems are those of the catalog and of the
 * package.
 */
export const loadSdkPackage = Effect.fnUntraced(function* (given: Given): Effect.fn.Return<LoadedPackage> {
  const { baseUrl, entry, file, key, path } = given
  const name = entry.package
  if (name === undefined) return noSdkPackage
  const read: OptionsRead = { secrets: [], problems: [] }
  const { options = {} } = entry
  if (options["baseURL"] !== undefined)
    read.problems.push({
      path: `${path}.options.baseURL`,
      message: "Expected nothing, because baseUrl of the provider is the address"
    })
  const settings = yield* readOptions(options, `${path}.options`, read)
  const providerOptions = yield* readOptionsByName(
    entry.providerOptions ?? {},
    `${path}.providerOptions`,
    read
  )
  const efforts = yield* readEfforts(entry, `${path}.efforts`, read)
  const { problems, secrets } = read
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
    const { isInstalled, message: said } = loaded.failure
    const reason = sentenceOf({ detail: said }, key === null ? secrets : [key, ...secrets])
    const remedy = isInstalled ? "" : ` To install one, run: ${installCommand(name, place)}`
    const message = `Expected a package for the AI SDK 5 to 7, but ${name} ${reason}.${remedy}`
    return { sdk: null, problems: [{ path: `${path}.package`, message }] }
  }
  const { provider, version } = loaded.success
  const url = baseUrl === undefined ? null : new URL(baseUrl)
  const shown = url === null ? name : `${name} at ${url.origin}${url.pathname}`
  const sdk: SdkPackage = {
    place: shown,
    server: entry.options === undefined ? shown : `${shown} ${digestOf(JSON.stringify(entry.options))}`,
    protocol: makeAiSdk({ version, providerOptions, efforts }),
    send: makeSdkSend((id) => provider.languageModel(id)),
    secrets
  }
  return { sdk, problems }
})

const readEfforts = (
  { efforts = {} }: SdkEntry,
  path: string,
  read: OptionsRead
): Effect.Effect<SdkTraits["efforts"]> =>
  Effect.map(
    Effect.forEach(Object.entries(efforts), ([effort, options]) =>
      Effect.map(
        readOptionsByName(options, `${path}.${effort}`, read),
        (found): readonly [string, ProviderOptions] => [effort, found]
      )
    ),
    Object.fromEntries
  )

const unusable = (message: string): ImportProblem => ({ isInstalled: true, message })

interface SdkProvider {
  readonly languageModel: (id: string) => unknown
}

const isSdkProvider = (value: unknown): value is SdkProvider =>
  Predicate.hasProperty(value, "languageModel") && typeof value.languageModel === "function"

type Create = (settings: Fields) => unknown

const isCreate = (value: unknown): value is Create => typeof value === "function"

/** Names of functions that create a provider, such as `createGoogle`. */
const createName = /^create[A-Z]/

const createProvider = (exports: unknown, settings: Fields): Effect.Effect<SdkProvider, ImportProblem> =>
  Effect.suspend(() => {
    const named = Predicate.isObject(exports) ? Object.entries(exports) : []
    const creating = new Set(
      named.flatMap(([name, value]) => (createName.test(name) && isCreate(value) ? [value] : []))
    )
    const [create] = creating
    if (create === undefined || creating.size > 1) {
      return Effect.fail(
        unusable(
          `exports ${creating.size} functions that are named create…, where one has to create a provider`
        )
      )
    }
    return Effect.flatMap(
      Effect.try({ try: () => create(settings), catch: (error) => refusedOptions(error) }),
      (provider) =>
        isSdkProvider(provider)
          ? Effect.succeed(provider)
          : Effect.fail(unusable("creates a provider without language models"))
    )
  })

const refusedOptions = (error: unknown): ImportProblem =>
  unusable(`refuses what baseUrl, keyVariable and options say (${traceOf(error).split("\n", 1).join()})`)

const versionOf = (
  provider: SdkProvider,
  modelId: string
): Effect.Effect<(typeof sdkVersions)[number], ImportProblem> =>
  Effect.flatMap(
    Effect.try({
      try: () => {
        const model = provider.languageModel(modelId)
        return isSdkModel(model) ? model.specificationVersion : null
      },
      catch: refusedOptions
    }),
    (found) => {
      const version = sdkVersions.find((one) => one === found)
      const shown = Predicate.isString(found) ? found : "without a name"
      return version === undefined
        ? Effect.fail(unusable(`has models of the interface ${shown}, and not of ${sdkVersions.join(", ")}`))
        : Effect.succeed(version)
    }
  )
