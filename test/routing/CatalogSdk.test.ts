import { mkdir, mkdtemp, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { firstDialect, originOf, secretsOf } from "../../src/providers/ModelServer.ts"
import { readCatalogFile } from "../../src/routing/CatalogFile.ts"
import { placeOf } from "../../src/routing/ModelServerList.ts"
import { request } from "../providers/ServerSetup.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { until } from "../support/until.ts"

/** A package that keeps the settings that it is given where the test finds them. */
const goodPackage = `
  export const createGood = (settings) => ({
    settings,
    languageModel: (id) => {
      if (settings.region === "nowhere") throw new RangeError("nowhere")
      return { specificationVersion: "v3", modelId: id, doStream: async () => ({}) }
    }
  })
  export const createAlias = createGood
  export const good = createGood({})
`

const packages: Readonly<Record<string, string>> = {
  "good-package": goodPackage,
  "@scope/good": goodPackage,
  "no-create": "export const make = () => ({})",
  "two-creates": "export const createA = () => ({}); export const createB = () => ({})",
  "no-models": "export const createModels = () => ({ textEmbeddingModel: () => ({}) })",
  "old-package":
    "export const createOld = () => ({ languageModel: () => ({ specificationVersion: 'v1', doStream: () => ({}) }) })",
  "import-only": goodPackage,
  "broken-package": "throw new Error('it needs a newer Node')",
  "telling-package": "throw new Error('not with ' + 'open sesame')",
  "nameless-package": "throw Object.create(null)",
  "hanging-package": "await new Promise(() => setInterval(() => {}, 1_000_000).unref())"
}

const install = async (folder: string): Promise<void> => {
  for (const [name, source] of Object.entries(packages)) {
    const directory = join(folder, "node_modules", name)
    await mkdir(directory, { recursive: true })
    const whole = { ".": "./index.mjs", "./part": "./index.mjs" }
    const imported = { import: { types: "./index.d.ts", default: "./index.mjs" } }
    const exports = name === "import-only" ? { ".": imported, "./part": imported } : whole
    await writeFile(join(directory, "package.json"), JSON.stringify({ name, exports }))
    await writeFile(join(directory, "index.mjs"), source)
  }
}

const directory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "parley-catalog-"))),
  (path) => Effect.sync(() => removeDirectory(path))
)

const model = {
  id: "m",
  provider: "sdk",
  contextWindow: 8192,
  maxOutputTokens: 1024,
  tools: true,
  quality: 0.5,
  cost: 0.1
}

/** Reads a catalog whose provider has these fields, beside the packages or in the folder above them. */
const read = Effect.fnUntraced(function* (
  provider: object,
  variables: Readonly<Record<string, string>> = {},
  installed = "."
) {
  const folder = yield* directory
  yield* Effect.promise(() => install(join(folder, installed)))
  const file = join(folder, "models.json")
  const entry = { id: "sdk", protocol: "ai-sdk", ...provider }
  yield* Effect.promise(() =>
    writeFile(file, JSON.stringify({ providers: [entry], models: [model] }, null, 1))
  )
  const found = yield* Effect.provideService(
    Effect.result(readCatalogFile(file)),
    ConfigProvider.ConfigProvider,
    ConfigProvider.fromEnvRecord(variables)
  )
  return { folder, found }
}, Effect.scoped)

const serverOf = (provider: object, variables: Readonly<Record<string, string>> = {}, installed = ".") =>
  Effect.gen(function* () {
    const { found } = yield* read(provider, variables, installed)
    if (found._tag === "Failure") return assert.fail(found.failure.message)
    return found.success.servers[0]!
  })

const problemOf = (provider: object, variables: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const { folder, found } = yield* read(provider, variables)
    if (found._tag === "Success") return assert.fail("the catalog is valid")
    assert.lengthOf(found.failure.problems, 1)
    return { folder, ...found.failure.problems[0] }
  })

describe("a provider of a catalog with the protocol ai-sdk", () => {
  it.effect("a provider of the AI SDK is asked by the package that is installed beside the catalog", () =>
    Effect.gen(function* () {
      const server = yield* serverOf({ package: "good-package" })
      assert.strictEqual(server.protocol.name, "ai-sdk")
      assert.strictEqual(placeOf(server), "good-package")
      assert.strictEqual(originOf(server, "m"), "ai-sdk good-package m")
    })
  )

  it.effect("a provider of the AI SDK may name a scope, a part, an address and the package's folder", () =>
    Effect.gen(function* () {
      const server = yield* serverOf(
        { package: "@scope/good/part", packageFolder: "packages", baseUrl: "https://models.example/v1?a=b" },
        {},
        "packages"
      )
      assert.strictEqual(placeOf(server), "@scope/good/part at https://models.example/v1")
    })
  )

  it.effect.each(["import-only", "import-only/part"])("a package may export for import alone: %s", (name) =>
    Effect.gen(function* () {
      assert.strictEqual(placeOf(yield* serverOf({ package: name })), name)
    })
  )

  it.live("a package of the AI SDK that hangs while it is loaded is not waited for", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(problemOf({ package: "hanging-package" }))
      yield* until(Effect.map(TestClock.adjust("10 seconds"), () => fiber.pollUnsafe() !== undefined))
      const { message } = yield* Fiber.join(fiber)
      assert.match(message ?? "", /hanging-package can't be loaded from .* isn't there after 30 seconds/)
    }).pipe(Effect.provide(TestClock.layer()))
  )

  it.effect("the message of a package that can't be loaded has none of its secrets", () =>
    Effect.gen(function* () {
      const { message } = yield* problemOf(
        {
          package: "telling-package",
          keyVariable: "KEY",
          options: { list: [{ variable: "OTHER" }] }
        },
        { KEY: "open", OTHER: "sesame" }
      )
      assert.match(message ?? "", /can't be loaded from .*: not with \[redacted\] \[redacted\]\.$/)
    })
  )

  it.effect("a package of the AI SDK is found in the folders above, as Node looks for imports", () =>
    Effect.gen(function* () {
      const server = yield* serverOf({ package: "good-package", packageFolder: "elsewhere/deep" })
      assert.strictEqual(placeOf(server), "good-package")
    })
  )

  it.effect("reasoning goes back to the same package, address and options only", () =>
    Effect.gen(function* () {
      const origins = yield* Effect.forEach(
        [
          { package: "good-package" },
          { package: "@scope/good" },
          { package: "good-package", baseUrl: "https://models.example/v1" },
          { package: "good-package", options: { region: "eu" } },
          { package: "good-package", options: { region: "us" } }
        ],
        (provider) => Effect.map(serverOf(provider), (server) => originOf(server, "m"))
      )
      assert.strictEqual(new Set(origins).size, origins.length)
    })
  )

  it.effect("a provider of the AI SDK takes secret options from variables, and hides them", () =>
    Effect.gen(function* () {
      const options = {
        region: "eu-central-1",
        accessKeyId: { variable: "AWS_ID" },
        auth: { credentials: { private_key: { variable: "GCP_KEY" } } },
        list: [1, { variable: "IN_LIST" }, { deep: [{ variable: "DEEP" }] }]
      }
      const server = yield* serverOf(
        {
          package: "good-package",
          keyVariable: "KEY",
          options,
          providerOptions: { good: { guard: { variable: "GUARD" }, cacheKey: "house" } },
          efforts: { low: { good: { guard: [{ variable: "EFFORT" }] } } }
        },
        {
          KEY: "sesame-1",
          AWS_ID: "sesame-2",
          GCP_KEY: "sesame-3",
          IN_LIST: "sesame-4",
          DEEP: "sesame-5",
          GUARD: "sesame-6",
          EFFORT: "sesame-7"
        }
      )
      assert.deepStrictEqual(
        secretsOf(server).map(Redacted.value),
        [1, 2, 3, 4, 5, 6, 7].map((number) => `sesame-${number}`)
      )
      assert.notInclude(JSON.stringify(server), "sesame")
      assert.notMatch(originOf(server, "m"), /sesame|eu-central-1/)
      const body = server.protocol.encode(
        "m",
        request("hi", { options: { reasoningEffort: "low" } }),
        firstDialect(server, model)
      )
      assert.deepStrictEqual(JSON.parse(body).providerOptions, {
        good: { guard: ["sesame-7"], cacheKey: "house" }
      })
    })
  )

  it.effect.each<readonly [object, string, RegExp]>([
    [{}, "providers[0].package", /^Missing/],
    [{ package: "../good-package" }, "providers[0].package", /name of a package/],
    [{ package: "/etc/passwd" }, "providers[0].package", /name of a package/],
    [{ package: "file:good-package" }, "providers[0].package", /name of a package/],
    [
      { package: "@ai-sdk/cohere" },
      "providers[0].package",
      /@ai-sdk\/cohere is not installed in FOLDER\. To install one, run: npm install --prefix FOLDER @ai-sdk\/cohere$/
    ],
    [{ package: "good-package/other" }, "providers[0].package", /can't be found in FOLDER: .*\.$/],
    [
      { package: "broken-package" },
      "providers[0].package",
      /can't be loaded from FOLDER: it needs a newer Node\.$/
    ],
    [
      { package: "nameless-package" },
      "providers[0].package",
      /can't be loaded from FOLDER: an error that can't be read\.$/
    ],
    [{ package: "no-create" }, "providers[0].package", /no-create exports 0 functions that are named create/],
    [
      { package: "two-creates" },
      "providers[0].package",
      /two-creates exports 2 functions that are named create/
    ],
    [
      { package: "no-models" },
      "providers[0].package",
      /no-models creates a provider without language models/
    ],
    [
      { package: "old-package" },
      "providers[0].package",
      /old-package has models of the interface v1, and not of v2, v3, v4/
    ],
    [
      { package: "good-package", options: { region: "nowhere" } },
      "providers[0].package",
      /good-package refuses what baseUrl, keyVariable and options say \(RangeError\)/
    ],
    [
      { package: "good-package", options: { apiKey: "sesame" } },
      "providers[0].options.apiKey",
      /belongs in a variable/
    ],
    [
      { package: "good-package", options: { auth: { clientSecret: "sesame" } } },
      "providers[0].options.auth.clientSecret",
      /belongs in a variable/
    ],
    [
      { package: "good-package", options: { keys: ["sesame"] } },
      "providers[0].options.keys[0]",
      /belongs in a variable/
    ],
    [
      { package: "good-package", options: { list: [{ token: "sesame" }] } },
      "providers[0].options.list[0].token",
      /belongs in a variable/
    ],
    [
      { package: "good-package", options: { headers: { authorization: "sesame" } } },
      "providers[0].options.headers.authorization",
      /belongs in a variable/
    ],
    [
      { package: "good-package", options: { bearer: "sesame" } },
      "providers[0].options.bearer",
      /belongs in a variable/
    ],
    [
      { package: "good-package", options: { credential: "sesame" } },
      "providers[0].options.credential",
      /belongs in a variable/
    ],
    [
      { package: "good-package", providerOptions: { good: { apiKey: "sesame" } } },
      "providers[0].providerOptions.good.apiKey",
      /belongs in a variable/
    ],
    [
      { package: "good-package", efforts: { low: { good: { apiKey: "sesame" } } } },
      "providers[0].efforts.low.good.apiKey",
      /belongs in a variable/
    ],
    [
      { package: "good-package", options: { a: { variable: "UNSET" } } },
      "providers[0].options.a",
      /UNSET is not set/
    ],
    [
      { package: "good-package", options: { baseURL: "https://models.example" } },
      "providers[0].options.baseURL",
      /baseUrl of the provider/
    ],
    [{ package: "good-package", efforts: { huge: {} } }, "providers[0].efforts.huge", /no such field/],
    [{ package: "good-package", tokenParameter: "max_tokens" }, "providers[0].tokenParameter", /openai-chat/],
    [
      { protocol: "anthropic", baseUrl: "https://a.example", package: "good-package" },
      "providers[0].package",
      /only the protocol ai-sdk/
    ],
    [
      { protocol: "anthropic", baseUrl: "https://a.example", providerOptions: {} },
      "providers[0].providerOptions",
      /only the protocol ai-sdk/
    ],
    [{ protocol: "anthropic" }, "providers[0].baseUrl", /^Missing/]
  ])("a provider of the AI SDK is refused with the field and the remedy: %j", ([provider, path, message]) =>
    Effect.gen(function* () {
      const problem = yield* problemOf(provider)
      assert.strictEqual(problem.path, path)
      assert.match((problem.message ?? "").replaceAll(problem.folder, "FOLDER"), message)
      assert.notInclude(problem.message, "sesame")
      assert.isDefined(problem.place)
    })
  )
})
