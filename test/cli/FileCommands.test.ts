import { randomBytes, randomUUID } from "node:crypto"
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted, Schema, Sink, Stdio, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { SqlClient } from "effect/sql"
import { FileDeleted, FileObject, fileObject } from "../../src/api/FileObject.ts"
import type { FileId } from "../../src/domain/Ids.ts"
import { FileStore } from "../../src/files/FileStore.ts"
import { AdminServer, clientWith, run, runReplacing } from "../admin/AdminServer.ts"
import { makeUser } from "../auth/AccountsFixture.ts"
import { BlobFaults, contentOf, countsOf, until, upload } from "../files/fixtures.ts"
import type { Ran } from "../support/captured.ts"
import { removeDirectory } from "../support/removeDirectory.ts"

const FileObjects = Schema.Array(FileObject)

/** The document that a command with --json printed. */
const document =
  <S extends Schema.ConstraintDecoder<unknown>>(schema: S) =>
  (ran: Ran): S["Type"] => {
    assert.strictEqual(ran.code, 0, ran.stderr)
    return Schema.decodeUnknownSync(Schema.fromJsonString(schema))(ran.stdout)
  }

/**
 * A command that was refused: nothing on the standard output, and the reason in one line after whatever was
 * begun.
 */
const refused = (ran: Ran, message: RegExp, begun: ReadonlyArray<string> = []) => {
  assert.strictEqual(ran.stdout, "")
  const lines = ran.stderr.split("\n")
  const last = lines.at(-1) ?? ""
  // With `--json` the error is a document.
  const text = last.startsWith("{") ? `parley: ${JSON.parse(last).error.message}` : last
  assert.match(text, /^parley: /)
  assert.match(text, message)
  assert.deepStrictEqual(lines.slice(0, -1), begun)
  assert.strictEqual(ran.code, 1)
}

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-upload-"))),
  (path) => Effect.sync(() => removeDirectory(path))
)

/** A file of this machine, for as long as the test runs. */
const localFile = Effect.fnUntraced(function* (name: string, content: string | Uint8Array) {
  const path = join(yield* directory, name)
  writeFileSync(path, content)
  return path
})

/** A standard error that says whether it is a terminal, and what was written to it. */
const terminal = (isTerminal: boolean) => {
  const written: Array<string> = []
  const replaced = Stdio.layerTest({
    stderrIsTerminal: Effect.succeed(isTerminal),
    stderr: () => Sink.forEach((text) => Effect.sync(() => written.push(String(text))))
  })
  return { written, replaced }
}

layer(AdminServer.layer, { excludeTestServices: true })("parley file", (it) => {
  it.effect("parley file uploads a file whose bytes are the same when they are read back", () =>
    Effect.gen(function* () {
      const { user } = yield* makeUser
      const bytes = randomBytes(5_000_003)
      const name = 'Größe & "more" 50%#?.bin'
      const path = yield* localFile(name, bytes)
      const ran = yield* run("file", "upload", user.email, path, "--purpose", "a b/ü", "--json")
      const file = document(FileObject)(ran)
      assert.deepInclude(file, { bytes: bytes.length, filename: name, purpose: "a b/ü", status: "processed" })
      assert.strictEqual(ran.stderr, `Uploading ${name} (5000003 bytes).\nSent 5000003 bytes.`)
      const store = yield* FileStore
      assert.deepStrictEqual(file, fileObject(yield* store.get(user.id, file.id)))
      assert.isTrue(bytes.equals(yield* contentOf(user.id, file.id)))
    })
  )

  it.effect("parley file shows the progress of an upload on a terminal", () =>
    Effect.gen(function* () {
      const { user } = yield* makeUser
      const path = yield* localFile("big.txt", Buffer.alloc(2_000_000, "text "))
      const { replaced, written } = terminal(true)
      const ran = yield* runReplacing(replaced, "file", "upload", user.email, path)
      assert.match(ran.stdout, /^Stored "big\.txt" as [0-9a-f-]{36}\. Its text is ready \(processed\)\.$/)
      assert.strictEqual(ran.stderr, "")
      assert.strictEqual(written[0], "\rUploading big.txt: 0 of 2000000 bytes, 0%")
      assert.strictEqual(written.at(-2), "\rUploading big.txt: 2000000 of 2000000 bytes, 100%")
      assert.strictEqual(written.at(-1), "\n")
      const percents = written.slice(0, -1).map((text) => Number(/(\d+)%$/.exec(text)?.[1]))
      assert.isAbove(percents.length, 10)
      assert.deepStrictEqual(
        percents,
        [...new Set(percents)].toSorted((a, b) => a - b)
      )
    })
  )

  it.effect("parley file replaces control characters in file names", () =>
    Effect.gen(function* () {
      const { user } = yield* makeUser
      const path = yield* localFile("a\u001b[2J\n.txt", "text")
      const { replaced, written } = terminal(true)
      const ran = yield* runReplacing(replaced, "file", "upload", user.email, path)
      assert.strictEqual(ran.code, 0)
      const shown = written.slice(0, -1).join("") + ran.stdout
      assert.isFalse(shown.includes("\u001b") || shown.includes("\n"))
    })
  )

  it.effect("parley file reports why a text can't be read", () =>
    Effect.gen(function* () {
      const { user } = yield* makeUser
      const path = yield* localFile("odd", "unreadable")
      const ran = yield* run("file", "upload", user.email, path)
      assert.strictEqual(ran.code, 0)
      assert.match(ran.stdout, /Its text can't be read \(error\)\. Nobody can read this\.$/)
      const [file] = document(FileObjects)(yield* run("file", "list", user.email, "--json"))
      assert.deepInclude(file, { status: "error", status_details: "Nobody can read this." })
      const shown = yield* run("file", "show", user.email, file?.id ?? "")
      assert.match(shown.stdout, /details +Nobody can read this\./)
    })
  )

  it.effect("parley file lists, shows and deletes the files of the named user only", () =>
    Effect.gen(function* () {
      const { user } = yield* makeUser
      const { user: other } = yield* makeUser
      const first = yield* upload(user.id, "one", { filename: "one.txt" })
      const second = yield* upload(user.id, "two", { filename: "two.txt", purpose: "notes" })
      const list = (...args: ReadonlyArray<string>) =>
        Effect.map(run("file", "list", user.email, "--json", ...args), document(FileObjects))
      assert.deepStrictEqual(yield* list(), [fileObject(second), fileObject(first)])
      assert.deepStrictEqual(yield* list("--purpose", "notes"), [fileObject(second)])
      assert.deepStrictEqual(yield* list("--purpose", "none"), [])
      const { stdout } = yield* run("file", "list", user.email.toUpperCase())
      const [heading, row] = stdout.split("\n")
      assert.strictEqual(heading?.indexOf("STATUS"), row?.indexOf("processed"))
      assert.match(row ?? "", /^two\.txt +notes +3 .* UTC /)

      const { id } = first
      const shown = yield* run("file", "show", user.email, id, "--json")
      assert.deepStrictEqual(document(FileObject)(shown), fileObject(first))
      const away = /^parley: The file does not exist\.$/
      refused(yield* run("file", "show", other.email, id), away)
      refused(yield* run("file", "delete", other.email, id), away)
      assert.lengthOf(yield* list(), 2)
      assert.deepStrictEqual(document(FileObjects)(yield* run("file", "list", other.email, "--json")), [])

      const deleted = yield* run("file", "delete", user.email, id, "--json")
      assert.deepStrictEqual(document(FileDeleted)(deleted), { id, object: "file", deleted: true })
      refused(yield* run("file", "show", user.email, id, "--json"), away)
      refused(yield* run("file", "delete", user.email, id), away)
      const last = yield* run("file", "delete", user.email, second.id)
      assert.strictEqual(last.stdout, `Deleted file ${second.id}, its text and its bytes.`)
      assert.deepInclude(yield* countsOf(user.id), { files: 0, rows: 0 })
    })
  )

  it.effect("parley file prints every page of a long list", () =>
    Effect.gen(function* () {
      const { user } = yield* makeUser
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO files (id, user_id, filename, purpose, bytes, sha256, storage_key, status, created_at)
        SELECT overlay(gen_random_uuid()::text PLACING '7' FROM 15 FOR 1)::uuid, ${user.id}::uuid, 'f' || n, 'p', 1, sha256('x'),
          'none-' || n, 'processed', now()
        FROM generate_series(1, 1003) AS n`
      const files = document(FileObjects)(yield* run("file", "list", user.email, "--json"))
      assert.strictEqual(new Set(files.map(({ id }) => id)).size, 1003)
    })
  )

  it.effect("parley file prints one line with the reason of a failure", () =>
    Effect.gen(function* () {
      const { user } = yield* makeUser
      const path = yield* localFile("file.txt", "text")
      const empty = yield* localFile("empty.txt", "")
      const folder = join(yield* directory, "folder")
      mkdirSync(folder)
      const unknown = /^parley: The user does not exist\. Those that exist: .+\.$/
      for (const args of [
        ["list"],
        ["show", randomUUID()],
        ["delete", randomUUID()],
        ["upload", path]
      ] as const) {
        const [name, ...others] = args
        refused(yield* run("file", name, "nobody@example.com", ...others), unknown)
      }
      const send = (file: string) => run("file", "upload", user.email, file, "--json")
      refused(yield* run("file", "show", user.email, randomUUID()), /The file does not exist\.$/)
      refused(yield* send(join(folder, "none")), /folder\/none does not exist\.$/)
      refused(yield* send(folder), /folder is a directory, not a file\.$/)
      refused(yield* send("/dev/null"), /null is no regular file\.$/)
      refused(yield* send(empty), /empty\.txt is empty\.$/)
      assert.deepInclude(yield* countsOf(user.id), { rows: 0 })
    })
  )

  it.effect("parley file sends exactly the bytes of the file as it was when the upload began", () =>
    Effect.gen(function* () {
      const { user } = yield* makeUser
      const path = yield* localFile("log.txt", "x".repeat(100_000))
      const saying = (size: bigint) =>
        Layer.effect(
          FileSystem.FileSystem,
          Effect.map(FileSystem.FileSystem, (fs) => ({
            ...fs,
            stat: (name: string) =>
              Effect.map(fs.stat(name), (info) => ({
                ...info,
                ...(name === path ? { size: size as never } : {})
              }))
          }))
        )
      const send = (size: bigint) => runReplacing(saying(size), "file", "upload", user.email, path, "--json")
      refused(yield* send(100_001n), /log\.txt became shorter while it was being sent\.$/, [
        "Uploading log.txt (100001 bytes)."
      ])
      assert.deepInclude(yield* countsOf(user.id), { files: 0, rows: 0 })
      assert.strictEqual(document(FileObject)(yield* send(99_999n)).bytes, 99_999)
    })
  )

  it.effect("parley file reports an unavailable store and leaves no file behind", () =>
    Effect.gen(function* () {
      const { user } = yield* makeUser
      const faults = yield* BlobFaults
      const path = yield* localFile("lost.txt", Buffer.alloc(3_000_000, "x"))
      yield* faults.failOperation(1)
      const { replaced, written } = terminal(true)
      const ran = yield* runReplacing(replaced, "file", "upload", user.email, path)
      yield* faults.off
      refused(ran, /The service can't reach its files\. Try again\.$/)
      assert.strictEqual(written.at(-1), "\n")
      assert.deepInclude(yield* countsOf(user.id), { files: 0, rows: 0 })
    })
  )

  it.effect("parley file leaves no file behind when an upload is interrupted", () =>
    Effect.gen(function* () {
      const { user } = yield* makeUser
      const { key, url } = yield* AdminServer
      const faults = yield* BlobFaults
      const before = (yield* faults.keys).length
      yield* faults.off
      const query = new URLSearchParams({ email: user.email, filename: "cut" })
      const cut = request(`${url}/admin/files?${query}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${Redacted.value(key)}`,
          "content-type": "application/octet-stream"
        }
      })
      cut.on("error", () => {})
      cut.write("some of it")
      yield* until(Effect.map(faults.seen, (seen) => seen > 0))
      cut.destroy()
      yield* until(Effect.map(faults.keys, (keys) => keys.length === before))
      assert.deepInclude(yield* countsOf(user.id), { files: 0, rows: 0 })
    })
  )

  it.effect("a malformed upload is rejected by the interface", () =>
    Effect.gen(function* () {
      const { user } = yield* makeUser
      const { key, url } = yield* AdminServer
      const send = Effect.fnUntraced(function* (
        query: Record<string, string>,
        headers: Record<string, string> = {}
      ) {
        const response = yield* HttpClientRequest.post(`${url}/admin/files`).pipe(
          HttpClientRequest.setUrlParams(query),
          HttpClientRequest.bodyText("text", "application/octet-stream"),
          HttpClientRequest.setHeaders({ ...headers, authorization: `Bearer ${Redacted.value(key)}` }),
          HttpClient.execute
        )
        const { error } = (yield* response.json) as { readonly error: Record<string, string> }
        return [response.status, error["code"], error["param"]]
      })
      const fine = { email: user.email, filename: "f" }
      assert.deepStrictEqual(yield* send(fine, { "content-encoding": "gzip" }), [
        415,
        "unsupported_media_type",
        ""
      ])
      assert.deepStrictEqual(yield* send({ email: user.email }), [400, "invalid_request", "filename"])
      assert.deepStrictEqual(yield* send({ ...fine, email: "x" }), [400, "invalid_request", "email"])
      assert.deepStrictEqual(yield* send({ ...fine, purpose: "" }), [400, "invalid_request", "purpose"])
      const long = { ...fine, filename: "f".repeat(513) }
      assert.deepStrictEqual(yield* send(long), [400, "invalid_request", "filename"])
      const stranger = { ...fine, email: "nobody@example.com" }
      assert.deepStrictEqual(yield* send(stranger), [404, "user_not_found", "email"])
      assert.deepInclude(yield* countsOf(user.id), { rows: 0 })
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
})

const limits = {
  fileBytesMax: 200_000,
  bytesPerUserMax: 3_000_000,
  filesPerUserMax: 2,
  processWaitSeconds: 0
}

layer(AdminServer.layerWith({ files: limits }), { excludeTestServices: true })(
  "parley file upload, where little is allowed",
  (it) => {
    it.effect("parley file upload reports that the text is still being read", () =>
      Effect.gen(function* () {
        const { user } = yield* makeUser
        const path = yield* localFile("slow.txt", "hang")
        const { stdout } = yield* run("file", "upload", user.email, path)
        assert.match(stdout, /Its text is still being read \(uploaded\); look again with `parley file show /)
        assert.include(stdout, `parley file show ${user.email} `)
      })
    )

    it.effect("parley file upload rejects a file that is too large before sending it", () =>
      Effect.gen(function* () {
        const { user } = yield* makeUser
        const path = yield* localFile("large.txt", Buffer.alloc(200_001, "x"))
        const ran = yield* run("file", "upload", user.email, path)
        refused(ran, /large\.txt has 200001 bytes; a file may have at most 200000\.$/)
      })
    )

    it.effect("parley file upload receives the refusal of a file that is too large after sending it", () =>
      Effect.gen(function* () {
        const { user } = yield* makeUser
        const { files } = yield* clientWith()
        const piece = new Uint8Array(65_536)
        let sent = 0
        const payload = Stream.range(1, 100).pipe(
          Stream.map(() => {
            sent++
            return piece
          })
        )
        const query = { email: user.email, filename: "large.txt" }
        const error = yield* Effect.flip(files.upload({ query, payload }))
        assert.nestedPropertyVal(error, "error.code", "file_too_large")
        assert.strictEqual(sent, 100)
        assert.deepInclude(yield* countsOf(user.id), { files: 0, rows: 0 })
      })
    )

    it.effect("parley file upload respects the user's quota", () =>
      Effect.gen(function* () {
        const { user } = yield* makeUser
        const path = yield* localFile("one.txt", Buffer.alloc(200_000, "x"))
        const send = run("file", "upload", user.email, path, "--json")
        const ids: Array<FileId> = []
        for (let n = 0; n < 2; n++) ids.push(document(FileObject)(yield* send).id)
        refused(yield* send, /as many files as you may have: 2\. Delete some\.$/, [
          "Uploading one.txt (200000 bytes).",
          "Sent 200000 bytes."
        ])
        yield* run("file", "delete", user.email, ids[0] ?? "")
        assert.strictEqual((yield* send).code, 0)
      })
    )
  }
)
