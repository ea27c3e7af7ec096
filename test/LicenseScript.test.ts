import { spawnSync } from "node:child_process"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { makeLicenseKeys, privateKeyIn, runLicense, signLicense } from "../scripts/license.ts"
import { readLicense } from "../src/plans/License.ts"
import { fileWith, newLicense } from "./plans/terms.ts"
import { captured, type Ran } from "./support/captured.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))

const run = (...args: ReadonlyArray<string>) =>
  captured(runLicense(args)).pipe(Effect.provide(NodeServices.layer))

const succeeded = (ran: Ran): string => {
  assert.strictEqual(ran.stderr, "")
  assert.strictEqual(ran.code, 0)
  return ran.stdout
}

const document = (ran: Ran) => Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Unknown))(succeeded(ran))

const refused = (ran: Ran, message: RegExp, code = 1) => {
  assert.strictEqual(ran.code, code, ran.stderr)
  assert.strictEqual(ran.stdout, "")
  assert.match(ran.stderr, message)
}

describe("the license script", () => {
  it.effect("the license script creates keys and signs licenses that are valid with them", () =>
    Effect.gen(function* () {
      const made = succeeded(yield* run("keygen"))
      const [, publicKey] = /^PARLEY_LICENSE_PUBLIC_KEY=(\S+)$/m.exec(made) ?? []
      const file = yield* fileWith(made)
      const sign = (...args: ReadonlyArray<string>) =>
        run("sign", "--key", file, "--licensee", "Example Ltd", ...args)
      const read = (text: string) => readLicense(Redacted.make(text), Redacted.make(publicKey ?? ""))

      const bounded = yield* read(
        succeeded(
          yield* sign(
            "--expires=2028-02-29",
            "--users=20",
            "--organizations=2",
            "--operations=responses,files",
            "--models=small-*, large",
            "--tools=none"
          )
        )
      )
      assert.deepInclude(bounded, {
        licensee: "Example Ltd",
        endsAtMillis: Date.UTC(2028, 2, 1),
        beginsAtMillis: null
      })
      assert.deepStrictEqual(bounded.bounds, {
        users: 20,
        organizations: 2,
        operations: ["responses", "files"],
        models: ["small-*", "large"],
        tools: []
      })
      const free = yield* read(succeeded(yield* sign()))
      assert.deepStrictEqual([free.bounds, free.endsAtMillis], [{}, null])
      assert.notStrictEqual(free.id, bounded.id)
      assert.hasAllKeys(document(yield* sign("--json")), ["id", "license"])
      assert.hasAllKeys(document(yield* run("keygen", "--json")), ["private_key", "public_key"])
    })
  )

  it.effect("the license script names the problem of a command, and shows no key", () =>
    Effect.gen(function* () {
      const made = succeeded(yield* run("keygen"))
      const file = yield* fileWith(made)
      const sign = (...args: ReadonlyArray<string>) => run("sign", "--licensee", "Example Ltd", ...args)
      for (const [args, message] of [
        [["--expires", "2027-02-29"], /a day such as/],
        [["--expires", "tomorrow"], /a day such as/],
        // Such a license could not be installed.
        [["--expires", "9999-12-31"], /a day such as/],
        [["--users", "0"], /whole number from 1/],
        [["--operations", "everything"], /responses, projects, .*files/],
        [["--tools", "shell"], /calculator/],
        [["--models", ","], /models by comma/]
      ] as const) {
        refused(yield* sign("--key", file, ...args), message, 2)
      }
      const models = Array.from({ length: 1_000 }, (_, index) => `model-${"x".repeat(60)}-${index}`).join(",")
      refused(yield* sign("--key", file, "--models", models), /too long for PARLEY_LICENSE/)
      refused(yield* sign("--key", "/dev/zero"), /holds no private key/)
      refused(yield* sign("--key", `${file}.gone`), /does not exist/)
      refused(yield* sign("--key", "/"), /holds no private key/)
      const broken = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0c2VjcmV0\n-----END PRIVATE KEY-----"
      const ran = yield* sign("--key", yield* fileWith(broken))
      refused(ran, /holds no private key of Ed25519/)
      assert.notInclude(ran.stderr, "c2VjcmV0")
    })
  )

  it.effect("the license script runs as a process from any directory, with exit codes", () =>
    Effect.gen(function* () {
      const made = succeeded(yield* run("keygen"))
      const file = yield* fileWith(made)
      const script = (...args: ReadonlyArray<string>) =>
        spawnSync(process.execPath, [join(root, "scripts/run.mjs"), "license", ...args], {
          cwd: dirname(file),
          encoding: "utf8"
        })
      const signed = script("sign", "--key", basename(file), "--licensee", "Example Ltd")
      assert.strictEqual(signed.status, 0, signed.stderr)
      const [, publicKey] = /^PARLEY_LICENSE_PUBLIC_KEY=(\S+)$/m.exec(made) ?? []
      yield* readLicense(Redacted.make(signed.stdout.trim()), Redacted.make(publicKey ?? ""))
      const misused = script("sign", "--key", basename(file))
      assert.strictEqual(misused.status, 2)
      assert.match(misused.stderr, /\nERROR\n {2}.*licensee/)
    })
  )
})

describe("a license", () => {
  it.effect("a license is signed by the private key of Ed25519 that a text contains", () =>
    Effect.gen(function* () {
      const { privateKey, publicKey } = yield* makeLicenseKeys
      const found = privateKeyIn(
        `some: text\n${Redacted.value(privateKey)}\nPARLEY_LICENSE_PUBLIC_KEY=${publicKey}\n`
      )
      assert.isNotNull(found)
      const text = yield* signLicense(newLicense({}), found!)
      yield* readLicense(Redacted.make(text), Redacted.make(publicKey))
      assert.isNull(privateKeyIn(publicKey))
      const broken = Redacted.make("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----")
      assert.strictEqual((yield* Effect.flip(signLicense(newLicense({}), broken)))._tag, "SigningKeyInvalid")
    })
  )
})
