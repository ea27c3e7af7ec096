import { randomUUID } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { fromBufferPromise } from "yauzl"
import { AdminServer, clientWith, run } from "../admin/AdminServer.ts"
import { added } from "../audit/fixtures.ts"
import { removeDirectory } from "../support/removeDirectory.ts"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-export-"))),
  (path) => Effect.sync(() => removeDirectory(path))
)

/** The address of a user with a file. */
const someUser = Effect.gen(function* () {
  const client = yield* clientWith()
  const [name, email] = [randomUUID(), `${randomUUID()}@example.com`]
  yield* client.accounts.createOrganization({ payload: { name } })
  yield* client.accounts.createUser({ payload: { email, organization: name } })
  const payload = Stream.make(new Uint8Array(300_000).fill(65))
  const file = yield* client.files.upload({ query: { email, filename: "a.plain" }, payload })
  return { email, file }
})

layer(AdminServer.layer, { excludeTestServices: true })("parley data export", (it) => {
  it.effect("parley data export writes an archive that only its owner can read, once", () =>
    Effect.gen(function* () {
      const path = join(yield* directory, "user.zip")
      const { email } = yield* someUser
      const { entries, value } = yield* added(run("data", "export", email, path))
      assert.strictEqual(value.stderr, "")
      assert.deepStrictEqual(
        entries.map(({ action, origin }) => [action, origin]),
        [["user.export", "cli"]]
      )
      const bytes = readFileSync(path)
      assert.strictEqual(value.stdout, `Wrote ${bytes.length} bytes to ${path}.`)
      assert.strictEqual(statSync(path).mode & 0o777, 0o600)
      const zip = yield* Effect.promise(() => fromBufferPromise(bytes))
      assert.strictEqual(zip.entryCount, 9)

      const again = yield* run("data", "export", email, path)
      assert.strictEqual(again.code, 1)
      assert.include(again.stderr, "exists already")
      assert.deepStrictEqual(readFileSync(path), bytes)
    })
  )

  it.effect("parley data export leaves no file behind when it can't be completed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const path = yield* directory
      const { email, file } = yield* someUser
      writeFileSync(join(path, "other"), "")
      // The bytes of the file have gone.
      yield* sql`UPDATE files SET storage_key = ${randomUUID()} WHERE id = ${file.id}`
      const broken = yield* run("data", "export", email, join(path, "user.zip"))
      assert.strictEqual(broken.code, 1)
      assert.match(broken.stderr, /broke off, and no file was written/)
      const missing = yield* run("data", "export", email, join(path, "none", "user.zip"))
      assert.match(missing.stderr, /can't be written \(NotFound\)/)
      assert.match((yield* run("data", "export", "x@example.com", join(path, "x"))).stderr, /does not exist/)
      assert.deepStrictEqual(readdirSync(path), ["other"])
    })
  )
})
