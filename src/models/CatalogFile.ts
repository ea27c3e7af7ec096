import { ConfigProvider, Effect, Option, Redacted, Schema, SchemaIssue } from "effect"
import { readFile } from "node:fs/promises"
import { ModelSpec } from "../domain/ModelSpec.ts"
import type { ChatServer } from "./OpenAiChat.ts"

const fileBytesMax = 1024 * 1024
const secretBytesMax = 64 * 1024

/** An address of a model server, as far as Chat Completions is found under it. */
const BaseUrl = Schema.String.check(
  Schema.makeFilter((text) =>
    httpUrl(text) === null ? "Expected an http or https URL such as http://127.0.0.1:8000/v1" : undefined
  )
)

const ProviderEntry = Schema.Struct({
  id: Schema.NonEmptyString,
  protocol: Schema.Literals(["openai-chat"]),
  baseUrl: BaseUrl,
  /** The environment variable that holds the key; the file itself holds none. */
  keyVariable: Schema.optionalKey(Schema.NonEmptyString),
  tokenParameter: Schema.optionalKey(Schema.Literals(["max_tokens", "max_completion_tokens"]))
})

const CatalogFile = Schema.Struct({
  providers: Schema.NonEmptyArray(ProviderEntry),
  models: Schema.NonEmptyArray(ModelSpec)
})
type CatalogFile = typeof CatalogFile.Type

/** What a catalog file says, with the keys. */
export interface CatalogContent {
  readonly servers: ReadonlyArray<ChatServer>
  readonly models: ReadonlyArray<ModelSpec>
}

/** Where in the file something is wrong, and what. */
const CatalogProblem = Schema.Struct({ path: Schema.String, message: Schema.String })
type CatalogProblem = typeof CatalogProblem.Type

/** The models can't be known as they are configured; the service must not start. */
export class CatalogInvalid extends Schema.TaggedError<CatalogInvalid>()("CatalogInvalid", {
  /** The file, or the variable, that has to be changed. */
  source: Schema.String,
  problems: Schema.NonEmptyArray(CatalogProblem)
}) {
  override get message(): string {
    const lines = this.problems.map(({ message, path }) => (path === "" ? message : `${path}: ${message}`))
    return `${this.source} can't be used:\n${lines.map((line) => `  ${line}`).join("\n")}`
  }
}

const invalid = (source: string, path: string, message: string) =>
  new CatalogInvalid({ source, problems: [{ path, message }] })

/** null where the text is no address of a web server. */
export const httpUrl = (text: string): URL | null => {
  const url = URL.parse(text)
  return url !== null && (url.protocol === "http:" || url.protocol === "https:") ? url : null
}

/** Reads and checks a catalog file. Every problem is told at once. */
export const readCatalogFile = Effect.fnUntraced(function* (file: string) {
  const source = `PARLEY_MODELS_FILE ${file}`
  const bytes = yield* Effect.tryPromise({
    try: () => readFile(file),
    catch: () => invalid(source, "", "the file can't be read")
  })
  if (bytes.length > fileBytesMax) return yield* invalid(source, "", "the file is too long")
  const content = yield* decodeCatalog(bytes.toString("utf8")).pipe(
    Effect.mapError((problems) => new CatalogInvalid({ source, problems }))
  )
  const servers = yield* Effect.forEach(content.providers, (provider, index) =>
    serverOf(source, provider, index)
  )
  return { servers, models: content.models } satisfies CatalogContent
})

type Problems = readonly [CatalogProblem, ...Array<CatalogProblem>]

const decodeCatalog = (text: string): Effect.Effect<CatalogFile, Problems> =>
  Schema.decodeUnknownEffect(Schema.fromJsonString(CatalogFile), {
    errors: "all",
    onExcessProperty: "error"
  })(text).pipe(
    Effect.mapError((error) => shapeProblems(error.issue)),
    Effect.flatMap((content) => {
      const [first, ...rest] = referenceProblems(content)
      return first === undefined ? Effect.succeed(content) : Effect.fail([first, ...rest] as const)
    })
  )

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1()

const shapeProblems = (issue: SchemaIssue.Issue): Problems => {
  const [first, ...rest] = issuesOf(issue).issues.map(({ message, path }) => ({
    path: pathText((path ?? []).map((step) => (typeof step === "object" ? step.key : step))),
    message
  }))
  return [first ?? { path: "", message: "Expected a catalog" }, ...rest]
}

const pathText = (path: ReadonlyArray<PropertyKey>): string =>
  path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
    .join("")
    .replace(/^\./, "")

/** What the shape can't say: names that must be known, or must not occur twice. */
const referenceProblems = ({ models, providers }: CatalogFile): ReadonlyArray<CatalogProblem> => {
  const providerIds = providers.map((provider) => provider.id)
  const modelKeys = models.map((model) => JSON.stringify([model.provider, model.id]))
  return [
    ...repeated(providerIds).map((index) => ({
      path: `providers[${index}].id`,
      message: "Expected an id that no other provider has"
    })),
    ...repeated(modelKeys).map((index) => ({
      path: `models[${index}].id`,
      message: "Expected an id that no other model of the provider has"
    })),
    ...models.flatMap((model, index) => [
      ...(providerIds.includes(model.provider)
        ? []
        : [{ path: `models[${index}].provider`, message: "Expected the id of one of the providers" }]),
      ...(model.maxOutputTokens <= model.contextWindow
        ? []
        : [{ path: `models[${index}].maxOutputTokens`, message: "Expected no more than contextWindow" }])
    ])
  ]
}

const repeated = (keys: ReadonlyArray<string>): ReadonlyArray<number> =>
  keys.flatMap((key, index) => (keys.indexOf(key) < index ? [index] : []))

const serverOf = Effect.fnUntraced(function* (
  source: string,
  provider: typeof ProviderEntry.Type,
  index: number
) {
  const baseUrl = httpUrl(provider.baseUrl)
  if (baseUrl === null) return yield* invalid(source, `providers[${index}].baseUrl`, "Expected a URL")
  const key = provider.keyVariable === undefined ? null : yield* secret(provider.keyVariable)
  if (key !== null && Option.isNone(key)) {
    return yield* invalid(
      source,
      `providers[${index}].keyVariable`,
      `the environment variable ${provider.keyVariable} (or ${provider.keyVariable}_FILE) holds no key`
    )
  }
  return {
    provider: provider.id,
    baseUrl,
    key: key === null ? null : Redacted.make(key.value),
    tokenParameter: provider.tokenParameter ?? null
  } satisfies ChatServer
})

/** The value of a variable, or of the file that NAME_FILE names. */
const secret = Effect.fnUntraced(function* (name: string) {
  const direct = yield* variable(name)
  if (Option.isSome(direct)) return direct
  const file = yield* variable(`${name}_FILE`)
  if (Option.isNone(file)) return Option.none<string>()
  const text = yield* Effect.tryPromise(() => readFile(file.value)).pipe(
    Effect.map((bytes) => (bytes.length > secretBytesMax ? "" : bytes.toString("utf8").trim())),
    Effect.orElseSucceed(() => "")
  )
  return text === "" ? Option.none<string>() : Option.some(text)
})

const variable = Effect.fnUntraced(function* (name: string) {
  const provider = yield* ConfigProvider.ConfigProvider
  // The environment is at hand; a provider that can fail would be a mistake of whoever wired it.
  const node = yield* Effect.orDie(provider.load([name]))
  const text = node?.value?.trim() ?? ""
  return text === "" ? Option.none<string>() : Option.some(text)
})
