import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { createServer, type Server } from "node:http"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Option, Redacted, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import manifest from "../../package.json" with { type: "json" }
import { expirySecondsMax } from "../../src/admin/AdminKeysApi.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import * as KeyToken from "../../src/auth/KeyToken.ts"
import { parseDuration } from "../../src/cli/KeyCommands.ts"
import { AdminServer, modelServerKey, operatorOf, run, runWith } from "../admin/AdminServer.ts"
import type { Ran } from "../support/captured.ts"
import { childEnvironment } from "../support/childEnvironment.ts"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"
import { commandLine } from "../support/ServiceProcess.ts"

const Id = Schema.String.check(Schema.isUUID())
const Time = Schema.DateTimeUtcFromString
const MadeOrganization = Schema.Struct({ id: Id, name: Schema.String, plan: Schema.String, created_at: Time })
const MadeUser = Schema.Struct({
  id: Id,
  email: Schema.String,
  organization: Schema.String,
  key: Schema.NullOr(Schema.String),
  key_id: Schema.NullOr(Id)
})
const Key = Schema.Struct({
  id: Id,
  name: Schema.String,
  hint: Schema.String,
  status: Schema.String,
  expires_at: Schema.NullOr(Time)
})
const MadeKey = Schema.Struct({ ...Key.fields, key: Schema.String })
const Settings = Schema.Struct({
  source: Schema.Literals(["server", "environment"]),
  settings: Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.NullOr(Schema.String) }))
})
const Examination = Schema.Struct({
  ok: Schema.Boolean,
  checks: Schema.Array(Schema.Struct({ name: Schema.String, status: Schema.String, detail: Schema.String }))
})

/** The document that a command with --json printed, and nothing else was printed. */
const document =
  <S extends Schema.ConstraintDecoder<unknown>>(schema: S) =>
  (ran: Ran): S["Type"] => {
    assert.strictEqual(ran.stderr, "")
    assert.strictEqual(ran.code, 0)
    return Schema.decodeUnknownSync(Schema.fromJsonString(schema))(ran.stdout)
  }

/** A command that was refused: nothing on the standard output, one line on the standard error. */
const refused = (ran: Ran, message: RegExp) => {
  assert.strictEqual(ran.code, 1)
  assert.strictEqual(ran.stdout, "")
  assert.match(ran.stderr, /^(parley: |\{"error":)[^\n]+$/)
  assert.match(ran.stderr, message)
}

layer(AdminServer.layer, { excludeTestServices: true })("parley beside its server", (it) => {
  it.effect("parley creates an organization, a user and keys, and revokes a key", () =>
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      const organization = document(MadeOrganization)(
        yield* run("org", "create", "Acme Ltd", "--plan", "gold", "--json")
      )
      assert.deepInclude(organization, { name: "Acme Ltd", plan: "gold" })

      const user = document(MadeUser)(
        yield* run("user", "create", "ada@example.com", "--org", "Acme Ltd", "--with-key", "--json")
      )
      const caller = yield* apiKeys.authenticate(Redacted.make(user.key ?? ""))
      assert.strictEqual(caller.userId, user.id)
      assert.strictEqual(caller.keyId, user.key_id)

      const key = document(MadeKey)(
        yield* run("key", "create", "ADA@example.com", "--name", "ci", "--expires-in", "30d", "--json")
      )
      assert.isNotNull(key.expires_at)
      yield* apiKeys.authenticate(Redacted.make(key.key))

      const revoked = document(Key)(yield* run("key", "revoke", key.id, "--json"))
      assert.deepInclude(revoked, { id: key.id, status: "revoked" })
      yield* Effect.flip(apiKeys.authenticate(Redacted.make(key.key)))

      const keys = document(Schema.Array(Key))(yield* run("key", "list", "ada@example.com", "--json"))
      assert.deepStrictEqual(
        keys.map(({ name, status }) => ({ name, status })),
        [
          { name: "initial key", status: "active" },
          { name: "ci", status: "revoked" }
        ]
      )
      const users = document(Schema.Array(Schema.Struct({ id: Id, email: Schema.String })))(
        yield* run("user", "list", "--json")
      )
      assert.deepInclude(users, { id: user.id, email: "ada@example.com" })
      const organizations = document(Schema.Array(MadeOrganization))(yield* run("org", "list", "--json"))
      assert.deepInclude(organizations, organization)
    })
  )

  it.effect("key limits sets the limits of a key, and key list shows them with what is used", () =>
    Effect.gen(function* () {
      const user = ["limits@example.com"]
      yield* run("org", "create", "Limits")
      yield* run("user", "create", "limits@example.com", "--org", "Limits")
      const flags = ["--daily-tokens", "1000", "--requests-per-minute", "60"]
      const key = document(MadeKey)(yield* run("key", "create", ...user, "--name", "ci", ...flags, "--json"))
      const cells = Effect.map(run("key", "list", ...user), ({ stdout }) => stdout.split("\n").at(1))
      assert.match((yield* cells) ?? "", / - +0 of 1000 +- +60 +/)
      const set = yield* run("key", "limits", key.id, "--daily-tokens", "none", "--monthly-tokens", "5000")
      assert.strictEqual(set.code, 0)
      assert.match(
        set.stdout,
        /^NAME +KEY +TOKENS TODAY +THIS MONTH +REQUESTS A MINUTE\nci +….{4} +- +0 of 5000 +60$/
      )
      assert.match((yield* cells) ?? "", / - +- +0 of 5000 +60 +/)

      const nothing = yield* run("key", "limits", key.id)
      assert.deepInclude(nothing, { code: 2, stdout: "" })
      assert.match(nothing.stderr, /Say what to set: --daily-tokens, /)
      refused(yield* run("key", "limits", randomUUID(), "--daily-tokens", "5"), /The key does not exist/)
      for (const wrong of ["0", "-1", "1.5", "100001", "many"]) {
        const ran = yield* run("key", "limits", key.id, `--requests-per-minute=${wrong}`)
        assert.strictEqual(ran.code, 2, wrong)
        assert.include(ran.stderr, "a whole number from 1 to 100000, or none")
      }
    })
  )

  it.effect("parley prints tables without --json, and a new key only once", () =>
    Effect.gen(function* () {
      yield* run("org", "create", "People")
      const made = yield* run("user", "create", "eve@example.com", "--org", "People", "--with-key")
      const [key] = /parley_[0-9A-Za-z]{39}/.exec(made.stdout) ?? []
      yield* (yield* ApiKeys).authenticate(Redacted.make(key ?? ""))

      assert.match(
        (yield* run("user", "list", "--org", "People")).stdout,
        /^EMAIL.*\neve@example\.com +People .*$/
      )
      assert.match((yield* run("user", "list", "--org", "Nothing")).stdout, /^No user belongs to .*org list/)
      const listed = yield* run("key", "list", "eve@example.com")
      assert.notInclude(listed.stdout, key ?? "no key")
      const [heading, row] = listed.stdout.split("\n")
      assert.strictEqual(heading?.indexOf("STATUS"), row?.indexOf("active"))
      for (const args of [
        ["org", "list"],
        ["user", "list"],
        ["models", "list"],
        ["config", "print"]
      ]) {
        const { code, stderr, stdout } = yield* run(...args)
        assert.strictEqual(code, 0)
        assert.strictEqual(stderr, "")
        assert.isAbove(stdout.split("\n").length, 1, args.join(" "))
      }
    })
  )

  it.effect("key list prints every page of a long list", () =>
    Effect.gen(function* () {
      const apiKeys = yield* ApiKeys
      yield* run("org", "create", "Many")
      const { id } = document(MadeUser)(
        yield* run("user", "create", "many@example.com", "--org", "Many", "--json")
      )
      yield* Effect.forEach(
        Array.from({ length: 250 }, (_, index) => index),
        (index) => apiKeys.create({ userId: id as never, name: `key ${index}`, expiresAt: null })
      )
      const keys = document(Schema.Array(Key))(yield* run("key", "list", "many@example.com", "--json"))
      assert.strictEqual(new Set(keys.map((key) => key.id)).size, 250)
    })
  )

  it.effect("parley lists the models, prints the settings of the server, and checks the server", () =>
    Effect.gen(function* () {
      const { dataDir } = yield* AdminServer
      const Listed = Schema.Struct({ id: Schema.String, health: Schema.Struct({ state: Schema.String }) })
      const models = document(Schema.Array(Listed))(yield* run("models", "list", "--json"))
      const health = { state: "open" }
      assert.deepStrictEqual(models, [
        { id: "scripted-1", health },
        { id: "scripted-2", health }
      ])
      const { stdout } = yield* run("models", "list")
      assert.match(stdout, /scripted +open, 4 s more +1 of 3 +2 +server_error \(HTTP 503\)/)

      assert.match(stdout, /scripted-1 .* 0\.50 s +1 of 3/)

      assert.match(stdout, /scripted-2 +scripted +4000 +500\? /)
      assert.match(stdout, /\?: assumed/)
      assert.match(stdout, /scripted-1 \(scripted\): .*for 540 seconds more, .*said: Unknown parameter/)

      const printed = yield* run("config", "print", "--json")
      const { settings, source } = document(Settings)(printed)
      assert.strictEqual(source, "server")
      assert.deepInclude(settings, { name: "PARLEY_DATA_DIR", value: dataDir })
      assert.deepInclude(settings, { name: "OPENAI_API_KEY", value: "<redacted>" })
      assert.notInclude(printed.stdout, modelServerKey)

      const examined = document(Examination)(yield* run("doctor", "--json"))
      assert.isTrue(examined.ok)
      assert.includeMembers(
        examined.checks.map(({ name }) => name),
        [
          "server",
          "database",
          "clock",
          "models",
          "disk",
          "document readers",
          "schema checkers",
          "web search",
          "backup",
          "admin key",
          "single sign-on",
          "settings"
        ]
      )
      assert.strictEqual(
        examined.checks.some(({ detail, name }) => name === "account" && /runs as root/.test(detail)),
        process.getuid?.() === 0
      )
    })
  )

  it.effect("models explain shows which model would answer a message, and why", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* run("models", "explain", "Prove it.", "--no-tools", "--documents", "2")
      assert.strictEqual(code, 0)
      assert.match(stdout, /^The difficulty is 0\.\d\d of 1/)
      assert.match(stdout, /documents +0\.10 +2 files/)
      assert.match(stdout, /tools +0\.00 +No tools are offered\./)
      assert.match(
        stdout,
        /1\. scripted-1 \(scripted\), with an answer of up to 500 tokens\n +It is eligible: /
      )
      assert.match(stdout, /2\. scripted-2 /)
      const offered = yield* run("models", "explain", "Prove it.", "--tools")
      assert.match(offered.stdout, /It can't call the tools that are offered\./)

      const long = yield* run("models", "explain", "x".repeat(20_000), "--output-tokens", "7", "--json")
      const Explained = Schema.Struct({
        candidates: Schema.Array(Schema.Unknown),
        excluded: Schema.Array(Schema.Struct({ model: Schema.String, reason: Schema.String }))
      })
      const { candidates, excluded } = document(Explained)(long)
      assert.deepStrictEqual(candidates, [])
      assert.deepStrictEqual(
        excluded.map(({ model }) => model),
        ["scripted-1", "scripted-2"]
      )
      assert.match(excluded[0]?.reason ?? "", /window of 4000 tokens is too small/)
      assert.strictEqual((yield* run("models", "explain", "a", "--documents", "501")).code, 2)
      assert.strictEqual((yield* run("models", "explain")).code, 2)
    })
  )

  it.effect("parley prints one line with the reason of a refusal", () =>
    Effect.gen(function* () {
      yield* run("org", "create", "Taken")
      refused(yield* run("org", "create", "Taken", "--json"), /organization of that name exists/)
      refused(
        yield* run("user", "create", "x@example.com", "--org", "Nowhere"),
        /organization does not exist/
      )
      refused(yield* run("key", "create", "nobody@example.com", "--name", "n"), /user does not exist/)
      refused(yield* run("key", "list", "nobody@example.com", "--json"), /user does not exist/)
      refused(yield* run("key", "revoke", randomUUID()), /key does not exist/)
    })
  )

  it.effect(
    "parley reads the admin key from a variable, from a file or from the data directory, in this order",
    () =>
      Effect.gen(function* () {
        const { dataDir, key, url } = yield* AdminServer
        const PARLEY_ADMIN_KEY = Redacted.value(key)
        const PARLEY_ADMIN_KEY_FILE = `${dataDir}/admin.key`
        const elsewhere = { PARLEY_URL: `${url}/`, PARLEY_DATA_DIR: `${dataDir}/nothing` }
        const list = ["org", "list", "--json"]
        assert.strictEqual((yield* runWith({ ...elsewhere, PARLEY_ADMIN_KEY }, list)).code, 0)
        assert.strictEqual((yield* runWith({ ...elsewhere, PARLEY_ADMIN_KEY_FILE }, list)).code, 0)
        refused(yield* runWith(elsewhere, list), /its key must be named, too: .*PARLEY_ADMIN_KEY_FILE/)

        const wrong = Redacted.value(yield* KeyToken.makeAdminKey)
        const refusal = yield* runWith({ ...elsewhere, PARLEY_ADMIN_KEY: wrong, PARLEY_ADMIN_KEY_FILE }, list)
        refused(refusal, /refuses the admin key of PARLEY_ADMIN_KEY/)
        assert.notInclude(refusal.stderr, wrong)
        refused(
          yield* runWith({ ...elsewhere, PARLEY_ADMIN_KEY_FILE: `${dataDir}/gone` }, list),
          /There is no admin key/
        )
      })
  )

  it.effect("the process prints one document to standard output and exits with the code of the outcome", () =>
    Effect.gen(function* () {
      const env = operatorOf(yield* AdminServer)
      const made = yield* spawned(env, ["org", "create", "Spawned", "--json"])
      assert.strictEqual(document(MadeOrganization)(made).name, "Spawned")
      refused(yield* spawned(env, ["org", "create", "Spawned", "--json"]), /exists/)
      assert.strictEqual((yield* spawned(env, ["org", "create"])).code, 2)
    })
  )
})

const spawned = (env: Readonly<Record<string, string>>, args: ReadonlyArray<string>) =>
  Effect.callback<Ran>((resume) => {
    const child = spawn(process.execPath, [commandLine, ...args], {
      env: { ...childEnvironment, ...env },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let stdout = ""
    let stderr = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text))
    child.on("close", (code) =>
      resume(Effect.succeed({ code: code ?? -1, stdout: stdout.trimEnd(), stderr: stderr.trimEnd() }))
    )
    return Effect.sync(() => child.kill())
  })

/** A web server that is something else. */
const stranger = (status: number, body: string) =>
  Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const server = createServer((_, response) => response.writeHead(status, { location: "/" }).end(body))
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  ).pipe(
    Effect.map((server) => {
      const address = server.address()
      return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`
    })
  )

/** Nothing listens on the discard port of this machine. */
const nobody = { PARLEY_URL: "http://127.0.0.1:9", PARLEY_ADMIN_KEY: "parley_admin_key_that_no_server_knows" }

layer(Layer.merge(FetchHttpClient.layer, NodeServices.layer), { excludeTestServices: true })(
  "parley without a server",
  (it) => {
    it.effect("parley without a server names its address and the command that starts a server", () =>
      Effect.gen(function* () {
        refused(
          yield* runWith(nobody, ["org", "list", "--json"]),
          /No server answers at http:\/\/127\.0\.0\.1:9\. .*npm start/
        )
        refused(yield* runWith({ ...nobody, PARLEY_URL: "not a url" }, ["org", "list"]), /PARLEY_URL must be/)
        refused(
          yield* runWith({ ...nobody, PARLEY_URL: "http://a:secret@b" }, ["org", "list"]),
          /PARLEY_URL must be/
        )
      })
    )

    it.effect("parley without a server names the data directory and the command that starts a server", () =>
      Effect.gen(function* () {
        const { PARLEY_ADMIN_KEY } = nobody
        refused(
          yield* runWith({ PARLEY_ADMIN_KEY }, ["org", "list"]),
          /No server answers at \/nonexistent\/parley\/run\/admin\.sock\. .*npm start.*set PARLEY_URL and PARLEY_ADMIN_KEY/
        )
        refused(yield* runWith({}, ["org", "list"]), /There is no admin key in .*parley\/admin\.key/)
      })
    )

    it.effect("key generate prints keys that the service accepts", () =>
      Effect.gen(function* () {
        const { key } = document(Schema.Struct({ key: Schema.String }))(
          yield* runWith({}, ["key", "generate", "--json"])
        )
        const { stdout } = yield* runWith({}, ["key", "generate"])
        for (const text of [key, stdout]) {
          assert.isTrue(Option.isSome(KeyToken.parseKey(Redacted.make(text))))
        }
        assert.notStrictEqual(key, stdout)
      })
    )

    it.effect("config print shows the environment's settings, secrets redacted, and their source", () =>
      Effect.gen(function* () {
        const { code, stderr, stdout } = yield* runWith({ ...nobody, PORT: "4567" }, [
          "config",
          "print",
          "--json"
        ])
        assert.strictEqual(code, 0)
        assert.strictEqual(stderr, "")
        assert.match((yield* runWith(nobody, ["config", "print"])).stderr, /settings of this environment/)
        const { settings, source } = Schema.decodeUnknownSync(Schema.fromJsonString(Settings))(stdout)
        assert.strictEqual(source, "environment")
        assert.deepInclude(settings, { name: "PORT", value: "4567" })
        assert.deepInclude(settings, { name: "PARLEY_ADMIN_KEY", value: "<redacted>" })
        const invalid = yield* runWith({ ...nobody, PORT: "many" }, ["config", "print"])
        assert.strictEqual(invalid.code, 1)
        assert.strictEqual(invalid.stdout, "")
        assert.match(invalid.stderr, /PORT/)
      })
    )

    it.effect("doctor makes the checks that need no server", () =>
      Effect.gen(function* () {
        const { code, stdout } = yield* runWith({ ...nobody, PORT: "many", PARLEY_PROT: "1" }, [
          "doctor",
          "--json"
        ])
        assert.strictEqual(code, 1)
        const { checks, ok } = Schema.decodeUnknownSync(Schema.fromJsonString(Examination))(stdout)
        assert.isFalse(ok)
        assert.deepStrictEqual(
          checks.map(({ name, status }) => [name, status]),
          [
            ["server", "failed"],
            ["settings", "failed"],
            ["settings", "warning"]
          ]
        )
        assert.match(checks[1]?.detail ?? "", /^PORT is "many", but must be a whole number/)
        assert.match(checks[2]?.detail ?? "", /misspelled: PARLEY_PROT/)

        const warned = yield* runWith({ ...nobody, PARLEY_PROT: "1", HOST: "0.0.0.0" }, ["doctor"])
        assert.match(warned.stdout, /warning +This variable is no setting.*PARLEY_PROT/)
        assert.match(warned.stdout, /warning +HOST is 0\.0\.0\.0.*without TLS/)
      })
    )

    it.effect("doctor reports without a server what prevents one from starting", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const PARLEY_DATA_DIR = yield* fs.makeTempDirectoryScoped()
        const taken = yield* serveOnLoopback(createServer())
        const { stdout } = yield* runWith(
          {
            ...nobody,
            PARLEY_DATA_DIR,
            PORT: String(taken),
            DATABASE_URL: "postgres://u:hunter2@127.0.0.1:9/none?sslcert=a.pem"
          },
          ["doctor", "--json"]
        )
        const { checks } = Schema.decodeUnknownSync(Schema.fromJsonString(Examination))(stdout)
        const found = checks.map(({ detail, name, status }) => `${name} ${status}: ${detail}`).join("\n")
        assert.match(found, /^database failed: Can't reach PostgreSQL at 127\.0\.0\.1:9\/none.*ECONNREFUSED/m)
        assert.match(found, new RegExp(`^port failed: Port ${taken} of 127\\.0\\.0\\.1 is taken`, "m"))
        assert.match(found, /^disk (ok|warning): \d+ MiB are free/m)
        assert.match(found, /^settings warning: .*ignored: sslcert/m)
        assert.notInclude(found, "hunter2")

        yield* fs.makeDirectory(`${PARLEY_DATA_DIR}/postgres/data`, { recursive: true })
        yield* fs.writeFileString(`${PARLEY_DATA_DIR}/postgres/data/PG_VERSION`, "9\n")
        const older = yield* runWith({ ...nobody, PARLEY_DATA_DIR }, ["doctor"])
        assert.match(older.stdout, /failed +PostgreSQL 9 wrote the data/)
      })
    )

    it.effect("parley exits with code 2 and prints the usage for an invalid command line", () =>
      Effect.gen(function* () {
        for (const args of [
          ["key"],
          ["key", "--json"],
          ["key", "list", "--json"],
          ["nothing"],
          ["org", "create"],
          ["org", "create", ""],
          ["org", "create", "a".repeat(101)],
          ["org", "create", "a\u0000b"],
          ["org", "create", "a", "b"],
          ["org", "create", "a", "--plan", "Not A Plan"],
          ["org", "create", "a", "--unknown"],
          ["user", "create", "no address", "--org", "a"],
          ["user", "create", "a@b"],
          ["key", "create", "a@b"],
          ["key", "create", "a@b", "--name", "n", "--expires-in", "soon"],
          ["key", "revoke", "not-an-id"],
          ["file"],
          ["file", "list"],
          ["file", "list", "a@b", "--purpose", ""],
          ["file", "list", "a@b", "--purpose", "p".repeat(65)],
          ["file", "show", "a@b"],
          ["file", "show", "a@b", "not-an-id"],
          ["file", "delete", randomUUID()],
          ["file", "upload", "a@b"],
          ["file", "upload", "nobody", "a"]
        ]) {
          const { code, stderr, stdout } = yield* runWith(nobody, args)
          assert.strictEqual(code, 2, args.join(" "))
          assert.strictEqual(stdout, "", args.join(" "))
          assert.match(stderr, /usage/i)
        }
      })
    )

    it.effect("parley prints help and its version when asked for them", () =>
      Effect.gen(function* () {
        const { code, stderr, stdout } = yield* runWith({}, ["key", "create", "--help"])
        assert.strictEqual(code, 0)
        assert.strictEqual(stderr, "")
        assert.match(stdout, /--expires-in/)
        assert.deepStrictEqual(yield* runWith({}, ["--version"]), {
          code: 0,
          stdout: `${manifest.version} (dev)`,
          stderr: ""
        })
      })
    )

    it.effect("parley rejects a file that holds no admin key", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const PARLEY_ADMIN_KEY_FILE = yield* fs.makeTempFileScoped()
        yield* fs.writeFileString(PARLEY_ADMIN_KEY_FILE, "too short")
        const env = { PARLEY_URL: nobody.PARLEY_URL, PARLEY_ADMIN_KEY_FILE }
        refused(yield* runWith(env, ["org", "list"]), /holds no admin key/)
      })
    )

    it.effect("parley reports that another service answers at the address", () =>
      Effect.gen(function* () {
        for (const [status, body] of [
          [200, "hello"],
          [200, '{"data": 1}'],
          [404, "<html>"],
          [401, '{"error": "no"}'],
          [302, ""]
        ] as const) {
          const PARLEY_URL = yield* stranger(status, body)
          const ran = yield* runWith({ ...nobody, PARLEY_URL }, ["org", "list", "--json"])
          refused(ran, /is no parley of this version/)
        }
      })
    )
  }
)

describe("a duration", () => {
  it("a duration is a whole number with a unit, within bounds", () => {
    const lengths: ReadonlyArray<readonly [string, number | undefined]> = [
      ["1s", 1],
      ["90m", 5_400],
      ["12h", 43_200],
      ["30d", 2_592_000],
      ["4w", 2_419_200],
      ["3650d", expirySecondsMax],
      ["3651d", undefined],
      ["0d", undefined],
      ["-1d", undefined],
      ["1.5d", undefined],
      ["30", undefined],
      ["30D", undefined],
      ["30d ", undefined],
      ["9999999999s", undefined]
    ]
    for (const [text, seconds] of lengths)
      assert.strictEqual(Option.getOrUndefined(parseDuration(text)), seconds, text)
  })

  it.effect.prop("a duration is within bounds for any text", [Schema.String], ([text]) =>
    Effect.sync(() => {
      const seconds = Option.getOrElse(parseDuration(text), () => 1)
      assert.isTrue(Number.isInteger(seconds) && seconds >= 1 && seconds <= expirySecondsMax)
    })
  )
})
