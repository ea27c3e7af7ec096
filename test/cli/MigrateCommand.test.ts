import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import { newestKnown } from "../../src/sql/Migrations.ts"
import { runWith } from "../admin/AdminServer.ts"
import { emptyDatabase, migrateUntil } from "../support/EmptyDatabase.ts"

const Outcome = Schema.fromJsonString(
  Schema.Struct({ before: Schema.Int, after: Schema.Int, migrations: Schema.Array(Schema.String) })
)

/** A database with the tables of an earlier version, as the settings of a command name it. */
const olderDatabase = Effect.gen(function* () {
  const { address, client } = yield* emptyDatabase
  yield* Effect.provide(migrateUntil(17), client)
  return { client, env: { DATABASE_URL: Redacted.value(address.url) } }
})

layer(Layer.merge(NodeServices.layer, FetchHttpClient.layer), { excludeTestServices: true })(
  "parley migrate",
  (it) => {
    it.effect("parley migrate lists with --dry-run what it would do, and does it without", () =>
      Effect.gen(function* () {
        const { env } = yield* olderDatabase
        for (let run = 0; run < 2; run++) {
          const { code, stdout } = yield* runWith(env, ["migrate", "--dry-run"])
          assert.strictEqual(code, 0)
          assert.match(
            stdout,
            new RegExp(`would bring the database \\S+ at \\S+ from schema 17 to ${newestKnown}:\\n {2}0018_`)
          )
        }
        const done = yield* runWith(env, ["migrate", "--json"])
        assert.match(done.stderr, /^Running 0018_link_creators\.$/m)
        const { after, before, migrations } = Schema.decodeUnknownSync(Outcome)(done.stdout)
        assert.deepStrictEqual([before, after, migrations[0]], [17, newestKnown, "0018_link_creators"])
        assert.match((yield* runWith(env, ["migrate"])).stdout, /^Nothing to do: /)
      })
    )

    it.effect("parley migrate refuses a database of a newer version in one line", () =>
      Effect.gen(function* () {
        const { client, env } = yield* olderDatabase
        yield* Effect.flatMap(
          SqlClient.SqlClient,
          (sql) =>
            sql`INSERT INTO effect_sql_migrations (migration_id, name) VALUES (9999, 'from_the_future')`
        ).pipe(Effect.provide(client))
        for (const flags of [[], ["--dry-run"]]) {
          const { code, stderr, stdout } = yield* runWith(env, ["migrate", ...flags])
          assert.deepStrictEqual([code, stdout], [1, ""])
          assert.match(stderr, /^parley: The database has schema 9999[^\n]+$/)
        }
      })
    )

    it.effect("parley migrate creates no embedded database to find out what it would do", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const dataDir = yield* fs.makeTempDirectoryScoped({ prefix: "parley-migrate-" })
        const { stdout } = yield* runWith({ PARLEY_DATA_DIR: dataDir }, ["migrate", "--dry-run"])
        assert.match(stdout, /^There is no database yet: the first start creates /)
        assert.isEmpty(yield* fs.readDirectory(dataDir))
      })
    )

    const sockets = new URL(inject("testServer").url).searchParams.get("host") ?? ""
    const dataDir = sockets.replace(/\/postgres\/run$/, "")

    it.effect.skipIf(dataDir === sockets)(
      "parley migrate looks at the embedded database of a running service, and doesn't migrate it",
      () =>
        Effect.gen(function* () {
          const env = { PARLEY_DATA_DIR: dataDir }
          assert.match((yield* runWith(env, ["migrate", "--dry-run"])).stdout, /^\d+ migrations would bring /)
          assert.match(
            (yield* runWith(env, ["migrate"])).stderr,
            /^parley: A service runs on .* Stop it first/
          )
        })
    )
  }
)
