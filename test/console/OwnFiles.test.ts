import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { FileList, FileObject } from "../../src/api/FileObject.ts"
import { FileTextObject } from "../../src/api/ProjectObject.ts"
import { Storage } from "../../src/console/ConsoleApi.ts"
import type { FileId } from "../../src/domain/Ids.ts"
import { textPartCharactersDefault, textPartCharactersMax } from "../../src/domain/StoredFile.ts"
import { readText, someFile } from "../retrieval/fixtures.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf, type Reply } from "../support/Wire.ts"
import { someone, someTenant } from "./ConsoleFixture.ts"

const decodeText = Schema.decodeUnknownSync(Schema.fromJsonString(FileTextObject))
const decodeFile = Schema.decodeUnknownSync(Schema.fromJsonString(FileObject))
const decodeList = Schema.decodeUnknownSync(Schema.fromJsonString(FileList))
const decodeStorage = Schema.decodeUnknownSync(Schema.fromJsonString(Storage))

const someUser = Effect.gen(function* () {
  const { url } = yield* TestApp
  const { headers, target } = yield* someone("member", yield* someTenant)
  const send = (path: string, method = "GET") => call(`${url}/console${path}`, { method, headers })
  const ok = (path: string) =>
    Effect.map(send(path), (reply) => {
      assert.strictEqual(reply.status, 200, reply.text)
      return reply
    })
  return {
    target,
    id: target.userId as never,
    headers,
    send,
    list: (query = "") => Effect.map(ok(`/files${query}`), ({ text }) => decodeList(text)),
    storage: Effect.map(
      Effect.suspend(() => ok("/storage")),
      ({ text }) => decodeStorage(text)
    ),
    text: (id: FileId, query = "") =>
      Effect.map(ok(`/files/${id}/text${query}`), ({ text }) => decodeText(text))
  }
})

const upload = Effect.fnUntraced(function* (
  headers: Record<string, string>,
  filename: string,
  bytes: string
) {
  const { url } = yield* TestApp
  const form = new FormData()
  form.append("file", new Blob([bytes]), filename)
  return yield* Effect.promise(async (): Promise<Reply> => {
    const reply = await fetch(`${url}/console/files`, { method: "POST", headers, body: form })
    return { status: reply.status, headers: reply.headers, text: await reply.text() }
  })
})

layer(TestApp.layer({ files: { filesPerUserMax: 4, bytesPerUserMax: 1_000 } }), {
  excludeTestServices: true,
  timeout: 300_000
})("The files of a signed-in user", (it) => {
  it.effect("the files of a signed-in user are uploaded, listed, downloaded and deleted as under /v1", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const file = decodeFile((yield* upload(user.headers, "zebra.txt", "I am a zebra.\n")).text)
      assert.deepInclude(file, { object: "file", filename: "zebra.txt", bytes: 14, status: "processed" })
      const listed = yield* user.list("?limit=1&purpose=assistants")
      assert.deepStrictEqual([listed.data.length, listed.has_more], [1, true])
      assert.include(
        (yield* user.list()).data.map(({ id }) => id),
        file.id
      )
      const content = yield* user.send(`/files/${file.id}/content`)
      assert.deepStrictEqual([content.status, content.text], [200, "I am a zebra.\n"])
      assert.match(content.headers.get("content-disposition")!, /^attachment; filename="zebra.txt"/)
      assert.strictEqual((yield* user.text(file.id)).text, "I am a zebra.\n")
      assert.strictEqual((yield* user.send(`/files/${file.id}`, "DELETE")).status, 200)
      for (const path of [`/files/${file.id}`, `/files/${file.id}/content`, `/files/${file.id}/text`]) {
        assert.strictEqual(errorOf(yield* user.send(path), 404).code, "file_not_found")
      }
    })
  )

  it.effect("the files of a signed-in user need the CSRF token for an upload", () =>
    Effect.gen(function* () {
      const { headers } = yield* someUser
      const { ["x-csrf-token"]: _, ...rest } = headers
      const refused = yield* upload(rest as Record<string, string>, "a.txt", "a")
      assert.strictEqual(errorOf(refused, 403).code, "csrf_rejected")
    })
  )

  it.effect("the files of a signed-in user count toward the storage quota", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const before = yield* user.storage
      assert.deepInclude(before, { permitted: { files: 4, bytes: 1_000 }, used: { files: 1, bytes: 5 } })
      assert.containsAllKeys(before, ["file_bytes_max", "uploads_max"])
      yield* upload(user.headers, "a.txt", "x".repeat(100))
      assert.deepStrictEqual((yield* user.storage).used, { files: 2, bytes: 105 })
      const refused = yield* upload(user.headers, "b.txt", "x".repeat(950))
      assert.strictEqual(errorOf(refused, 403).code, "file_bytes_quota_exceeded")
    })
  )

  it.effect("the text of a file is sent in parts of bounded length that never cut a character in two", () =>
    Effect.gen(function* () {
      const user = yield* someUser
      const text = "a😀b".repeat(100_000)
      const id = yield* someFile(user.id, text, "long.txt")
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE file_texts SET pages = '{0,4,200000}', truncated = true WHERE file_id = ${id}`
      const whole = { length: 400_000, truncated: true, pages: [0, 4, 200_000], filename: "long.txt" }
      const first = yield* user.text(id)
      assert.deepInclude(first, { ...whole, from: 0, to: textPartCharactersDefault })
      assert.strictEqual(first.text, text.slice(0, textPartCharactersDefault))
      const most = yield* user.text(id, "?from=4&to=400000")
      assert.strictEqual(most.text, text.slice(4, 4 + textPartCharactersMax))
      assert.deepInclude(yield* user.text(id, "?from=2&to=6"), { from: 3, to: 7, text: "ba😀" })
      assert.deepInclude(yield* user.text(id, "?from=399999&to=500000"), { text: "b", to: 400_000 })
      for (const query of ["?from=400000", "?from=999999999&to=5", "?from=7&to=3"]) {
        assert.deepInclude(yield* user.text(id, query), { text: "" })
      }
      for (const query of ["?from=-1", "?from=x", "?to=1.5", "?from=1e3"]) {
        errorOf(yield* user.send(`/files/${id}/text${query}`), 400)
      }
    })
  )

  it.effect("the text of a file is readable by its owner only, and not before the file was read", () =>
    Effect.gen(function* () {
      const [user, other] = [yield* someUser, yield* someUser]
      const id = yield* someFile(user.id, null, "late.txt")
      assert.strictEqual(errorOf(yield* user.send(`/files/${id}/text`), 400).code, "file_not_ready")
      yield* readText(id, "Here it is.")
      assert.strictEqual((yield* user.text(id)).text, "Here it is.")
      for (const path of [`/files/${id}`, `/files/${id}/text`, `/files/${id}/content`]) {
        assert.strictEqual(errorOf(yield* other.send(path), 404).code, "file_not_found")
      }
      assert.notInclude(
        (yield* other.list()).data.map((file) => file.id),
        id
      )
    })
  )
})
