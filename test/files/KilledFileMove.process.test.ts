import { type ChildProcess, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { SqlClient } from "effect/sql"
import { runWith } from "../admin/AdminServer.ts"
import { childEnvironment } from "../support/childEnvironment.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { S3Server } from "../support/S3Server.ts"
import { commandLine, type ServiceProcess, startService } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"

/** A key as `parley key generate` makes it; it opens nothing but the database of this test. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"

const slow = 180_000

const filesBefore = 10
/** Requests to the bucket after which it stops answering: some files have arrived there then. */
const requestsBeforeStall = 16

const shared = Layer.mergeAll(TestDatabase.layer, S3Server.layer(), NodeServices.layer, FetchHttpClient.layer)

const headers = { authorization: `Bearer ${key}` }

const uploadTo = (url: string, bytes: Uint8Array<ArrayBuffer>) =>
  Effect.promise(async () => {
    const form = new FormData()
    form.append("purpose", "assistants")
    form.append("file", new Blob([bytes]), "file.bin")
    const response = await fetch(`${url}/v1/files`, { method: "POST", headers, body: form })
    assert.strictEqual(response.status, 200)
    const { id } = (await response.json()) as { readonly id: string }
    return { id, bytes }
  })

type Uploaded = Effect.Success<ReturnType<typeof uploadTo>>

/** Every file has the bytes that were uploaded, byte by byte. */
const assertThere = (url: string, files: ReadonlyArray<Uploaded>) =>
  Effect.promise(async () => {
    for (const { bytes, id } of files) {
      const response = await fetch(`${url}/v1/files/${id}/content`, { headers })
      assert.strictEqual(response.status, 200)
      assert.isTrue(Buffer.from(bytes).equals(Buffer.from(await response.arrayBuffer())))
    }
  })

const ended = (child: ChildProcess) =>
  Effect.promise(() => new Promise((resolve) => child.once("exit", resolve)))

const stop = (service: ServiceProcess) => Effect.andThen(service.signal("SIGTERM"), service.exit)

layer(shared, { excludeTestServices: true })("A move of files to a bucket", (it) => {
  it.effect(
    "a move of files to a bucket that is killed half-way changes nothing for the service, and the next run finishes it",
    () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const sql = yield* SqlClient.SqlClient
        const s3 = yield* S3Server
        const dataDir = yield* fs.makeTempDirectoryScoped({ prefix: "parley-move-" })
        const { bucket } = s3
        const common = {
          DATABASE_URL: Redacted.value((yield* TestDatabase).url),
          PARLEY_DATA_DIR: dataDir,
          PARLEY_INIT_API_KEY: key,
          PARLEY_S3_ENDPOINT: bucket.endpoint,
          PARLEY_S3_BUCKET: bucket.bucket,
          PARLEY_S3_REGION: bucket.region,
          PARLEY_S3_PREFIX: "moved/",
          PARLEY_S3_ACCESS_KEY_ID: bucket.accessKeyId,
          PARLEY_S3_SECRET_ACCESS_KEY: Redacted.value(bucket.secretAccessKey)
        }
        const moving = { ...common, PARLEY_FILES_MOVE_TO: "s3" }
        const move = ["files", "move", "--json"]
        const first = yield* startService(common)
        const files: Array<Uploaded> = []
        for (let n = 0; n < filesBefore; n++) {
          files.push(yield* uploadTo(yield* first.url, randomBytes(1_000 * n)))
        }
        const beside = yield* runWith(moving, ["files", "move"])
        assert.strictEqual(beside.code, 1)
        assert.match(beside.stderr, /^parley: A service runs on this database, .* Stop every process/m)
        yield* stop(first)

        yield* s3.failRequest(requestsBeforeStall, "stall", 1_000)
        const child = spawn(process.execPath, [commandLine, ...move], {
          env: { ...childEnvironment, ...moving },
          stdio: "ignore"
        })
        yield* until(Effect.map(s3.seen, ({ failed }) => failed))
        const copies = sql`SELECT FROM file_copies`
        yield* until(Effect.map(copies, (rows) => rows.length > 0))
        child.kill("SIGKILL")
        yield* ended(child)
        yield* s3.off
        const copied = (yield* copies).length
        assert.isBelow(copied, filesBefore)

        // The service goes on as if there had been no move.
        const second = yield* startService(common)
        yield* assertThere(yield* second.url, files)
        files.push(yield* uploadTo(yield* second.url, randomBytes(50_000)))
        yield* stop(second)

        const again = yield* runWith(moving, move)
        assert.strictEqual(again.code, 0, again.stderr)
        assert.include(again.stderr, `Copied ${files.length - copied} files.`)
        assert.strictEqual(JSON.parse(again.stdout).moved, files.length)
        removeDirectory(`${dataDir}/files`)

        const next = yield* startService({ ...common, PARLEY_FILES_STORE: "s3" })
        yield* assertThere(yield* next.url, files)
        assert.lengthOf(yield* sql`SELECT FROM audit_log WHERE action = 'file.move' AND origin = 'cli'`, 1)
      }),
    slow
  )
})
