import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { examineEmbedded } from "../../src/postgres/EmbeddedPostgres.ts"
import { binariesFor, runProgram } from "../../src/postgres/PostgresBinaries.ts"
import { isRoot, preparePostgresHome } from "../../src/postgres/PostgresHome.ts"
import { startPostgresServer } from "../../src/postgres/PostgresServer.ts"
import { openCopySession } from "../../src/sql/CopySession.ts"
import type { DatabaseAddress } from "../../src/sql/DatabaseClient.ts"
import { copyDatabase } from "../../src/sql/DatabaseMove.ts"
import { migrate } from "../../src/sql/Migrations.ts"
import { runWith } from "../admin/AdminServer.ts"
import { childEnvironment } from "../support/childEnvironment.ts"
import { emptyDatabase } from "../support/EmptyDatabase.ts"
import { commandLine, type ServiceProcess, startService } from "../support/ServiceProcess.ts"
import { until } from "../support/until.ts"

/** A key as `parley key generate` makes it; it opens nothing but the databases of this test. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"
const slow = 240_000

/** Another major version than that of the embedded server, where Debian has installed it. */
const otherMajor = "/usr/lib/postgresql/15"

const ask = (address: DatabaseAddress, sql: string) =>
  Effect.scoped(Effect.flatMap(openCopySession(address), ({ run }) => run(sql)))

const headers = { authorization: `Bearer ${key}` }

const upload = (url: string, text: string) =>
  Effect.promise(async () => {
    const form = new FormData()
    form.append("purpose", "assistants")
    form.append("file", new Blob([text]), "file.txt")
    const response = await fetch(`${url}/v1/files`, { method: "POST", headers, body: form })
    const { id } = (await response.json()) as { readonly id?: string }
    return { status: response.status, id: id ?? "" }
  })

const download = (url: string, id: string) =>
  Effect.promise(async () => (await fetch(`${url}/v1/files/${id}/content`, { headers })).text())

const stop = (service: ServiceProcess) => Effect.andThen(service.signal("SIGTERM"), service.exit)

const shared = Layer.merge(NodeServices.layer, FetchHttpClient.layer)

layer(shared, { excludeTestServices: true })("The embedded database", (it) => {
  it.effect(
    "the embedded database moves to another server while its service is stopped, and a killed move changes nothing",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const dataDir = yield* fs.makeTempDirectoryScoped({ prefix: "parley-move-" })
        const { address } = yield* emptyDatabase
        const target = Redacted.value(address.url)
        const env = { PARLEY_DATA_DIR: dataDir, PARLEY_INIT_API_KEY: key }
        const move = ["database", "move", target]
        const service = yield* startService(env)
        const text = randomBytes(2_000).toString("hex")
        const file = yield* upload(yield* service.url, text)
        assert.strictEqual(file.status, 200)
        for (const args of [move, ["database", "resume"]]) {
          const beside = yield* runWith(env, args)
          assert.strictEqual(beside.code, 1)
          assert.match(beside.stderr, /^parley: A service or another command runs .* Stop it, and run/m)
        }
        yield* stop(service)

        // The copy waits for this reader of a table of the target, and is killed there.
        yield* migrate(address)
        yield* Effect.gen(function* () {
          const reader = yield* openCopySession(address)
          yield* reader.run("BEGIN")
          yield* reader.run("LOCK TABLE users IN ACCESS SHARE MODE")
          const child = spawn(process.execPath, [commandLine, ...move], {
            env: { ...childEnvironment, ...env },
            stdio: "ignore"
          })
          const waiting = ask(
            address,
            "SELECT 1 FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
          )
          yield* until(Effect.map(waiting, ({ length }) => length > 0))
          const exit = new Promise((resolve) => child.once("exit", resolve))
          child.kill("SIGKILL")
          yield* Effect.promise(() => exit)
        }).pipe(Effect.scoped)
        assert.deepStrictEqual(yield* ask(address, "SELECT count(*)::int AS n FROM users"), [{ n: 0 }])
        const undisturbed = yield* startService(env)
        assert.strictEqual(yield* download(yield* undisturbed.url, file.id), text)
        const late = yield* upload(yield* undisturbed.url, "late")
        yield* stop(undisturbed)

        const moved = yield* runWith(env, move)
        assert.strictEqual(moved.code, 0, moved.stderr)
        assert.match(
          moved.stdout,
          /^Moved \d+ rows of \d+ tables to the database \S+ at \S+, and compared all of them\./
        )
        const old = yield* startService(env)
        assert.strictEqual(yield* old.exit, 1)
        assert.match(
          old.output().err,
          /^parley: The embedded database was moved to the database .* set DATABASE_URL/m
        )
        assert.notInclude(old.output().err, target)
        const again = yield* runWith(env, move)
        assert.include(again.stderr, "was moved to the database")

        const next = yield* startService({ ...env, DATABASE_URL: target })
        assert.strictEqual(yield* download(yield* next.url, file.id), text)
        assert.strictEqual(yield* download(yield* next.url, late.id), "late")
        assert.strictEqual((yield* upload(yield* next.url, "new")).status, 200)
        yield* stop(next)

        const resumed = yield* runWith(env, ["database", "resume"])
        assert.strictEqual(resumed.code, 0, resumed.stderr)
        const filled = yield* runWith(env, move)
        assert.strictEqual(filled.code, 1)
        assert.match(
          filled.stderr,
          /already has rows, in the table \S+\. Create an empty database and name that\./
        )
        const back = yield* startService(env)
        assert.strictEqual(yield* download(yield* back.url, file.id), text)
      }),
    slow
  )

  it.effect.skipIf(!existsSync(`${otherMajor}/bin/initdb`))(
    "a database of another major version is refused with the steps, and a copy brings its rows to this version",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const dataDir = yield* fs.makeTempDirectoryScoped({ prefix: "parley-major-" })
        // PostgreSQL runs as no root, and its initdb only as an account that has a name.
        const [, uid, gid] =
          /^postgres:[^:]*:(\d+):(\d+)/m.exec(yield* fs.readFileString("/etc/passwd")) ?? []
        if (isRoot()) {
          yield* fs.chmod(dataDir, 0o711)
          yield* fs.makeDirectory(`${dataDir}/postgres`)
          yield* fs.chown(`${dataDir}/postgres`, Number(uid), Number(gid))
        }
        const home = yield* preparePostgresHome(dataDir)
        const binaries = yield* binariesFor(home, otherMajor)
        const { code, output } = yield* runProgram(
          `${otherMajor}/bin/initdb`,
          ["-D", home.data, "-U", "parley", "--encoding=UTF8", "--locale=C", "--no-sync", "--auth=trust"],
          { account: home.account, cwd: home.directory, env: binaries.env }
        )
        assert.strictEqual(code, 0, output)
        const refusal = yield* Effect.flip(examineEmbedded(dataDir))
        assert.match(refusal.message, /^PostgreSQL 15 wrote the data .* `parley backup .* `parley restore /s)

        const server = yield* startPostgresServer(home, binaries, {
          listen_addresses: "",
          port: "5432",
          unix_socket_directories: home.sockets,
          fsync: "off"
        })
        yield* Effect.addFinalizer(() => server.stop)
        const source = { path: `${home.sockets}/.s.PGSQL.5432`, username: "parley", database: "postgres" }
        yield* migrate(source)
        yield* ask(
          source,
          `INSERT INTO organizations (id, name)
            SELECT gen_random_uuid(), E'a\\tb\\nc\\\\d ' || n || U&'\\00e9' FROM generate_series(1, 2000) AS n`
        )
        const { address } = yield* emptyDatabase
        yield* migrate(address)
        const tables = yield* copyDatabase(source, address, () => Effect.void)
        assert.deepInclude(tables, { name: "organizations", rows: 2_000 })
        const all = "SELECT md5(string_agg(id || name, ',' ORDER BY id)) AS md5 FROM organizations"
        assert.deepStrictEqual(yield* ask(address, all), yield* ask(source, all))
      }),
    slow
  )
})
