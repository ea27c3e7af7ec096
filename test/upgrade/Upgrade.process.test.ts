import { readdirSync, readFileSync } from "node:fs"
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import { Client } from "pg"
import { runWith } from "../admin/AdminServer.ts"
import { emptyDatabase } from "../support/EmptyDatabase.ts"
import { startService } from "../support/ServiceProcess.ts"
import { call, responseOf } from "../support/Wire.ts"

/** The facts that record.mjs has written about a released version, beside the data. */
const Facts = Schema.fromJsonString(
  Schema.Struct({
    version: Schema.String,
    key: Schema.String,
    revoked_key: Schema.String,
    email: Schema.String,
    response: Schema.String,
    file: Schema.String,
    file_text: Schema.String,
    project: Schema.String
  })
)

const names = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".sql"))
  .map((name) => name.replace(/\.sql$/, ""))

const read = (file: string) => readFileSync(`${import.meta.dirname}/${file}`, "utf8")

/** Runs a script of many statements, which the clients of the service don't. */
const runScript = (connectionString: string, script: string) =>
  Effect.acquireUseRelease(
    Effect.sync(() => new Client({ connectionString })),
    (client) =>
      Effect.promise(async () => {
        await client.connect()
        await client.query(script)
      }),
    (client) => Effect.promise(() => client.end())
  )

/** An admin key of this test alone. */
const adminKey = `parley_admin_${"u".repeat(43)}`

layer(Layer.merge(NodeServices.layer, FetchHttpClient.layer), { excludeTestServices: true })(
  "This version on the data of a released one",
  (it) => {
    it.effect.each(names)("%s: keys, conversations, files, projects and limits are as they were", (name) =>
      Effect.gen(function* () {
        const facts = Schema.decodeUnknownSync(Facts)(read(`${name}.json`))
        const { address } = yield* emptyDatabase
        yield* runScript(Redacted.value(address.url), read(`${name}.sql`))

        const fs = yield* FileSystem.FileSystem
        const dataDir = yield* fs.makeTempDirectoryScoped({ prefix: "parley-upgrade-" })
        const service = yield* startService({
          DATABASE_URL: Redacted.value(address.url),
          PARLEY_DATA_DIR: dataDir,
          PARLEY_FILES_STORE: "postgres",
          PARLEY_ADMIN_KEY: adminKey,
          // The recorded conversations are older than the retention.
          PARLEY_CONVERSATION_DAYS: "0"
        })
        const url = yield* service.url
        const ask = (path: string, body?: unknown, key = facts.key) =>
          call(`${url}${path}`, { key, ...(body === undefined ? {} : { body }) })

        const input = [{ role: "user", content: [{ type: "input_text", text: "Which word was it?" }] }]
        const body = { input, previous_response_id: facts.response, stream: false }
        const answer = yield* ask("/v1/responses", body)
        assert.strictEqual(responseOf(answer).status, "completed")
        assert.strictEqual((yield* ask("/v1/files", undefined, facts.revoked_key)).status, 401)
        assert.strictEqual((yield* ask(`/v1/files/${facts.file}/content`)).text, facts.file_text)

        const env = { PARLEY_URL: url, PARLEY_ADMIN_KEY: adminKey, PARLEY_DATA_DIR: dataDir }
        const found = yield* runWith(env, [
          "project",
          "search",
          facts.project,
          "Which heron is in the register?"
        ])
        assert.include(found.stdout, "Grimaldi", found.stderr)
        const limits = yield* ask(`/admin/limits?email=${facts.email}`, undefined, adminKey)
        assert.include(limits.text, "1000000")
      })
    )
  }
)
