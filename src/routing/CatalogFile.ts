import { Effect, Option, Redacted, Result, Schema, Struct } from "effect"
import { DeclaredModel, type ModelSpec } from "../domain/Model.ts"
import { loadSdkPackage, noSdkPackage, sdkFields } from "../providers/AiSdkPackage.ts"
import { chatFamilyNames } from "../providers/ChatFamilies.ts"
import { ExtraHeaders, readExtraHeaders } from "../providers/ExtraHeaders.ts"
import {
  type ModelExtras,
  modelExtrasFields,
  readModelExtras,
  type ModelExtrasEntry
} from "../providers/ModelExtras.ts"
import {
  type ModelServer,
  protocolNames,
  protocols,
  protocolHeaders,
  type ProtocolName
} from "../providers/ModelServer.ts"
import { FileProblem, missing, problemLine, readJsonFile, shapeProblems } from "../settings/JsonFile.ts"
import { secretVariable, VariableName } from "../settings/Setting.ts"
import { webUrl } from "../settings/TextCodec.ts"

/** Fields of requests that the service sets in one protocol alone, besides those that it sets in several. */
const ownFields: Readonly<Record<ProtocolName, ReadonlyArray<string>>> = {
  "openai-chat": [],
  "openai-responses": ["reasoning"],
  anthropic: ["thinking"]
}

const noDialect = "Expected nothing, because a package has its own rules for its servers"

/**
 * Fields of a model in the catalog that the protocol of its provider has no use for. `path` is that of the
 * model.
 */
const misplacedInModel = (
  { body = {}, dialect, opensThinking }: ModelExtrasEntry,
  protocol: ProtocolName | "ai-sdk",
  path: string
): ReadonlyArray<FileProblem> => [
  ...(opensThinking === undefined || protocol === "openai-chat"
    ? []
    : [
        {
          path: `${path}.opensThinking`,
          message: "Expected nothing, because only the protocol openai-chat has it"
        }
      ]),
  ...(dialect === undefined || protocol !== "ai-sdk"
    ? []
    : [{ path: `${path}.dialect`, message: noDialect }]),
  ...(protocol === "ai-sdk" ? noBody(body, path) : repeatedFields(body, protocol, path))
]

type Body = NonNullable<ModelExtrasEntry["body"]>

const noBody = (body: Body, path: string): ReadonlyArray<FileProblem> =>
  Object.keys(body).length === 0
    ? []
    : [
        {
          path: `${path}.body`,
          message:
            "Expected nothing, because a package makes the body itself: providerOptions of the provider has fields for it"
        }
      ]

const repeatedFields = (body: Body, protocol: ProtocolName, path: string): ReadonlyArray<FileProblem> =>
  ownFields[protocol]
    .filter((name) => Object.hasOwn(body, name))
    .map((name) => ({
      path: `${path}.body.${name}`,
      message: `Expected another field: the protocol "${protocol}" sets this one itself`
    }))

/** The address of a model server, for most protocols up to the version. */
const BaseUrl = Schema.String.check(
  Schema.makeFilter((text) =>
    Option.isSome(webUrl(text))
      ? undefined
      : "Expected an http or https URL without credentials, such as http://127.0.0.1:8000/v1"
  )
)

const ProviderEntry = Schema.Struct({
  id: Schema.NonEmptyString,
  protocol: Schema.Literals([...protocolNames, "ai-sdk"]),
  /** Address of the server; only a package may know its own. */
  baseUrl: Schema.optionalKey(BaseUrl),
  ...sdkFields,
  /** The environment variable that holds the key. */
  keyVariable: Schema.optionalKey(VariableName),
  headers: Schema.optionalKey(ExtraHeaders),
  /** Only Chat Completions has two names for the maximum of an answer. */
  tokenParameter: Schema.optionalKey(Schema.Literals(["max_tokens", "max_completion_tokens"])),
  /** The family whose rules the server follows, where its address doesn't tell. */
  dialect: Schema.optionalKey(Schema.Literals(chatFamilyNames)),
  /** Only Responses has encrypted reasoning, and summaries of reasoning. */
  encryptedReasoning: Schema.optionalKey(Schema.Boolean),
  /** Requests at once. */
  concurrentMax: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100_000 })))
})
type ProviderEntry = typeof ProviderEntry.Type

const ModelEntry = Schema.Struct({ ...DeclaredModel.fields, ...modelExtrasFields })
type ModelEntry = typeof ModelEntry.Type

const CatalogFile = Schema.Struct({
  providers: Schema.NonEmptyArray(ProviderEntry),
  models: Schema.NonEmptyArray(ModelEntry)
})

export interface CatalogContent {
  readonly servers: ReadonlyArray<ModelServer>
  readonly models: ReadonlyArray<ModelSpec>
}

/** A new reading of the catalog's file, not yet in force. */
export interface PreparedCatalog {
  readonly file: string
  readonly models: number
  readonly providers: number
  /** Puts it in force for requests that begin from now on. */
  readonly apply: Effect.Effect<void>
}

/** The catalog file has mistakes; the service must not start. */
export class CatalogInvalid extends Schema.TaggedError<CatalogInvalid>()("CatalogInvalid", {
  /** The file, or the variable, that has to be changed. */
  source: Schema.String,
  problems: Schema.NonEmptyArray(FileProblem)
}) {
  override get message(): string {
    const lines = this.problems.map((problem) => `  ${problemLine(problem)}`)
    return `${this.source} can't be used:\n${lines.join("\n")}`
  }
}

/** Reads and checks a catalog file, and reports all its problems at once. */
export const readCatalogFile = Effect.fnUntraced(function* (file: string) {
  const source = `PARLEY_MODELS_FILE ${file}`
  const { given, locate } = yield* Effect.mapError(
    readJsonFile(file),
    (problem) => new CatalogInvalid({ source, problems: [problem] })
  )
  const shape = decodeCatalog(given)
  const entries = entriesOf(given)
  const models = yield* Effect.forEach(entries.models, modelOf)
  const servers = yield* Effect.forEach(entries.providers, (placed) => serverOf(placed, file, models))
  const [first, ...others] = [
    ...(Result.isFailure(shape) ? shapeProblems(shape.failure.issue) : []),
    ...referenceProblems(entries),
    ...[...servers, ...models].flatMap(({ problems }) => problems)
  ].map(locate)
  if (first !== undefined) return yield* new CatalogInvalid({ source, problems: [first, ...others] })
  return {
    servers: servers.flatMap(({ server }) => Option.toArray(server)),
    models: models.map(({ model }) => model)
  } satisfies CatalogContent
})

const decodeCatalog = Schema.decodeUnknownResult(CatalogFile, { errors: "all", onExcessProperty: "error" })

/** An entry whose shape is right, and its position. */
interface Placed<Entry> {
  readonly entry: Entry
  readonly index: number
}

/** The entries whose shape is right, so that the other problems of a file are found as well. */
interface Entries {
  readonly providers: ReadonlyArray<Placed<ProviderEntry>>
  readonly models: ReadonlyArray<Placed<ModelEntry>>
  /** Ids of all providers, also of those whose shape is wrong otherwise. */
  readonly providerIds: ReadonlySet<unknown>
}

const Lists = Schema.Struct({ providers: Schema.Unknown, models: Schema.Unknown })
const decodeLists = Schema.decodeUnknownOption(Lists)
const decodeList = Schema.decodeUnknownOption(Schema.Array(Schema.Unknown))
const decodeProvider = Schema.decodeUnknownOption(ProviderEntry)
const decodeModel = Schema.decodeUnknownOption(ModelEntry)
const decodeId = Schema.decodeUnknownOption(Schema.Struct({ id: Schema.String }))

const entriesOf = (given: unknown): Entries => {
  const lists = Option.getOrElse(decodeLists(given), () => ({ providers: [], models: [] }))
  const providers = Option.getOrElse(decodeList(lists.providers), () => [])
  const models = Option.getOrElse(decodeList(lists.models), () => [])
  return {
    providers: placed(providers, decodeProvider),
    models: placed(models, decodeModel),
    providerIds: new Set(providers.flatMap((value) => Option.toArray(decodeId(value))).map(({ id }) => id))
  }
}

const placed = <Entry>(
  values: ReadonlyArray<unknown>,
  decode: (value: unknown) => Option.Option<Entry>
): ReadonlyArray<Placed<Entry>> =>
  values.flatMap((value, index) =>
    Option.toArray(decode(value)).map((entry): Placed<Entry> => ({ entry, index }))
  )

/** Problems that a schema can't find: ids that must be known or unique. */
const referenceProblems = ({ models, providerIds, providers }: Entries): ReadonlyArray<FileProblem> => [
  ...repeated(providers, (provider) => provider.id).map(({ index }) => ({
    path: `providers[${index}].id`,
    message: "Expected an id that no other provider has"
  })),
  ...providers.flatMap(({ entry, index }) => setHeaders(entry, entry.headers, `providers[${index}]`)),
  ...lacking(providers, "baseUrl", ({ protocol }) => protocol !== "ai-sdk"),
  ...lacking(providers, "package", ({ protocol }) => protocol === "ai-sdk"),
  ...sdkFieldNames.flatMap((field) => misplaced(providers, field, "ai-sdk")),
  ...providers
    .filter(({ entry }) => entry.protocol === "ai-sdk" && entry.dialect !== undefined)
    .map(({ index }) => ({ path: `providers[${index}].dialect`, message: noDialect })),
  ...misplaced(providers, "tokenParameter", "openai-chat"),
  ...misplaced(providers, "encryptedReasoning", "openai-responses"),
  ...repeated(models, (model) => JSON.stringify([model.provider, model.id])).map(({ index }) => ({
    path: `models[${index}].id`,
    message: "Expected an id that no other model of the provider has"
  })),
  ...models.flatMap(({ entry, index }) => [
    ...(providerIds.has(entry.provider)
      ? []
      : [{ path: `models[${index}].provider`, message: "Expected the id of one of the providers" }]),
    ...(entry.maxOutputTokens <= entry.contextWindow
      ? []
      : [{ path: `models[${index}].maxOutputTokens`, message: "Expected no more than contextWindow" }]),
    ...providers
      .filter(({ entry: { id } }) => id === entry.provider)
      .flatMap((provider) => [
        ...setHeaders(provider.entry, entry.headers, `models[${index}]`),
        ...misplacedInModel(entry, provider.entry.protocol, `models[${index}]`)
      ])
  ])
]

/** Headers that the protocol of a provider sets itself. */
const setHeaders = (
  { baseUrl, keyVariable, protocol }: ProviderEntry,
  headers: ExtraHeaders = {},
  path: string
): ReadonlyArray<FileProblem> =>
  Option.match(webUrl(baseUrl ?? ""), {
    onNone: () => [],
    onSome: (url) =>
      protocol === "ai-sdk" ? [] : protocolHeaders(protocols[protocol], url, keyVariable !== undefined)
  })
    .filter((name) => Object.hasOwn(headers, name))
    .map((name) => ({
      path: `${path}.headers.${name}`,
      message: `Expected another header: the protocol "${protocol}" sets this one itself`
    }))
const sdkFieldNames = Struct.keys(sdkFields)

/** Fields that entries need by their protocol. */
const lacking = (
  providers: ReadonlyArray<Placed<ProviderEntry>>,
  field: "baseUrl" | "package",
  isNeeded: (entry: ProviderEntry) => boolean
): ReadonlyArray<FileProblem> =>
  providers
    .filter(({ entry }) => isNeeded(entry) && entry[field] === undefined)
    .map(({ index }) => ({ path: `providers[${index}].${field}`, message: missing }))

/** Fields of entries whose protocol has no use for them. */
const misplaced = (
  providers: ReadonlyArray<Placed<ProviderEntry>>,
  field: "tokenParameter" | "encryptedReasoning" | (typeof sdkFieldNames)[number],
  protocol: ProviderEntry["protocol"]
): ReadonlyArray<FileProblem> =>
  providers
    .filter(({ entry }) => entry[field] !== undefined && entry.protocol !== protocol)
    .map(({ index }) => ({
      path: `providers[${index}].${field}`,
      message: `Expected nothing, because only the protocol ${protocol} has it`
    }))

/** The entries whose key an earlier one has. */
const repeated = <Entry>(
  entries: ReadonlyArray<Placed<Entry>>,
  keyOf: (entry: Entry) => string
): ReadonlyArray<Placed<Entry>> => {
  const keys = entries.map(({ entry }) => keyOf(entry))
  return entries.filter(({ entry }, position) => keys.indexOf(keyOf(entry)) < position)
}

/** A model of the file, and what its requests have besides. */
interface ReadModel {
  readonly model: ModelSpec
  readonly extras: ModelExtras
  readonly problems: ReadonlyArray<FileProblem>
}

const modelOf = Effect.fnUntraced(function* ({
  entry,
  index
}: Placed<ModelEntry>): Effect.fn.Return<ReadModel> {
  const model = Struct.omit(entry, ["body", "dialect", "headers", "opensThinking"])
  return { model, ...(yield* readModelExtras(entry, `models[${index}]`)) }
})

/** The server that an entry describes, with its key and headers, and with what its models have besides. */
const serverOf = Effect.fnUntraced(function* (
  { entry, index }: Placed<ProviderEntry>,
  file: string,
  all: ReadonlyArray<ReadModel>
) {
  const found = entry.keyVariable === undefined ? null : yield* secretVariable(entry.keyVariable)
  if (found !== null && found.text === undefined) {
    const problem = {
      path: `providers[${index}].keyVariable`,
      message:
        found.problem === null
          ? `Expected the name of a variable that holds a key, but ${found.name} is not set, nor ${found.name}_FILE`
          : `Expected the name of a variable that holds a key, but ${found.name} has ${found.problem}`
    }
    return { server: Option.none<ModelServer>(), problems: [problem] }
  }
  const { headers, problems } = yield* readExtraHeaders(entry.headers ?? {}, `providers[${index}].headers`)
  const key = found?.text === undefined ? null : Redacted.make(found.text)
  const path = `providers[${index}]`
  const models = all.filter(({ model }) => model.provider === entry.id)
  const modelId = models[0]?.model.id ?? "model"
  const loaded =
    entry.protocol === "ai-sdk"
      ? yield* loadSdkPackage({ entry, baseUrl: entry.baseUrl, key, modelId, file, path })
      : noSdkPackage
  const protocol = entry.protocol === "ai-sdk" ? loaded.sdk?.protocol : protocols[entry.protocol]
  // A package that knows its own address stands for it.
  const url =
    entry.baseUrl === undefined ? Option.some(new URL(`npm:${entry.package}`)) : webUrl(entry.baseUrl)
  if (protocol === undefined)
    return { server: Option.none<ModelServer>(), problems: [...problems, ...loaded.problems] }
  const server = Option.map(url, (baseUrl): ModelServer => ({
    provider: entry.id,
    protocol,
    baseUrl,
    key,
    headers,
    tokenParameter: entry.tokenParameter ?? null,
    family: entry.dialect ?? null,
    encryptedReasoning: entry.encryptedReasoning ?? null,
    concurrentMax: entry.concurrentMax ?? null,
    models: new Map(models.map(({ extras, model }) => [model.id, extras])),
    sdk: loaded.sdk
  }))
  return { server, problems: [...problems, ...loaded.problems] }
})
