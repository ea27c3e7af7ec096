import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import { SqlClient } from "effect/sql"
import { newestKnown } from "../../src/sql/Migrations.ts"
import { runWith } from "../admin/AdminServer.ts"
import { emptyDatabase, migrateUntil } from "../support/EmptyDatabase.ts"
import { makeMockModelServer } from "../support/MockModelServer.ts"

const Examination = Schema.fromJsonString(
  Schema.Struct({
    checks: Schema.Array(Schema.Struct({ name: Schema.String, status: Schema.String, detail: Schema.String }))
  })
)

/** Nothing listens on the discard port of this machine. */
const away = { PARLEY_URL: "http://127.0.0.1:9", PARLEY_ADMIN_KEY: "parley_admin_key_that_no_server_knows" }

/** The output of the doctor without a running server, a line for each check. */
const examination = Effect.fnUntraced(function* (env: Record<string, string>) {
  const fs = yield* FileSystem.FileSystem
  const PARLEY_DATA_DIR = yield* fs.makeTempDirectoryScoped({ prefix: "parley-doctor-" })
  const { stdout } = yield* runWith({ ...away, PORT: "0", PARLEY_DATA_DIR, ...env }, ["doctor", "--json"])
  const { checks } = Schema.decodeUnknownSync(Examination)(stdout)
  return checks.map(({ detail, name, status }) => `${name} ${status}: ${detail}`).join("\n")
})

layer(Layer.merge(NodeServices.layer, FetchHttpClient.layer), { excludeTestServices: true })(
  "parley doctor without a server",
  (it) => {
    it.effect(
      "parley doctor finds what separates a service from its model server, its database and its users, with the remedy",
      () =>
        Effect.gen(function* () {
          const { address, client } = yield* emptyDatabase
          const DATABASE_URL = Redacted.value(address.url)
          const gone = yield* examination({
            DATABASE_URL,
            HOST: "0.0.0.0",
            OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
            OPENAI_MODEL: "m"
          })
          assert.match(gone, /^provider openai failed: .*127\.0\.0\.1:9.*ECONNREFUSED/m)
          assert.match(gone, /^database ok: It is empty/m)
          assert.match(gone, /^public address warning: HOST is 0\.0\.0\.0.*without TLS.*reverse proxy/m)

          const upstream = yield* makeMockModelServer
          const env = { DATABASE_URL, OPENAI_BASE_URL: upstream.url, OPENAI_API_KEY: "sk-wrong-key" }
          yield* upstream.listModels({ status: 401 })
          yield* Effect.provide(migrateUntil(17), client)
          const refused = yield* examination({
            ...env,
            OPENAI_MODEL: "mock-model",
            HOST: "0.0.0.0",
            PARLEY_PUBLIC_URL: "https://parley.example.com"
          })
          assert.match(refused, /^provider openai failed: .*OPENAI_API_KEY/m)
          assert.match(
            refused,
            new RegExp(
              `^database warning: It has schema 17, and this version needs ${newestKnown}.*Make a backup`,
              "m"
            )
          )
          assert.match(refused, /^public address ok: /m)
          assert.notInclude(refused, "sk-wrong-key")

          yield* upstream.listModels({ data: [{ id: "mock-model", object: "model" }] })
          yield* upstream.usually(() => ({ status: 404 }))
          yield* Effect.flatMap(
            SqlClient.SqlClient,
            (sql) => sql`INSERT INTO effect_sql_migrations (migration_id, name) VALUES (9999, 'later')`
          ).pipe(Effect.provide(client))
          const unlisted = yield* examination({ ...env, OPENAI_MODEL: "other-model" })
          assert.match(unlisted, /^provider openai failed: .*no answer of other-model/m)
          assert.match(unlisted, /^database failed: .*schema 9999/m)
        })
    )

    it.effect("parley doctor finds a model server in order", () =>
      Effect.gen(function* () {
        const upstream = yield* makeMockModelServer
        const found = yield* examination({ OPENAI_BASE_URL: upstream.url, OPENAI_MODEL: "mock-model" })
        assert.match(found, /^provider openai ok: .*answers, and lists its models/m)
      })
    )
  }
)
