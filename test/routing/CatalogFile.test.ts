import { mkdtemp, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted } from "effect"
import {
  beginsThinking,
  bodyOf,
  endpointOf,
  firstDialect,
  protocolNames,
  protocols,
  secretsOf
} from "../../src/providers/ModelServer.ts"
import { readCatalogFile } from "../../src/routing/CatalogFile.ts"
import { removeDirectory } from "../support/removeDirectory.ts"

const directory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "parley-catalog-"))),
  (path) => Effect.sync(() => removeDirectory(path))
)

const environment = (variables: Readonly<Record<string, string>>) =>
  Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(variables))

/** Reads a catalog from a file that is written for it. */
const read = (content: unknown, variables: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const file = join(yield* directory, "models.json")
    const text = typeof content === "string" ? content : JSON.stringify(content)
    yield* Effect.promise(() => writeFile(file, text))
    return yield* readCatalogFile(file)
  }).pipe(environment(variables))

const provider = { id: "local", protocol: "openai-chat", baseUrl: "http://127.0.0.1:8000/v1" }
const model = {
  id: "m",
  provider: "local",
  contextWindow: 8192,
  maxOutputTokens: 1024,
  tools: true,
  quality: 0.5,
  cost: 0.1
}
const catalog = { providers: [provider], models: [model] }

describe("readCatalogFile", () => {
  it.effect("readCatalogFile reads providers and models", () =>
    Effect.gen(function* () {
      const { models, servers } = yield* read(catalog)
      assert.deepStrictEqual(models, [model])
      assert.strictEqual(servers.length, 1)
      assert.deepInclude(servers[0], { provider: "local", key: null, tokenParameter: null })
      assert.strictEqual(servers[0]?.baseUrl.href, "http://127.0.0.1:8000/v1")
    })
  )

  it.effect("readCatalogFile takes prices, where they are given", () =>
    Effect.gen(function* () {
      const priced = { ...model, id: "n", price: { input: 0.15, output: 2.5 } }
      const full = {
        ...priced,
        id: "o",
        price: { ...priced.price, cachedInput: 0, cacheWrite: 0.2, reasoning: 3 }
      }
      const models = [model, priced, full]
      assert.deepStrictEqual((yield* read({ ...catalog, models })).models, models)
    })
  )

  it.effect("readCatalogFile takes headers for a provider, secrets among them from variables", () =>
    Effect.gen(function* () {
      const headers = { "x-portkey-provider": "openai", "x-portkey-api-key": { variable: "PORTKEY_KEY" } }
      const { servers } = yield* read(
        { ...catalog, providers: [{ ...provider, headers }] },
        { PORTKEY_KEY: "sesame" }
      )
      assert.notInclude(JSON.stringify(servers), "sesame")
      assert.deepInclude(endpointOf(servers[0]!, "/models").headers, {
        "x-portkey-provider": "openai",
        "x-portkey-api-key": "sesame"
      })
    })
  )

  it.effect.each<readonly [object, string, RegExp]>([
    [{ "x-a": { variable: "PORTKEY_KEY" } }, "providers[0].headers.x-a.variable", /PORTKEY_KEY is not set/],
    [{ "x-a": { variable: "sesame-7" } }, "providers[0].headers.x-a", /variable/],
    [{ "x-a": "sesame-7\r\nx-b: c" }, "providers[0].headers.x-a", /printable ASCII/],
    [{ authorization: "Bearer sesame-7" }, "providers[0].headers.authorization", /keyVariable/],
    [{ "proxy-authorization": "sesame-7" }, "providers[0].headers.proxy-authorization", /for a proxy/],
    [{ "proxy-connection": "close" }, "providers[0].headers.proxy-connection", /for a proxy/],
    [{ "X-A": "b" }, "providers[0].headers.X-A", /small letters/]
  ])("readCatalogFile refuses headers that can't be sent: %j", ([headers, path, message]) =>
    Effect.gen(function* () {
      const invalid = yield* Effect.flip(read({ ...catalog, providers: [{ ...provider, headers }] }))
      assert.include(invalid.problems[0].path, path)
      assert.match(invalid.message, message)
      assert.notInclude(invalid.message, "sesame")
    })
  )

  it.effect("readCatalogFile takes fields, headers and a dialect for one model", () =>
    Effect.gen(function* () {
      const extras = {
        dialect: "deepseek",
        opensThinking: true,
        headers: { "x-route": { variable: "ROUTE" } },
        body: { chat_template_kwargs: { enable_thinking: true } }
      }
      const { models, servers } = yield* read(
        { ...catalog, models: [model, { ...model, id: "n", ...extras }] },
        { ROUTE: "sesame" }
      )
      assert.deepStrictEqual(models, [model, { ...model, id: "n" }])
      assert.notInclude(JSON.stringify(servers), "sesame")
      const [server] = servers
      const [plain, other] = models
      assert(server !== undefined && plain !== undefined && other !== undefined)
      assert.notProperty(endpointOf(server, "/models", "m").headers, "x-route")
      assert.propertyVal(endpointOf(server, "/models", "n").headers, "x-route", "sesame")
      assert.deepStrictEqual(
        [bodyOf(server, plain), bodyOf(server, other)],
        [null, JSON.stringify(extras.body)]
      )
      assert.deepStrictEqual([beginsThinking(server, plain), beginsThinking(server, other)], [false, true])
      assert.strictEqual(firstDialect(server, plain).reasoning, "returned")
      assert.strictEqual(firstDialect(server, other).reasoning, "always")
      assert.include(secretsOf(server).map(Redacted.value), "sesame")
    })
  )

  it.effect.each<readonly [object, string, RegExp]>([
    [{ body: { temperature: 1 } }, "models[0].body.temperature", /sets this one itself/],
    [{ body: { a: "b".repeat(20_000) } }, "models[0].body", /16384 characters/],
    [{ body: ["a"] }, "models[0].body", /object/],
    [{ headers: { authorization: "Bearer sesame-7" } }, "models[0].headers.authorization", /itself/],
    [{ headers: { "x-a": { variable: "ROUTE" } } }, "models[0].headers.x-a.variable", /ROUTE is not set/],
    [{ dialect: "mine" }, "models[0].dialect", /deepseek/],
    [{ opensThinking: "yes" }, "models[0].opensThinking", /boolean/]
  ])("readCatalogFile refuses fields of a model that can't be sent: %j", ([more, path, message]) =>
    Effect.gen(function* () {
      const invalid = yield* Effect.flip(read({ ...catalog, models: [{ ...model, ...more }] }))
      assert.include(invalid.problems[0].path, path)
      assert.match(invalid.message, message)
      assert.notInclude(invalid.message, "sesame")
    })
  )

  const sdk = { protocol: "ai-sdk", package: "@ai-sdk/mistral", packageFolder: import.meta.dirname }

  it.effect.each<readonly [object, object, string, RegExp]>([
    [{ ...sdk, dialect: "mistral" }, {}, "providers[0].dialect", /a package has its own rules/],
    [sdk, { dialect: "mistral" }, "models[0].dialect", /a package has its own rules/],
    [sdk, { opensThinking: false }, "models[0].opensThinking", /only the protocol openai-chat/],
    [sdk, { body: { a: 1 } }, "models[0].body", /providerOptions/],
    [
      { protocol: "anthropic" },
      { opensThinking: true },
      "models[0].opensThinking",
      /only the protocol openai-chat/
    ],
    [
      { protocol: "openai-responses" },
      { opensThinking: true },
      "models[0].opensThinking",
      /only the protocol openai-chat/
    ],
    [
      { protocol: "openai-responses" },
      { body: { reasoning: { effort: "low" } } },
      "models[0].body.reasoning",
      /"openai-responses" sets this one itself/
    ],
    [
      { protocol: "anthropic" },
      { body: { thinking: { type: "adaptive" } } },
      "models[0].body.thinking",
      /"anthropic" sets this one itself/
    ]
  ])("readCatalogFile refuses fields that a protocol doesn't take: %j %j", ([more, extras, path, message]) =>
    Effect.gen(function* () {
      const invalid = yield* Effect.flip(
        read({ providers: [{ ...provider, ...more }], models: [{ ...model, ...extras }] })
      )
      assert.deepStrictEqual(
        invalid.problems.map((problem) => problem.path),
        [path]
      )
      assert.match(invalid.message, message)
    })
  )

  it.effect("readCatalogFile takes the same fields where another protocol doesn't send them", () =>
    Effect.gen(function* () {
      const body = { reasoning: { max_tokens: 1000 }, thinking: { type: "enabled" } }
      const { servers } = yield* read({ ...catalog, models: [{ ...model, body }] })
      assert.strictEqual(bodyOf(servers[0]!, model), JSON.stringify(body))
    })
  )

  it.effect("readCatalogFile refuses a header only where the provider's protocol sets it", () =>
    Effect.gen(function* () {
      const headers = { "anthropic-version": "2024-01-01" }
      const at = (protocol: string) => ({ ...catalog, providers: [{ ...provider, protocol, headers }] })
      const invalid = yield* Effect.flip(read(at("anthropic")))
      assert.deepStrictEqual(invalid.problems, [
        {
          place: "line 1",
          path: "providers[0].headers.anthropic-version",
          message: 'Expected another header: the protocol "anthropic" sets this one itself'
        }
      ])
      assert.lengthOf((yield* read(at("openai-chat"))).servers, 1)
      const ofModel = {
        providers: [{ ...provider, protocol: "anthropic" }],
        models: [{ ...model, headers }]
      }
      const problems = (yield* Effect.flip(read(ofModel))).problems
      assert.deepStrictEqual(
        problems.map(({ path }) => path),
        ["models[0].headers.anthropic-version"]
      )
    })
  )

  it.effect("readCatalogFile takes the key of Azure in a header only where no variable holds it", () =>
    Effect.gen(function* () {
      const baseUrl = "https://example.openai.azure.com/openai/deployments/d?api-version=2024-10-21"
      const headers = { "api-key": { variable: "AZURE_KEY" } }
      const at = (more: object) => ({ ...catalog, providers: [{ ...provider, baseUrl, ...more }] })
      const variables = { AZURE_KEY: "sesame" }
      for (const given of [{ headers }, { keyVariable: "AZURE_KEY" }]) {
        const { servers } = yield* read(at(given), variables)
        const endpoints = servers.map((server) => endpointOf(server, "/chat/completions"))
        assert.deepStrictEqual(endpoints[0], {
          origin: "https://example.openai.azure.com",
          path: "/openai/deployments/d/chat/completions?api-version=2024-10-21",
          headers: { "content-type": "application/json", "api-key": "sesame" }
        })
      }
      const invalid = yield* Effect.flip(read(at({ headers, keyVariable: "AZURE_KEY" }), variables))
      assert.deepStrictEqual(
        invalid.problems.map(({ path }) => path),
        ["providers[0].headers.api-key"]
      )
    })
  )

  it.effect("readCatalogFile takes fields of one protocol only for this protocol", () =>
    Effect.gen(function* () {
      const fields = [
        ["openai-chat", "tokenParameter", "max_completion_tokens"],
        ["openai-responses", "encryptedReasoning", true]
      ] as const
      for (const [own, field, value] of fields) {
        const at = (protocol: string) => ({
          ...catalog,
          providers: [{ ...provider, protocol, [field]: value }]
        })
        assert.deepInclude((yield* read(at(own))).servers[0], { [field]: value })
        const invalid = yield* Effect.flip(read(at("anthropic")))
        assert.deepStrictEqual(
          invalid.problems.map(({ message, path }) => [path, message]),
          [[`providers[0].${field}`, `Expected nothing, because only the protocol ${own} has it`]]
        )
      }
    })
  )

  it.effect("readCatalogFile knows every protocol, and a provider's limit on concurrent requests", () =>
    Effect.gen(function* () {
      const providers = protocolNames.map((protocol) => ({
        ...provider,
        id: protocol,
        protocol,
        concurrentMax: 7
      }))
      const { servers } = yield* read({ providers, models: [{ ...model, provider: "anthropic" }] })
      assert.deepStrictEqual(
        servers.map((server) => [server.provider, server.protocol, server.concurrentMax]),
        protocolNames.map((protocol) => [protocol, protocols[protocol], 7])
      )
    })
  )

  it.effect("readCatalogFile takes the key from the named variable, or from the file of NAME_FILE", () =>
    Effect.gen(function* () {
      const withKey = { ...catalog, providers: [{ ...provider, keyVariable: "MY_KEY" }] }
      const keyOf = (content: Effect.Success<ReturnType<typeof read>>) => {
        const key = content.servers[0]?.key
        return key === undefined || key === null ? null : Redacted.value(key)
      }
      assert.strictEqual(keyOf(yield* read(withKey, { MY_KEY: "sk-1" })), "sk-1")
      const file = join(yield* directory, "key")
      yield* Effect.promise(() => writeFile(file, "sk-2\n"))
      assert.strictEqual(keyOf(yield* read(withKey, { MY_KEY_FILE: file })), "sk-2")
    })
  )

  it.effect.each([
    ["a missing field", { providers: [provider] }, "models: Missing: this field is required"],
    ["a field of another type", { ...catalog, models: [{ ...model, tools: "yes" }] }, "models[0].tools: "],
    [
      "a share above 1",
      { ...catalog, models: [model, { ...model, id: "n", quality: 2 }] },
      "models[1].quality: "
    ],
    ["a window of 0", { ...catalog, models: [{ ...model, contextWindow: 0 }] }, "models[0].contextWindow: "],
    [
      "a price below 0",
      { ...catalog, models: [{ ...model, price: { input: -1, output: 0 } }] },
      "models[0].price.input: "
    ],
    ...(["cachedInput", "cacheWrite", "reasoning"] as const).map(
      (part) =>
        [
          `a price below 0 of ${part}`,
          { ...catalog, models: [{ ...model, price: { input: 1, output: 1, [part]: -1 } }] },
          `models[0].price.${part}: `
        ] as const
    ),
    [
      "a price without the half of it",
      { ...catalog, models: [{ ...model, price: { input: 1 } }] },
      "models[0].price.output: "
    ],
    ["an unknown field", { ...catalog, providers: [{ ...provider, key: "sk-9" }] }, "providers[0].key: "],
    [
      "a token parameter where the protocol has none",
      { ...catalog, providers: [{ ...provider, protocol: "anthropic", tokenParameter: "max_tokens" }] },
      "providers[0].tokenParameter: "
    ],
    [
      "no request at once",
      { ...catalog, providers: [{ ...provider, concurrentMax: 0 }] },
      "providers[0].concurrentMax: "
    ],
    [
      "an unknown protocol",
      { ...catalog, providers: [{ ...provider, protocol: "x" }] },
      "providers[0].protocol: "
    ],
    ["no URL", { ...catalog, providers: [{ ...provider, baseUrl: "ftp://a" }] }, "providers[0].baseUrl: "],
    [
      "a URL with credentials",
      { ...catalog, providers: [{ ...provider, baseUrl: "http://u:sk-9@a/v1" }] },
      "providers[0].baseUrl: "
    ],
    [
      "a key in the place of its variable",
      { ...catalog, providers: [{ ...provider, keyVariable: "sk-9" }] },
      "providers[0].keyVariable: "
    ],
    ["no models", { ...catalog, models: [] }, "models"],
    ["no JSON", "{", "JSON"],
    ["an unknown provider", { ...catalog, models: [{ ...model, provider: "x" }] }, "models[0].provider: "],
    ["a model twice", { ...catalog, models: [model, model] }, "models[1].id: "],
    ["a provider twice", { ...catalog, providers: [provider, provider] }, "providers[1].id: "],
    [
      "more output than window",
      { ...catalog, models: [{ ...model, maxOutputTokens: 9000 }] },
      "models[0].maxOutputTokens: "
    ],
    ["a variable that isn't set", { ...catalog, providers: [{ ...provider, keyVariable: "GONE" }] }, "GONE"]
  ] as const)("readCatalogFile names the file and the place of %s", ([, content, expected]) =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(read(content))
      assert.match(failure.message, /PARLEY_MODELS_FILE .*models\.json can't be used/)
      assert.include(failure.message, expected)
      assert.notInclude(failure.message, "sk-9")
    })
  )

  it.effect("readCatalogFile reports all problems at once", () =>
    Effect.gen(function* () {
      const broken = {
        providers: [{ ...provider, id: "" }],
        models: [{ ...model, cost: -1, quality: "good" }]
      }
      const failure = yield* Effect.flip(read(broken))
      assert.deepStrictEqual(failure.problems.map((problem) => problem.path).toSorted(), [
        "models[0].cost",
        "models[0].quality",
        "providers[0].id"
      ])
    })
  )

  it.effect(
    "readCatalogFile names the line and the key of a wrong field, and the object of a missing one",
    () =>
      Effect.gen(function* () {
        const broken = {
          providers: [{ ...provider, baseUrl: "nowhere" }],
          models: [model, { ...model, id: "other", cost: undefined }],
          more: 1
        }
        const text = JSON.stringify(broken, null, 2)
        const lineOf = (part: string) => text.slice(0, text.lastIndexOf(part)).split("\n").length
        const { message } = yield* Effect.flip(read(text))
        assert.include(message, `  line ${lineOf('"baseUrl"')}, providers[0].baseUrl: `)
        assert.include(message, `  line ${lineOf("{")}, models[1].cost: Missing`)
        assert.include(message, `  line ${lineOf('"more"')}, more: `)
      })
  )

  it.effect.each([
    ['{\n  "providers": [],\n}', "line 3, column 1"],
    ['{\r\n  "providers": [\r\n', "line 3, column 1"],
    ['{\n  // ours\n  "models": []\n}', "line 2, column 3"],
    ['{"providers": [] "models": []}', "line 1, column 18"],
    ["", "line 1, column 1"]
  ] as const)("readCatalogFile names line and column where a file stops being JSON: %j", ([text, place]) =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(read(text))
      assert.include(message, `  ${place}: Expected a JSON document.`)
    })
  )

  it.effect("readCatalogFile reports wrong references and keys behind a wrong shape, too", () =>
    Effect.gen(function* () {
      const broken = {
        providers: [
          { ...provider, id: "broken", protocol: "x" },
          { ...provider, keyVariable: "GONE" }
        ],
        models: [{ ...model, provider: "broken" }, { ...model, provider: "nobody" }, model, model],
        more: 1
      }
      const failure = yield* Effect.flip(read(broken))
      assert.deepStrictEqual(failure.problems.map((problem) => problem.path).toSorted(), [
        "models[1].provider",
        "models[3].id",
        "more",
        "providers[0].protocol",
        "providers[1].keyVariable"
      ])
    })
  )

  it.effect("readCatalogFile refuses a key that is given twice, or whose file can't be read", () =>
    Effect.gen(function* () {
      const withKey = { ...catalog, providers: [{ ...provider, keyVariable: "MY_KEY" }] }
      for (const variables of [{ MY_KEY: "sk-9", MY_KEY_FILE: "/x" }, { MY_KEY_FILE: "/nowhere/key" }]) {
        const failure = yield* Effect.flip(read(withKey, variables))
        assert.include(failure.message, "providers[0].keyVariable")
        assert.include(failure.message, "MY_KEY_FILE")
        assert.notInclude(failure.message, "sk-9")
      }
    })
  )

  it.effect("readCatalogFile names a file that isn't there", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(readCatalogFile("/nowhere/models.json"))
      assert.include(failure.message, "/nowhere/models.json")
    })
  )
})
