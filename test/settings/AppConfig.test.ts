import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Option, Redacted, Schema } from "effect"
import { envExample, settingsDocument } from "../../scripts/settings.ts"
import { describeSettings, readSettings, unknownVariables } from "../../src/settings/AppConfig.ts"
import type { Setting } from "../../src/settings/Setting.ts"
import type { SettingsInvalid } from "../../src/settings/SettingProblem.ts"
import { settingsTable } from "../../src/settings/SettingsTable.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { testConfig } from "../support/TestConfig.ts"

type Environment = Record<string, string>

const rows: ReadonlyArray<Setting<unknown>> = Object.values(settingsTable).flatMap((group) =>
  Object.values<Setting<unknown>>(group)
)

const withEnvironment = (env: Environment) =>
  Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
const settingsOf = (env: Environment) => readSettings([]).pipe(withEnvironment(env))
const problemsOf = (env: Environment) => Effect.map(Effect.flip(settingsOf(env)), (error) => error.problems)
const namesOf = (env: Environment) =>
  Effect.map(problemsOf(env), (problems) => problems.map(({ name }) => name))

/** A file that holds the text, for as long as the test runs. */
const fileWith = (text: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const directory = mkdtempSync(join(tmpdir(), "parley-config-"))
      const path = join(directory, "secret")
      writeFileSync(path, text)
      return { directory, path }
    }),
    ({ directory }) => Effect.sync(() => removeDirectory(directory))
  ).pipe(Effect.map(({ path }) => path))

const inProject = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")

describe("settings that are left out", () => {
  it.effect("the settings have the documented defaults", () =>
    Effect.gen(function* () {
      const settings = yield* settingsOf({})
      assert.deepStrictEqual(settings, {
        ...testConfig(),
        dataDir: resolve(".data"),
        logFormat: "auto",
        logLevel: "info",
        backup: { ...testConfig().backup, everyHours: null },
        http: {
          ...testConfig().http,
          port: 3000,
          drainSeconds: 0,
          shutdownGraceSeconds: 20,
          bodiesBytesMax: 268_435_456,
          userBodyBytesMax: 67_108_864,
          userRequestsMax: 32,
          userRequestsPerMinute: 1_200
        }
      })
    })
  )

  it.effect("settings that are left out may also be empty or blank", () =>
    Effect.gen(function* () {
      const blank = Object.fromEntries(rows.map(({ name }, index) => [name, index % 2 === 0 ? "" : "  "]))
      assert.deepStrictEqual(yield* settingsOf(blank), yield* settingsOf({}))
    })
  )
})

describe("settings that are given", () => {
  it.effect("each reach their own field", () =>
    Effect.gen(function* () {
      const models = yield* fileWith("{}")
      const texts = new Map(
        rows.map((row, index) => [row.name, row.default === "5" ? "4" : String(100 + index)])
      )
      const given: Environment = {
        PARLEY_LOG_FORMAT: "pretty",
        PARLEY_LOG_LEVEL: "Warn",
        HOST: "0.0.0.0",
        PARLEY_OPENAPI_PUBLIC: "true",
        PARLEY_CORS_ORIGINS: "https://app.example.com,http://localhost:5173",
        PARLEY_BODY_BYTES_MAX: "2048",
        PARLEY_MEDIA_BODY_BYTES_MAX: "4096",
        PARLEY_REQUEST_SECONDS: "1000",
        DATABASE_URL: "postgres://one:two@three:4/five",
        PARLEY_ADMIN_KEY: "0123456789abcdef0123456789abcdef",
        PARLEY_INIT_API_KEY: `parley_${"a1".repeat(20)}`,
        PARLEY_INIT_USER_EMAIL: "ann@example.com",
        PARLEY_PUBLIC_URL: "https://parley.example.com/chat",
        PARLEY_TRUSTED_PROXIES: "127.0.0.1,10.0.0.0/8,2001:db8::/32",
        PARLEY_SESSION_IDLE_SECONDS: "3600",
        PARLEY_SESSION_SECONDS: "7200",
        PARLEY_OIDC_ISSUER: "https://login.example.com/realms/main/",
        PARLEY_OIDC_CLIENT_SECRET: "shh",
        PARLEY_OIDC_SCOPES: "openid,groups",
        PARLEY_OIDC_ALLOWED_DOMAINS: "example.com",
        PARLEY_OIDC_GROUPS: "staff=Example:admin",
        PARLEY_OIDC_SECONDS: "11",
        PARLEY_PLANS_FILE: models,
        PARLEY_LICENSE: "a.b.c",
        PARLEY_LICENSE_PUBLIC_KEY: "MCowBQYDK2VwAyEAYOUR+PUBLIC+KEY+YOUR+PUBLIC+KEY+YOUR+PUBLIA=",
        PARLEY_MODELS_FILE: models,
        OPENAI_BASE_URL: "http://127.0.0.1:8000/v1/",
        OPENAI_API_KEY: "sk-1",
        OPENAI_MODEL: "some-model",
        PARLEY_ROUTER_BALANCE: "70",
        PARLEY_REASONING: "turn",
        PARLEY_V1_REASONING: "shown",
        PARLEY_FILES_STORE: "S3",
        PARLEY_FILES_MOVE_TO: "postgres",
        PARLEY_FILES_DIRECTORY_SHARED: "true",
        PARLEY_EXTRACTION_MEMORY_BYTES_MAX: "268435456",
        PARLEY_TEXT_BYTES_MAX: "4096",
        PARLEY_EXTRACTIONS_MAX: "3",
        PARLEY_S3_ENDPOINT: "http://127.0.0.1:9000",
        PARLEY_S3_BUCKET: "some-bucket",
        PARLEY_S3_PREFIX: "some/prefix/",
        PARLEY_S3_SECRET_ACCESS_KEY: "shh",
        PARLEY_BACKUP_PASSPHRASE: "twelve-or-more-characters",
        PARLEY_BACKUP_RECIPIENT: `age1${"q".repeat(58)}`,
        PARLEY_BACKUP_IDENTITY: `AGE-SECRET-KEY-1${"Q".repeat(58)}`,
        PARLEY_TOOLS: "calculator,web_search",
        PARLEY_SEARCH_PROVIDER: "brave",
        PARLEY_SEARCH_URL: "http://127.0.0.1:8888",
        PARLEY_SEARCH_API_KEY: "shh",
        PARLEY_SEARCH_SECONDS: "11",
        PARLEY_SEARCH_RESULTS_MAX: "7",
        PARLEY_EMBEDDINGS_WEIGHT: "1.25",
        PARLEY_FETCH_BYTES_MAX: "2048",
        PARLEY_WEB_ALLOW_HOSTS: "example.com,example.org",
        PARLEY_WEB_DENY_HOSTS: "example.net",
        PARLEY_WEB_FETCH_ADDRESSES: "any",
        PARLEY_PROJECT_CREATORS: "administrators",
        PARLEY_EGRESS_ALLOW: "127.0.0.2",
        PARLEY_EMBEDDINGS_URL: "http://127.0.0.1:8001/v1",
        PARLEY_EMBEDDINGS_API_KEY: "shh",
        PARLEY_EMBEDDINGS_MODEL: "some-embedder",
        PARLEY_ACCESS_LOG: "false",
        PARLEY_METRICS_TOKEN: "0123456789abcdef",
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318",
        OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20shh",
        PARLEY_OTLP_SIGNALS: "logs,metrics",
        PARLEY_TRACE_SAMPLE: "0.25",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test"
      }
      const env = { ...Object.fromEntries(texts), ...given }
      const described = describeSettings(yield* settingsOf(env))
      const expected = new Map([...texts, ...Object.entries(given)])
      for (const name of ["PARLEY_DATA_DIR", "PARLEY_BACKUP_DIR"])
        expected.set(name, resolve(texts.get(name) ?? ""))
      expected.set("PARLEY_LOG_LEVEL", "warn")
      expected.set("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")
      expected.set("PARLEY_FILES_STORE", "s3")
      for (const { name, secret } of rows) if (secret) expected.set(name, "<redacted>")
      assert.deepStrictEqual(new Map(described.map(({ name, value }) => [name, value ?? ""])), expected)
    }).pipe(Effect.scoped)
  )

  for (const [publicUrl, basePath] of [
    ["https://parley.example.com", "/"],
    ["http://127.0.0.1:3000/", "/"],
    ["https://example.com/tools/parley/", "/tools/parley/"]
  ] as const) {
    it.effect(`the web application at ${publicUrl} has the base path ${basePath}`, () =>
      Effect.gen(function* () {
        const { console } = yield* settingsOf({ PARLEY_PUBLIC_URL: publicUrl })
        assert.strictEqual(console.basePath, basePath)
      })
    )
  }

  it.effect(
    "a service behind a proxy drains for five seconds unless PARLEY_DRAIN_SECONDS says otherwise",
    () =>
      Effect.gen(function* () {
        const drainSecondsOf = (env: Environment) =>
          Effect.map(
            settingsOf({ PARLEY_TRUSTED_PROXIES: "127.0.0.1", ...env }),
            ({ http }) => http.drainSeconds
          )
        assert.strictEqual(yield* drainSecondsOf({}), 5)
        assert.strictEqual(yield* drainSecondsOf({ PARLEY_DRAIN_SECONDS: "0" }), 0)
        assert.strictEqual(yield* drainSecondsOf({ PARLEY_DRAIN_SECONDS: "30" }), 30)
      })
  )

  it.effect("given settings keep their secrets redacted, and whole", () =>
    Effect.gen(function* () {
      const { auth } = yield* settingsOf({ PARLEY_ADMIN_KEY: " thirty-two-or-more-characters-in-all " })
      assert.strictEqual(
        auth.adminKey === null ? null : Redacted.value(auth.adminKey),
        "thirty-two-or-more-characters-in-all"
      )
      assert.notInclude(JSON.stringify(auth), "thirty")
    })
  )

  it.effect.prop(
    "numbers among the settings are whole and within their bounds, or a named problem",
    [Schema.Int.check(Schema.isBetween({ minimum: -10, maximum: 80_000 }))],
    ([port]) =>
      Effect.gen(function* () {
        const result = yield* Effect.result(settingsOf({ PORT: String(port) }))
        if (port >= 0 && port <= 65_535) {
          assert.strictEqual(result._tag === "Success" ? result.success.http.port : null, port)
        } else {
          assert.deepStrictEqual(
            result._tag === "Failure" ? result.failure.problems.map(({ name }) => name) : [],
            ["PORT"]
          )
        }
      })
  )

  for (const [name, text] of [
    ["PARLEY_DATA_DIR", "/etc/passwd"],
    ["PARLEY_DATA_DIR", process.platform === "linux" ? "/proc/nope" : "/etc/passwd/nope"],
    ["PORT", "3000.5"],
    ["PORT", "1e3"],
    ["PORT", "0x10"],
    ["PORT", "3000 4000"],
    ["HOST", "http://127.0.0.1"],
    ["HOST", "localhost:3000"],
    ["PARLEY_LOG_LEVEL", "loud"],
    ["PARLEY_OPENAPI_PUBLIC", "maybe"],
    ["PARLEY_KEY_CACHE_SECONDS", "6"],
    ["PARLEY_MODELS_FILE", "/no/such/file.json"],
    ["OPENAI_BASE_URL", "127.0.0.1:8000"],
    ["OPENAI_BASE_URL", "ftp://127.0.0.1/v1"],
    ["OPENAI_MODEL", "a,two words"],
    ["OPENAI_MODEL", ","],
    ["OPENAI_MODEL", "x".repeat(201)],
    ["OPENAI_MODEL", "two words"],
    ["PARLEY_INIT_USER_EMAIL", "nobody"],
    ["PARLEY_PUBLIC_URL", "parley.example.com"],
    ["PARLEY_TRUSTED_PROXIES", "10.0.0.0/33"],
    ["PARLEY_TRUSTED_PROXIES", "proxy.example.com"],
    ["PARLEY_SESSION_IDLE_SECONDS", "299"],
    ["PARLEY_TRACE_SAMPLE", "101%"],
    ["PARLEY_TRACE_SAMPLE", "1.1"],
    ["PARLEY_TRACE_SAMPLE", "-0.1"],
    ["PARLEY_TRACE_SAMPLE", "half"],
    ["PARLEY_METRICS_PORT", "0"],
    ["PARLEY_OTLP_SIGNALS", "traces,noise"],
    ["OTEL_RESOURCE_ATTRIBUTES", "no pair"],
    ["OTEL_RESOURCE_ATTRIBUTES", "a=%zz"]
  ] as const) {
    it.effect(`the settings refuse ${name}=${text} and show what was seen`, () =>
      Effect.gen(function* () {
        const [problem, ...others] = yield* problemsOf({ [name]: text })
        assert.isEmpty(others)
        assert.strictEqual(problem?.name, name)
        assert.strictEqual(problem?.seen, JSON.stringify(text.slice(0, 80)))
        assert.include(problem?.example, `${name}=`)
      })
    )
  }

  for (const [name, text] of [
    ["DATABASE_URL", "mysql://user:hunter2@db/parley"],
    ["DATABASE_URL", "postgres://user:12/hunter2@db/parley"],
    ["DATABASE_URL", "postgres://user:12#hunter2@db/parley"],
    ["DATABASE_URL", "postgres://user:12?hunter2@db/parley"],
    ["DATABASE_URL", "postgres://user:hunter2/x@db/parley"],
    ["DATABASE_URL", "postgres://user:x@hunter2/y@db/parley"],
    ["DATABASE_URL", "postgres://user:50%hunter2@db/parley"],
    ["PARLEY_ADMIN_KEY", "hunter2"],
    ["PARLEY_ADMIN_KEY", "hunter2-with-31-characters-here"],
    ["PARLEY_INIT_API_KEY", "hunter2"],
    ["PARLEY_METRICS_TOKEN", "hunter2"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "authorization hunter2"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a b=hunter2"],
    ["OTEL_EXPORTER_OTLP_HEADERS", "a=hunter2%0D%0Ab:%20c"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "https://user:hunter2@collector.example"],
    ["OPENAI_API_KEY", "hunter2 hunter2"],
    ["OPENAI_BASE_URL", "https://user:hunter2@models.example/v1"],
    ["OPENAI_BASE_URL", "https://hunter2@models.example/v1"],
    ["OPENAI_BASE_URL", "https://user:pa/hunter2@models.example/v1"],
    ["OPENAI_BASE_URL", "https://user:8080/hunter2@models.example/v1"],
    ["OPENAI_BASE_URL", "https://user:80?hunter2@models.example/v1"],
    ["OPENAI_BASE_URL", "https://user:pa#hunter2@models.example/v1"],
    ["OPENAI_BASE_URL", "https://user:pa@hunter2@models.example/v1?a=b"],
    ["OPENAI_BASE_URL", `https://user:${"x".repeat(60)}hunter2${"x".repeat(60)}/@models.example/v1`],
    ["OPENAI_BASE_URL", "user:hunter2@models.example/v1"],
    ["OPENAI_BASE_URL", "https://models.example/v1?key=hunter2"],
    ["OPENAI_BASE_URL", "https://models.example/v1?key=a@hunter2"],
    ["OPENAI_BASE_URL", "https://models.example/v1#hunter2"],
    ["OPENAI_BASE_URL", "models.example/v1?hunter2"],
    ["PARLEY_LICENSE", "hunter2"],
    ["PARLEY_LICENSE_PUBLIC_KEY", "hunter2"],
    ["PARLEY_S3_ENDPOINT", "https://user:pa/hunter2@s3.example"],
    ["PARLEY_S3_ENDPOINT", "https://s3.example/?hunter2=1"],
    ["HOST", "https://user:hunter2@models.example"]
  ] as const) {
    it.effect(`the settings refuse a wrong ${name} without showing its secret part`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(settingsOf({ [name]: text }))
        assert.include(error.message, name)
        assert.notInclude(error.message, "hunter2")
        assert.notInclude(JSON.stringify(error), "hunter2")
      })
    )
  }
})

describe("what is seen of a URL", () => {
  for (const [text, seen] of [
    ["https://user:pw@models.example/v1", "https://<redacted>@models.example/v1"],
    ["https://user:p/w@models.example/v1", "https://<redacted>@models.example/v1"],
    ["https://models.example:8/v1?key=1", "https://models.example:8/v1?<redacted>"],
    ["models.example/v1?key=1", "models.example/v1?<redacted>"],
    ["https://user:pw@models.example/v1?key=1", "https://<redacted>@models.example/v1?<redacted>"]
  ] as const) {
    it.effect(`the problem of a URL shows ${seen}`, () =>
      Effect.gen(function* () {
        const [problem] = yield* problemsOf({ OPENAI_BASE_URL: text })
        assert.strictEqual(problem.seen, JSON.stringify(seen))
      })
    )
  }
})

describe("problems", () => {
  it.effect("problems of settings are reported all at once, with name, value, rule and example", () =>
    Effect.gen(function* () {
      const error: SettingsInvalid = yield* Effect.flip(
        settingsOf({ PORT: "abc", PARLEY_LOG_LEVEL: "loud", PARLEY_ADMIN_KEY: "short", PGHOST: "db" })
      )
      assert.strictEqual(error._tag, "SettingsInvalid")
      assert.deepStrictEqual(error.problems.map(({ name }) => name).toSorted(), [
        "DATABASE_URL",
        "PARLEY_ADMIN_KEY",
        "PARLEY_LOG_LEVEL",
        "PORT"
      ])
      assert.match(error.message, /^4 settings are invalid:/)
      assert.include(
        error.message,
        '  PORT\n    seen:    "abc"\n    allowed: a whole number from 0 to 65535\n    example: PORT=3000'
      )
    })
  )

  it.effect("problems show long or strange values on one bounded line", () =>
    Effect.gen(function* () {
      const [problem] = yield* problemsOf({ PORT: `1\n\u001b[31m${"9".repeat(10_000)}` })
      assert.isBelow(problem?.seen.length ?? 0, 120)
      assert.isFalse(["\n", "\u001b"].some((character) => problem?.seen.includes(character)))
    })
  )

  it.effect("problems include a port that is another one's, at one address", () =>
    Effect.gen(function* () {
      const three = { PORT: "4000", PARLEY_ADMIN_PORT: "4001", PARLEY_METRICS_PORT: "4001" }
      assert.deepStrictEqual(
        (yield* problemsOf(three)).map(({ allowed, name }) => [name, allowed]),
        [["PARLEY_METRICS_PORT", "another port than PARLEY_ADMIN_PORT, which is 4001 at the same address"]]
      )
      assert.deepStrictEqual(yield* namesOf({ PORT: "4000", PARLEY_ADMIN_PORT: "4000" }), [
        "PARLEY_ADMIN_PORT"
      ])
      const same = { PORT: "4000", PARLEY_METRICS_PORT: "4000" }
      for (const hosts of [{}, { HOST: "0.0.0.0" }, { PARLEY_METRICS_HOST: "::" }]) {
        const problems = yield* problemsOf({ ...same, ...hosts })
        assert.deepStrictEqual(
          problems.map(({ allowed, name }) => [name, allowed]),
          [["PARLEY_METRICS_PORT", "another port than PORT, which is 4000 at the same address"]]
        )
      }
      yield* settingsOf({ ...same, PARLEY_METRICS_HOST: "127.0.0.2" })
    })
  )

  it.effect("problems include headers that may take longer than the whole request", () =>
    Effect.gen(function* () {
      const env = { PARLEY_REQUEST_SECONDS: "10", PARLEY_HEADERS_SECONDS: "11" }
      assert.deepStrictEqual(yield* namesOf(env), ["PARLEY_HEADERS_SECONDS"])
      assert.strictEqual(
        (yield* settingsOf({ ...env, PARLEY_HEADERS_SECONDS: "10" })).http.headersSeconds,
        10
      )
      assert.deepStrictEqual(yield* namesOf({ ...env, PORT: "x" }), ["PORT", "PARLEY_HEADERS_SECONDS"])
      assert.deepStrictEqual(yield* namesOf({ ...env, PARLEY_REQUEST_SECONDS: "x" }), [
        "PARLEY_REQUEST_SECONDS"
      ])
    })
  )

  it.effect("problems include an OpenID provider that is only half described", () =>
    Effect.gen(function* () {
      const [issuer, id, secret] = [
        "PARLEY_OIDC_ISSUER",
        "PARLEY_OIDC_CLIENT_ID",
        "PARLEY_OIDC_CLIENT_SECRET"
      ]
      assert.deepStrictEqual(yield* namesOf({ [issuer]: "https://login.example.com" }), [id, secret])
      assert.deepStrictEqual(yield* namesOf({ [id]: "parley" }), [issuer, secret])
      const error = yield* Effect.flip(settingsOf({ [secret]: "hunter2" }))
      assert.deepStrictEqual(
        error.problems.map(({ name }) => name),
        [issuer, id]
      )
      assert.notInclude(error.message, "hunter2")
    })
  )

  it.effect("problems include an OpenID provider that can't know where to send browsers back", () =>
    Effect.gen(function* () {
      const provider = {
        PARLEY_OIDC_ISSUER: "https://login.example.com",
        PARLEY_OIDC_CLIENT_ID: "parley",
        PARLEY_OIDC_CLIENT_SECRET: "shh"
      }
      assert.deepStrictEqual(yield* namesOf({ ...provider, HOST: "0.0.0.0" }), ["PARLEY_PUBLIC_URL"])
      yield* settingsOf({ ...provider, HOST: "0.0.0.0", PARLEY_PUBLIC_URL: "https://parley.example.com" })
      for (const HOST of ["127.0.0.1", "::1", "localhost"]) yield* settingsOf({ ...provider, HOST })
      yield* settingsOf({ HOST: "0.0.0.0" })
    })
  )

  it.effect("problems name the entries of a long list that are wrong", () =>
    Effect.gen(function* () {
      const [problem] = yield* problemsOf({ PARLEY_OIDC_GROUPS: "staff=Example,chiefs=Example:owner,guests" })
      assert.deepStrictEqual(problem?.details, [
        "entry 2 has the role owner, which only owners give",
        "entry 3 has no = between a group and an organization"
      ])
    })
  )

  it.effect("problems include object storage that is chosen but not described", () =>
    Effect.gen(function* () {
      const given = {
        PARLEY_FILES_STORE: "s3",
        PARLEY_S3_BUCKET: "files",
        PARLEY_S3_SECRET_ACCESS_KEY: "hunter2"
      }
      const error = yield* Effect.flip(settingsOf(given))
      assert.deepStrictEqual(
        error.problems.map(({ name }) => name),
        ["PARLEY_S3_ENDPOINT", "PARLEY_S3_ACCESS_KEY_ID"]
      )
      assert.notInclude(error.message, "hunter2")
      const whole = { ...given, PARLEY_S3_ENDPOINT: "http://127.0.0.1:9000", PARLEY_S3_ACCESS_KEY_ID: "me" }
      assert.strictEqual((yield* settingsOf(whole)).files.s3?.bucket, "files")
      const elsewhere = { ...whole, PARLEY_FILES_STORE: "postgres" }
      assert.isNull((yield* settingsOf(elsewhere)).files.s3)
      assert.isNotNull((yield* settingsOf({ ...elsewhere, PARLEY_FILES_MOVE_TO: "s3" })).files.s3)
      const same = yield* Effect.flip(settingsOf({ ...elsewhere, PARLEY_FILES_MOVE_TO: "postgres" }))
      assert.deepStrictEqual(
        same.problems.map(({ name }) => name),
        ["PARLEY_FILES_MOVE_TO"]
      )
    })
  )

  it.effect("problems include embeddings without a model", () =>
    Effect.gen(function* () {
      const given = { PARLEY_EMBEDDINGS_URL: "http://127.0.0.1:8001/v1" }
      assert.deepStrictEqual(yield* namesOf(given), ["PARLEY_EMBEDDINGS_MODEL"])
      const { retrieval } = yield* settingsOf({ ...given, PARLEY_EMBEDDINGS_MODEL: "some-embedder" })
      assert.strictEqual(retrieval.embeddingsModel, "some-embedder")
      // A model alone is none that could be asked.
      assert.isNull((yield* settingsOf({ PARLEY_EMBEDDINGS_MODEL: "m" })).retrieval.embeddingsUrl)
    })
  )

  for (const name of ["PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE", "PARLEY_DATABASE_URL"]) {
    it.effect(
      `problems include ${name} without DATABASE_URL, so that the embedded database is no silent fallback`,
      () =>
        Effect.gen(function* () {
          const [problem, ...others] = yield* problemsOf({ [name]: "5432" })
          assert.isEmpty(others)
          assert.strictEqual(problem?.name, "DATABASE_URL")
          assert.include(problem?.seen, name)
          const settings = yield* settingsOf({ [name]: "5432", DATABASE_URL: "postgres://127.0.0.1/parley" })
          assert.isNotNull(settings.database.url)
        })
    )
  }
})

describe("secrets in files", () => {
  it.effect("values are read and trimmed", () =>
    Effect.gen(function* () {
      const path = yield* fileWith("  postgres://127.0.0.1/parley\n\n")
      const { url } = (yield* settingsOf({ DATABASE_URL_FILE: path })).database
      assert.strictEqual(url === null ? null : Redacted.value(url), "postgres://127.0.0.1/parley")
    }).pipe(Effect.scoped)
  )

  it.effect("a secret must not be given twice", () =>
    Effect.gen(function* () {
      const path = yield* fileWith("postgres://127.0.0.1/parley")
      const problems = yield* problemsOf({
        DATABASE_URL_FILE: path,
        DATABASE_URL: "postgres://hunter2@127.0.0.1/parley"
      })
      assert.deepStrictEqual(
        problems.map(({ name }) => name),
        ["DATABASE_URL"]
      )
      assert.include(problems[0].seen, "DATABASE_URL_FILE")
      assert.notInclude(problems[0].seen, "hunter2")
    }).pipe(Effect.scoped)
  )

  it.effect("a secret is a problem when its file is missing, empty, too long or wrong", () =>
    Effect.gen(function* () {
      const contents = ["", " \n ", "x".repeat(70_000), "hunter2"]
      const paths = [yield* Effect.forEach(contents, fileWith), "/no/such/file", tmpdir()].flat()
      for (const path of paths) {
        const error = yield* Effect.flip(settingsOf({ PARLEY_ADMIN_KEY_FILE: path }))
        assert.deepStrictEqual(
          error.problems.map(({ name }) => name),
          ["PARLEY_ADMIN_KEY_FILE"]
        )
        assert.notInclude(error.message, "hunter2")
      }
    }).pipe(Effect.scoped)
  )

  it.effect("a file is not read for a setting that is no secret", () =>
    Effect.gen(function* () {
      const path = yield* fileWith("debug")
      const env = { PARLEY_LOG_LEVEL_FILE: path }
      assert.strictEqual((yield* settingsOf(env)).logLevel, "info")
      assert.deepStrictEqual(yield* unknownVariables.pipe(withEnvironment(env)), ["PARLEY_LOG_LEVEL_FILE"])
    }).pipe(Effect.scoped)
  )
})

describe("unknownVariables", () => {
  it.effect("unknownVariables are those that begin like a setting and are none", () =>
    Effect.gen(function* () {
      const known = rows.flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : [name]))
      const env = Object.fromEntries(
        [
          ...known,
          "PARLEY_URL",
          "PARLEY_API_KEY",
          "PARLEY_PORT",
          "PARLEY_BODY_BYTES",
          "PARLEY_LIST_0",
          "PARLEY",
          "PORTAL"
        ].map((name) => [name, "1"])
      )
      const unknown = yield* unknownVariables.pipe(withEnvironment({ ...env, PARLEY_EMPTY: "" }))
      assert.deepStrictEqual(unknown, [
        "PARLEY",
        "PARLEY_BODY_BYTES",
        "PARLEY_LIST_0",
        "PARLEY_PORT (did you mean PORT?)"
      ])
    })
  )

  it.effect("unknownVariables are reported with the problems, which they may explain", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        settingsOf({ PORT: "x", PARLEY_DATABSE_URL: "postgres://hunter2@db/" })
      )
      assert.deepStrictEqual(error.unknown, ["PARLEY_DATABSE_URL (did you mean DATABASE_URL?)"])
      assert.match(
        error.message,
        /^One setting is invalid:[^]*misspelled: PARLEY_DATABSE_URL \(did you mean DATABASE_URL\?\)\.$/
      )
      assert.notInclude(error.message, "hunter2")
    })
  )
})

describe("the table", () => {
  it("the table of settings has unique names, and allowed defaults and examples", () => {
    assert.strictEqual(new Set(rows.map(({ name }) => name)).size, rows.length)
    // Its example is a file that exists on no machine.
    for (const row of rows.filter(({ name }) => !/^PARLEY_(MODELS|PLANS)_FILE$/.test(name))) {
      assert.isTrue(Option.isSome(row.parse(row.example)), `the example of ${row.name}`)
      assert.isTrue(Option.isSome(row.parse(undefined)), `the default of ${row.name}`)
    }
  })

  it("the table of settings names the unit of every limit", () => {
    const limits = rows.filter(
      (row) => row.allowed.startsWith("a whole number") && !row.name.endsWith("PORT")
    )
    for (const { name } of limits)
      assert.match(
        name,
        /^PARLEY_[A-Z0-9_]*(_BYTES_MAX|_CHARACTERS_MAX|_CONNECTIONS_MAX|FILES_MAX|PROJECTS_MAX|UPLOADS_MAX|EXTRACTIONS_MAX|REQUESTS_MAX|RESULTS_MAX|_PER_MINUTE|_TOKENS|_SECONDS|_HOURS|_DAYS|_KEEP|_BALANCE)$/
      )
  })

  it.effect("the table of settings is what config print shows, without any secret", () =>
    Effect.gen(function* () {
      const described = describeSettings(yield* settingsOf({ OPENAI_API_KEY: "hunter2", PORT: "4000" }))
      assert.deepStrictEqual(
        described.map(({ name }) => name),
        rows.map(({ name }) => name)
      )
      assert.deepStrictEqual(
        described
          .filter(({ name }) => ["PORT", "OPENAI_API_KEY", "OPENAI_MODEL"].includes(name))
          .map(({ default: text, value }) => [value, text]),
        [
          ["4000", "3000"],
          ["<redacted>", null],
          [null, null]
        ]
      )
    })
  )

  it("the table of settings is written out in docs/settings.md", () => {
    assert.strictEqual(inProject("docs/settings.md"), settingsDocument(), "run: npm run settings")
    for (const { name } of rows) assert.include(settingsDocument(), `\`${name}\``)
  })

  it("the table of settings is written out in .env.example", () => {
    assert.strictEqual(inProject(".env.example"), envExample(), "run: npm run settings")
  })
})
