import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Redacted } from "effect"
import { makeLicenseKeys } from "../../scripts/license.ts"
import { checkedSettings } from "../../src/admin/CheckedSettings.ts"
import { licensed } from "../plans/terms.ts"
import { removeDirectory } from "../support/removeDirectory.ts"

const settingsOf = (env: Record<string, string>) =>
  Effect.provide(checkedSettings, ConfigProvider.layer(ConfigProvider.fromEnv({ env })))

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-settings-"))),
  (path) => Effect.sync(() => removeDirectory(path))
)

const fileWith = Effect.fnUntraced(function* (text: string) {
  const path = join(yield* directory, "file")
  writeFileSync(path, text)
  return path
})

/** A valid key, in the form in which `parley key generate` prints one. */
const goodKey = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"
/** The same with another last character. */
const wrongKey = `${goodKey.slice(0, -1)}N`

describe("checkedSettings", () => {
  it.effect("checkedSettings accepts a key that this program generated", () =>
    Effect.gen(function* () {
      assert.isNotNull((yield* settingsOf({ PARLEY_INIT_API_KEY: goodKey })).auth.initApiKey)
    })
  )

  it.effect("checkedSettings rejects a malformed key, and names the command that generates one", () =>
    Effect.gen(function* () {
      for (const key of [wrongKey, `parley_${"a".repeat(39)}`, `parley_${"a".repeat(40)}`]) {
        const error = yield* Effect.flip(settingsOf({ PARLEY_INIT_API_KEY: key }))
        assert.match(error.message, /PARLEY_INIT_API_KEY[^]*parley key generate/)
        assert.notInclude(error.message, key)
      }
      const file = yield* fileWith(wrongKey)
      const { problems } = yield* Effect.flip(settingsOf({ PARLEY_INIT_API_KEY_FILE: file }))
      assert.deepStrictEqual(
        problems.map(({ name }) => name),
        ["PARLEY_INIT_API_KEY_FILE"]
      )
    })
  )

  it.effect(
    "checkedSettings reports every problem at once: of single settings, between settings, in the key and in the catalog",
    () =>
      Effect.gen(function* () {
        const provider = { id: "p", protocol: "openai-chat", baseUrl: "http://u:hunter2@127.0.0.1/v1" }
        const catalog = {
          providers: [{ ...provider, keyVariable: "GONE" }],
          models: [{ id: "m", provider: "q" }]
        }
        const error = yield* Effect.flip(
          settingsOf({
            PORT: "x",
            PARLEY_REQUEST_SECONDS: "10",
            PARLEY_HEADERS_SECONDS: "11",
            PARLEY_INIT_API_KEY: wrongKey,
            PARLEY_MODELS_FILE: yield* fileWith(JSON.stringify(catalog)),
            PGHOST: "db"
          })
        )
        assert.deepStrictEqual([...new Set(error.problems.map(({ name }) => name))].toSorted(), [
          "DATABASE_URL",
          "PARLEY_HEADERS_SECONDS",
          "PARLEY_INIT_API_KEY",
          "PARLEY_MODELS_FILE",
          "PORT"
        ])
        assert.match(error.message, /^5 settings are invalid:/)
        for (const place of ["providers[0].baseUrl", "models[0].contextWindow"])
          assert.include(error.message, place)
        assert.notInclude(error.message, "hunter2")
        const [, file] = error.message.split("  PARLEY_MODELS_FILE\n")
        assert.match(file ?? "", /^ {4}seen: .*\n( {15}\S.*\n){2,} {4}allowed: /)
      })
  )

  it.effect("checkedSettings names the catalog that can't be read", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(settingsOf({ PARLEY_MODELS_FILE: yield* directory }))
      assert.match(message, /parley-settings-[^]*can't be read/)
    })
  )

  it.effect("checkedSettings reports the problems in the catalog of plans", () =>
    Effect.gen(function* () {
      const file = yield* fileWith(JSON.stringify({ plans: { free: { tools: ["shell"] }, "No Plan": {} } }))
      const { message, problems } = yield* Effect.flip(settingsOf({ PARLEY_PLANS_FILE: file }))
      assert.deepStrictEqual(
        problems.map(({ name }) => name),
        ["PARLEY_PLANS_FILE"]
      )
      assert.include(message, "plans.free.tools[0]")
      assert.include(message, 'plans."No Plan"')
      const good = yield* fileWith(JSON.stringify({ plans: { free: { tools: [] } } }))
      assert.strictEqual((yield* settingsOf({ PARLEY_PLANS_FILE: good })).policy.plansFile, good)
    })
  )

  it.effect("checkedSettings accepts a license only with its public key, and shows neither", () =>
    Effect.gen(function* () {
      const { license, licensePublicKey } = yield* licensed({ users: 3 }, { endsAtSeconds: 1 })
      const { licensePublicKey: otherKey } = yield* licensed({})
      const text = Redacted.value(license)
      const key = Redacted.value(licensePublicKey)
      const pem = `-----BEGIN PUBLIC KEY-----\n${key}\n-----END PUBLIC KEY-----\n`
      // That it has ended is for the requests to tell.
      for (const env of [
        { PARLEY_LICENSE: text, PARLEY_LICENSE_PUBLIC_KEY: key },
        { PARLEY_LICENSE: text, PARLEY_LICENSE_PUBLIC_KEY: pem },
        {
          PARLEY_LICENSE_FILE: yield* fileWith(`${text}\n`),
          PARLEY_LICENSE_PUBLIC_KEY_FILE: yield* fileWith(pem)
        }
      ]) {
        const { policy } = yield* settingsOf(env)
        assert.strictEqual(
          policy.licensePublicKey === null ? "" : Redacted.value(policy.licensePublicKey),
          key
        )
      }
      const privateKey = Redacted.value((yield* makeLicenseKeys).privateKey)
      for (const [env, name, words] of [
        [{ PARLEY_LICENSE: text }, "PARLEY_LICENSE_PUBLIC_KEY", /nothing, but PARLEY_LICENSE is set/],
        [
          { PARLEY_LICENSE_PUBLIC_KEY: key },
          "PARLEY_LICENSE",
          /nothing, but PARLEY_LICENSE_PUBLIC_KEY is set/
        ],
        [
          { PARLEY_LICENSE: text, PARLEY_LICENSE_PUBLIC_KEY: Redacted.value(otherKey) },
          "PARLEY_LICENSE",
          /<redacted>, which is no license that was signed by EdDSA/
        ],
        [{ PARLEY_LICENSE: "no licence", PARLEY_LICENSE_PUBLIC_KEY: key }, "PARLEY_LICENSE", /<redacted>/],
        [
          { PARLEY_LICENSE: text, PARLEY_LICENSE_PUBLIC_KEY: privateKey },
          "PARLEY_LICENSE_PUBLIC_KEY",
          /<redacted>/
        ],
        [
          { PARLEY_LICENSE: text, PARLEY_LICENSE_PUBLIC_KEY: privateKey.split("\n")[1] ?? "" },
          "PARLEY_LICENSE_PUBLIC_KEY",
          /<redacted>/
        ]
      ] as const) {
        const error = yield* Effect.flip(settingsOf(env))
        assert.deepStrictEqual(
          error.problems.map((problem) => problem.name),
          [name]
        )
        assert.match(error.problems[0].seen, words)
        for (const secret of [text, privateKey.split("\n")[1] ?? "?"]) {
          assert.notInclude(error.message, secret.slice(0, 30))
          assert.notInclude(JSON.stringify(error), secret.slice(0, 30))
        }
      }
    })
  )
})
