import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { FileDeleted, FileList, FileObject } from "../../src/api/FileObject.ts"
import { BlobFaults, filesOver, until } from "../files/fixtures.ts"
import { TestApp, type TestUser } from "../support/TestApp.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { call, errorOf, type Reply } from "../support/Wire.ts"

const nobody = "019845e1-682f-4b02-a706-3b2422d13aec"
const boundary = "----parley"

interface Part {
  readonly name: string
  readonly body: string
  /** The whole disposition, where it isn't just the name. */
  readonly disposition?: string
  readonly type?: string
}

const file = (body: string, name = "zebra.txt"): Part => ({
  name: "file",
  body,
  disposition: `form-data; name="file"; filename="${name}"`
})
const purpose = (body: string): Part => ({ name: "purpose", body })

const formOf = (parts: ReadonlyArray<Part>): string =>
  parts
    .map(
      ({ body, disposition, name, type }) =>
        `--${boundary}\r\nContent-Disposition: ${disposition ?? `form-data; name="${name}"`}\r\n` +
        `${type === undefined ? "" : `Content-Type: ${type}\r\n`}\r\n${body}\r\n`
    )
    .join("") + `--${boundary}--\r\n`

/** Posts a body unchanged, because `fetch` gets it as text. */
const post = Effect.fnUntraced(function* (
  body: string,
  options: { readonly user?: TestUser; readonly headers?: Record<string, string> } = {}
) {
  const app = yield* TestApp
  return yield* call(`${app.url}/v1/files`, {
    key: (options.user ?? app.alice).key,
    body,
    headers: { "content-type": `multipart/form-data; boundary=${boundary}`, ...options.headers }
  })
})

const decodeFile = Schema.decodeUnknownSync(Schema.fromJsonString(FileObject))
const decodeList = Schema.decodeUnknownSync(Schema.fromJsonString(FileList))
const decodeDeleted = Schema.decodeUnknownSync(Schema.fromJsonString(FileDeleted))

const ok = <A>(reply: Reply, decode: (text: string) => A): A => {
  assert.strictEqual(reply.status, 200, reply.text)
  assert.strictEqual(reply.headers.get("content-type"), "application/json")
  return decode(reply.text)
}

const uploaded = (parts: ReadonlyArray<Part>, user?: TestUser) =>
  Effect.map(post(formOf(parts), user === undefined ? {} : { user }), (reply) => ok(reply, decodeFile))

const ask = Effect.fnUntraced(function* (
  method: string,
  path: string,
  options: { readonly user?: TestUser; readonly headers?: Record<string, string> } = {}
) {
  const app = yield* TestApp
  return yield* call(`${app.url}/v1/files${path}`, {
    method,
    key: (options.user ?? app.alice).key,
    ...(options.headers === undefined ? {} : { headers: options.headers })
  })
})

/** Bytes on a connection of their own: what comes back until the server closes, or has said `untilText`. */
const raw = Effect.fnUntraced(function* (
  pieces: ReadonlyArray<string>,
  untilText: RegExp,
  end: "wait" | "destroy"
) {
  const app = yield* TestApp
  const url = new URL(app.url)
  return yield* Effect.promise(
    () =>
      new Promise<string>((resolve, reject) => {
        let seen = ""
        const socket = connect(Number(url.port), url.hostname, () => {
          for (const piece of pieces) socket.write(piece)
          if (end === "destroy") socket.end(() => socket.destroy())
        })
        socket.on("data", (bytes) => {
          seen += bytes.toString("latin1")
          if (untilText.test(seen)) socket.destroy()
        })
        socket.on("close", () => resolve(seen))
        socket.on("error", reject)
      })
  )
})

const head = (user: TestUser, length: number, more = "") =>
  `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${user.key}\r\n` +
  `Content-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: ${length}\r\n${more}\r\n`

const listed = Effect.map(ask("GET", ""), (reply) => ok(reply, decodeList))

const limits = { fileBytesMax: 2_000, filesPerUserMax: 40, uploadSeconds: 3 }
const app = TestApp.layerWith(TestDatabase.layer, filesOver, {
  files: limits,
  http: { requestSeconds: 1, headersSeconds: 1 }
})

/** Specification, chapter Endpoints: the files; wire contract, section 5. */
layer(app, { excludeTestServices: true })("/v1/files", (it) => {
  it.effect("POST answers with the file, GET with the same, DELETE with the deletion", () =>
    Effect.gen(function* () {
      const reply = yield* post(formOf([purpose("assistants"), file("I am a zebra.\n", "zebra.txt")]))
      const sent = ok(reply, decodeFile)
      const expected =
        `{"id":"${sent.id}","object":"file","bytes":14,"created_at":${sent.created_at},` +
        `"filename":"zebra.txt","purpose":"assistants","status":"processed"}`
      assert.strictEqual(reply.text, expected)
      assert.match(String(sent.created_at), /^1\d{9}$/)
      assert.strictEqual((yield* ask("GET", `/${sent.id}`)).text, expected)
      assert.strictEqual((yield* ask("GET", `/${sent.id.toUpperCase()}`)).text, expected)
      const deletion = yield* ask("DELETE", `/${sent.id}`)
      assert.strictEqual(deletion.text, `{"id":"${sent.id}","object":"file","deleted":true}`)
      ok(deletion, decodeDeleted)
      for (const [method, path] of [
        ["GET", ""],
        ["GET", "/content"],
        ["DELETE", ""]
      ] as const) {
        assert.deepStrictEqual(errorOf(yield* ask(method, `/${sent.id}${path}`), 404), {
          message: "The file does not exist.",
          type: "not_found_error",
          code: "file_not_found",
          param: "file_id"
        })
      }
    })
  )

  it.effect.each([
    { parts: [file("a"), purpose("batch")], is: { purpose: "batch" } },
    { parts: [file("a")], is: { purpose: "assistants", filename: "zebra.txt" } },
    { parts: [{ ...file("a"), type: "text/plain; charset=latin1" }], is: { bytes: 1 } },
    { parts: [file("")], is: { bytes: 0 } },
    { parts: [file("abc", "")], is: { bytes: 3, filename: "file" } },
    {
      parts: [
        { name: "more", body: "x" },
        file("a"),
        { ...file("b"), name: "y", disposition: `form-data; name="y"; filename="y"` }
      ],
      is: { bytes: 1 }
    },
    {
      parts: [
        { ...file("a"), disposition: `form-data; name=file; filename*=UTF-8''%E6%96%91%E9%A6%AC%20%22.txt` }
      ],
      is: { filename: '斑馬 ".txt' }
    },
    { parts: [file("a", "斑馬.txt")], is: { filename: "斑馬.txt" } },
    { parts: [file("a", "%22q%22.txt")], is: { filename: '"q".txt' } },
    { parts: [file("a", "../../etc/passwd")], is: { filename: "../../etc/passwd" } },
    { parts: [purpose("  what ever ✓ "), file("a")], is: { purpose: "  what ever ✓ " } },
    { parts: [purpose("p".repeat(64)), file("a")], is: { purpose: "p".repeat(64) } }
  ])("POST takes what clients send (%#)", ({ is, parts }) =>
    Effect.gen(function* () {
      const sent = yield* uploaded(parts)
      assert.deepInclude(sent, is)
      yield* ask("DELETE", `/${sent.id}`)
    })
  )

  it.effect.each([
    { parts: [purpose("x")], param: "file" },
    { parts: [], param: "file" },
    { parts: [file("a"), file("b")], param: "file" },
    { parts: [purpose(""), file("a")], param: "purpose" },
    { parts: [file("a"), purpose("p".repeat(65))], param: "purpose" },
    { parts: [purpose("a"), file("a"), purpose("b")], param: "purpose" },
    { parts: [file("a", "n".repeat(600))], param: "file" },
    { parts: [{ ...file("a"), disposition: `form-data; filename="a"` }], param: "" }
  ])("POST refuses what isn't an upload, names the part and keeps nothing (%#)", ({ param, parts }) =>
    Effect.gen(function* () {
      const error = errorOf(yield* post(formOf(parts)), 400)
      assert.deepStrictEqual([error.code, error.param], ["invalid_upload", param])
      assert.deepStrictEqual((yield* listed).data, [])
    })
  )

  it.effect("POST refuses bodies of another kind", () =>
    Effect.gen(function* () {
      for (const type of ["application/json", "application/octet-stream", "text/plain"]) {
        const error = errorOf(yield* post("{}", { headers: { "content-type": type } }), 415)
        assert.deepStrictEqual(
          [error.code, error.message.includes("multipart/form-data")],
          ["unsupported_media_type", true]
        )
      }
      const encoded = yield* post(formOf([file("a")]), { headers: { "content-encoding": "gzip" } })
      assert.strictEqual(errorOf(encoded, 415).code, "unsupported_media_type")
      const bare = yield* post(formOf([file("a")]), { headers: { "content-type": "multipart/form-data" } })
      assert.strictEqual(errorOf(bare, 400).code, "invalid_upload")
      assert.strictEqual(errorOf(yield* post(formOf([file("a")]).slice(0, -10)), 400).code, "invalid_upload")
    })
  )

  it.effect("POST takes a file of the largest size, and none that is a byte larger", () =>
    Effect.gen(function* () {
      for (const bytes of [limits.fileBytesMax - 1, limits.fileBytesMax]) {
        const sent = yield* uploaded([file("x".repeat(bytes))])
        assert.strictEqual(sent.bytes, bytes)
        yield* ask("DELETE", `/${sent.id}`)
      }
      for (const bytes of [limits.fileBytesMax + 1, 3_000_000]) {
        const error = errorOf(yield* post(formOf([file("x".repeat(bytes))])), 413)
        assert.deepStrictEqual([error.code, error.param], ["file_too_large", "file"])
      }
      assert.deepStrictEqual((yield* listed).data, [])
    })
  )

  it.effect("POST refuses a user who has as many files as may be", () =>
    Effect.gen(function* () {
      const { bob } = yield* TestApp
      for (let n = 0; n < limits.filesPerUserMax; n++) yield* uploaded([file("x")], bob)
      const error = errorOf(yield* post(formOf([file("x")]), { user: bob }), 403)
      assert.deepStrictEqual([error.code, error.type], ["file_count_quota_exceeded", "permission_error"])
      assert.strictEqual((yield* uploaded([file("x")])).bytes, 1)
    })
  )

  it.effect("POST leaves nothing when the client goes away, and answers when it is too slow", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const faults = yield* BlobFaults
      const before = { files: (yield* listed).data.length, keys: (yield* faults.keys).length }
      const form = formOf([file("x".repeat(1_000))])
      yield* raw([head(alice, form.length) + form.slice(0, 600)], /never/, "destroy")
      const slow = yield* raw([head(alice, form.length) + form.slice(0, 600)], /never/, "wait")
      assert.match(slow, /^HTTP\/1\.1 408 /)
      assert.include(slow, '"code":"request_timeout"')
      assert.match(slow, /\r\nconnection: close\r\n/i)
      yield* until(Effect.map(faults.keys, (keys) => keys.length === before.keys))
      assert.strictEqual((yield* listed).data.length, before.files)
    })
  )

  it.effect("POST tells who waits for it to go on, or that it won't be read", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const form = formOf([file("patient")])
      const expect = "Expect: 100-continue\r\nConnection: close\r\n"
      const taken = yield* raw([head(alice, form.length, expect), form], /\}$/, "wait")
      assert.match(taken, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/)
      const refused = yield* raw([head({ ...alice, key: "parley_no" }, form.length, expect)], /\}$/, "wait")
      assert.match(refused, /^HTTP\/1\.1 401 /)
      const tooLarge = yield* raw([head(alice, 100_000_000, expect)], /\}$/, "wait")
      assert.match(tooLarge, /^HTTP\/1\.1 413 /)
    })
  )

  it.effect("GET lists the newest first, in pages that can be gone on with", () =>
    Effect.gen(function* () {
      const { files } = { files: [] as Array<FileObject> }
      for (const { id } of (yield* listed).data) yield* ask("DELETE", `/${id}`)
      const empty = yield* ask("GET", "")
      assert.strictEqual(
        empty.text,
        '{"object":"list","data":[],"has_more":false,"first_id":null,"last_id":null}'
      )
      for (const use of ["a", "b", "a", "b", "a"]) files.unshift(yield* uploaded([purpose(use), file("x")]))
      const page = (query: string) => Effect.map(ask("GET", query), (reply) => ok(reply, decodeList))
      const all = yield* page("")
      assert.deepStrictEqual(all, {
        object: "list",
        data: files,
        has_more: false,
        first_id: files[0]!.id,
        last_id: files[4]!.id
      })
      const first = yield* page("?limit=2")
      assert.deepStrictEqual([first.data, first.has_more], [files.slice(0, 2), true])
      const second = yield* page(`?limit=2&after=${first.last_id}`)
      assert.deepStrictEqual(second.data, files.slice(2, 4))
      const third = yield* page(`?limit=2&after=${second.last_id}`)
      assert.deepStrictEqual([third.data, third.has_more], [files.slice(4), false])
      assert.deepStrictEqual((yield* page("?order=asc")).data, files.toReversed())
      assert.deepStrictEqual((yield* page("?purpose=b&limit=1000")).data, [files[1]!, files[3]!])
      assert.deepStrictEqual((yield* page("?purpose=c")).data, [])
    })
  )

  it.effect.each([
    { query: "limit=0", param: "limit" },
    { query: "limit=1001", param: "limit" },
    { query: "limit=1.5", param: "limit" },
    { query: "limit=many", param: "limit" },
    { query: "limit=0x10", param: "limit" },
    { query: "limit=1&limit=2", param: "limit" },
    { query: "limit=", param: "limit" },
    { query: "order=up", param: "order" },
    { query: "after=last", param: "after" },
    { query: `after=${nobody}`, param: "after" },
    { query: "purpose=a%00b", param: "purpose" },
    { query: "purpose=a&purpose=b", param: "purpose" }
  ])("GET refuses $query, and names it", ({ param, query }) =>
    Effect.gen(function* () {
      const error = errorOf(yield* ask("GET", `?${query}`), 400)
      assert.strictEqual(error.param, param)
      if (param === "limit")
        assert.strictEqual(error.message, "`limit` must be a whole number from 1 to 1000.")
    })
  )

  it.effect("GET content sends the exact bytes, as a download and nothing else", () =>
    Effect.gen(function* () {
      const { id } = yield* uploaded([file("0123456789", "a\\b/ü .html")])
      const reply = yield* ask("GET", `/${id}/content`)
      assert.strictEqual(reply.status, 200)
      assert.strictEqual(reply.text, "0123456789")
      const header = (name: string) => reply.headers.get(name)
      assert.strictEqual(header("content-type"), "application/octet-stream")
      assert.strictEqual(header("content-length"), "10")
      assert.strictEqual(
        header("content-disposition"),
        `attachment; filename="a_b__ .html"; filename*=UTF-8''a_b_%C3%BC%20.html`
      )
      assert.strictEqual(header("x-content-type-options"), "nosniff")
      assert.strictEqual(header("accept-ranges"), "bytes")
      const etag = header("etag")!
      assert.match(etag, /^"[0-9a-f]{64}"$/)

      const known = yield* ask("GET", `/${id}/content`, { headers: { "if-none-match": etag } })
      assert.deepStrictEqual([known.status, known.text, known.headers.get("etag")], [304, "", etag])
      const day = { "if-unmodified-since": "Thu, 01 Jan 2026 00:00:00 GMT" }
      for (const method of ["GET", "HEAD"]) {
        for (const headers of [{ "if-match": '"x"' }, day]) {
          const other = yield* ask(method, `/${id}/content`, { headers })
          if (method === "GET") assert.strictEqual(errorOf(other, 412).code, "precondition_failed")
          assert.strictEqual(other.status, 412)
        }
        const same = { "if-match": etag, "if-unmodified-since": header("last-modified")! }
        assert.strictEqual((yield* ask(method, `/${id}/content`, { headers: same })).status, 200)
      }
      const part = yield* ask("GET", `/${id}/content`, { headers: { range: "bytes=2-4" } })
      assert.deepStrictEqual([part.status, part.text], [206, "234"])
      assert.strictEqual(part.headers.get("content-range"), "bytes 2-4/10")
      assert.strictEqual(part.headers.get("content-length"), "3")
      const several = yield* ask("GET", `/${id}/content`, { headers: { range: "bytes=0-1,3-4" } })
      assert.deepStrictEqual([several.status, several.text], [200, "0123456789"])
      const beyond = yield* ask("GET", `/${id}/content`, { headers: { range: "bytes=10-" } })
      assert.strictEqual(errorOf(beyond, 416).code, "range_not_satisfiable")
      assert.strictEqual(beyond.headers.get("content-range"), "bytes */10")
      const headOnly = yield* ask("HEAD", `/${id}/content`)
      assert.deepStrictEqual([headOnly.status, headOnly.text], [200, ""])
      assert.strictEqual(headOnly.headers.get("content-length"), "10")
      const ranged = yield* ask("HEAD", `/${id}/content`, { headers: { range: "bytes=10-" } })
      assert.deepStrictEqual([ranged.status, ranged.headers.get("content-length")], [200, "10"])
    })
  )

  it.effect("GET content of an empty file is empty", () =>
    Effect.gen(function* () {
      const { id } = yield* uploaded([file("")])
      const reply = yield* ask("GET", `/${id}/content`)
      assert.deepStrictEqual([reply.status, reply.text, reply.headers.get("content-length")], [200, "", "0"])
    })
  )

  it.effect("files are each user's own, and to a stranger a file is like none, body and headers alike", () =>
    Effect.gen(function* () {
      const { alice, bob } = yield* TestApp
      const { id } = yield* uploaded([file("mine")], alice)
      for (const [method, path] of [
        ["GET", ""],
        ["GET", "/content"],
        ["DELETE", ""]
      ] as const) {
        const foreign = yield* ask(method, `/${id}${path}`, { user: bob })
        const unknown = yield* ask(method, `/${nobody}${path}`, { user: bob })
        assert.strictEqual(foreign.status, 404)
        assert.strictEqual(foreign.text, unknown.text)
      }
      const list = ok(yield* ask("GET", "?limit=1000", { user: bob }), decodeList)
      assert.notInclude(JSON.stringify(list), id)
      assert.strictEqual((yield* ask("GET", `/${id}/content`)).text, "mine")
    })
  )

  it.effect("the endpoints for files need a key, before anything else is looked at", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      for (const [method, path] of [
        ["POST", ""],
        ["GET", "?limit=0"],
        ["GET", "/x"],
        ["DELETE", "/x"],
        ["GET", "/x/content"]
      ] as const) {
        const reply = yield* call(`${url}/v1/files${path}`, { method })
        assert.strictEqual(errorOf(reply, 401).code, "api_key_missing")
      }
    })
  )

  it.effect("the endpoints for files have no other methods, and no other ids", () =>
    Effect.gen(function* () {
      const wrong = yield* ask("PUT", "")
      assert.strictEqual(errorOf(wrong, 405).code, "method_not_allowed")
      assert.strictEqual(wrong.headers.get("allow"), "GET, HEAD, POST")
      assert.strictEqual((yield* ask("POST", `/${nobody}`)).headers.get("allow"), "DELETE, GET, HEAD")
      for (const path of ["/x", "/%00", "/..%2f", `/${nobody}x/content`]) {
        assert.strictEqual(errorOf(yield* ask("GET", path), 400).param, "file_id")
      }
    })
  )

  it.effect("a file says why its text can't be read", () =>
    Effect.gen(function* () {
      const sent = yield* uploaded([file("unreadable")])
      assert.deepInclude(sent, { status: "error", status_details: "Nobody can read this." })
      assert.strictEqual((yield* ask("GET", `/${sent.id}/content`)).text, "unreadable")
    })
  )

  it.effect("the file endpoints answer 503 when the store fails, and keep what they have", () =>
    Effect.gen(function* () {
      const faults = yield* BlobFaults
      const { id } = yield* uploaded([file("kept")])
      for (const attempt of [post(formOf([file("lost")])), ask("GET", `/${id}/content`)]) {
        yield* faults.failOperation(1)
        const reply = yield* attempt
        yield* faults.off
        assert.strictEqual(errorOf(reply, 503).code, "storage_unavailable")
        assert.strictEqual(reply.headers.get("retry-after"), "1")
      }
      assert.strictEqual((yield* ask("GET", `/${id}/content`)).text, "kept")
      assert.notInclude(JSON.stringify(yield* listed), "lost")
    })
  )
})
