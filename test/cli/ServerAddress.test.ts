import { mkdtempSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { createServer as createTcpServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { addressFileName, leaveAddress, reachable, readAddress, urlOf } from "../../src/admin/AddressFile.ts"
import { noAnswer } from "../../src/cli/ServerAddress.ts"
import { AdminServer, runWith } from "../admin/AdminServer.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-address-"))),
  (path) => Effect.sync(() => removeDirectory(path))
)

/** A data directory with the key of an installation, and with an address if one is given. */
const dataDirWith = Effect.fnUntraced(function* (url: string | null) {
  const path = yield* directory
  writeFileSync(join(path, "admin.key"), `parley_admin_${"k".repeat(39)}\n`, { mode: 0o600 })
  if (url !== null) writeFileSync(join(path, addressFileName), JSON.stringify({ url, pid: 1 }))
  return path
})

/** A server that records the keys that it is sent; it answers a challenge with something. */
const thief = Effect.gen(function* () {
  const keys: Array<string> = []
  const server = createServer((request, response) => {
    if (request.headers.authorization !== undefined) keys.push(request.headers.authorization)
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({ proofs: ["0".repeat(64)], data: [], has_more: false }))
  })
  return { keys, url: `http://127.0.0.1:${yield* serveOnLoopback(server)}` }
})

layer(AdminServer.layer, { excludeTestServices: true })("parley", (it) => {
  it.effect("parley finds the server by the address in the data directory", () =>
    Effect.gen(function* () {
      const { key, url } = yield* AdminServer
      const PARLEY_DATA_DIR = yield* dataDirWith(url)
      writeFileSync(join(PARLEY_DATA_DIR, "admin.key"), Redacted.value(key))
      const ran = yield* runWith({ PARLEY_DATA_DIR }, ["org", "list", "--json"])
      assert.deepInclude(ran, { code: 0, stderr: "" })
    })
  )

  it.effect("parley sends the key of a data directory to no server of another installation", () =>
    Effect.gen(function* () {
      const { url } = yield* AdminServer
      for (const env of [
        { PARLEY_URL: url, PARLEY_DATA_DIR: yield* dataDirWith(null) },
        { PARLEY_DATA_DIR: yield* dataDirWith(url) },
        { PARLEY_ADMIN_KEY: `parley_admin_${"x".repeat(39)}`, PARLEY_DATA_DIR: yield* dataDirWith(url) }
      ]) {
        const { code, stderr } = yield* runWith(env, ["org", "list"])
        assert.strictEqual(code, 1)
        assert.match(stderr, /does not have the admin key of .*, which was not sent: .* another installation/)
      }
    })
  )

  it.effect("parley sends no key to what can't prove that it has it, whatever the command", () =>
    Effect.gen(function* () {
      const { keys, url } = yield* thief
      const PARLEY_DATA_DIR = yield* dataDirWith(url)
      for (const args of [["org", "list"], ["doctor"], ["user", "create", "a@example.com", "--org", "A"]]) {
        yield* runWith({ PARLEY_DATA_DIR }, args)
        yield* runWith({ PARLEY_URL: url, PARLEY_DATA_DIR }, args)
      }
      assert.deepStrictEqual(keys, [])
    })
  )

  it.effect("parley sends a key to a server when the operator names both", () =>
    Effect.gen(function* () {
      const { keys, url } = yield* thief
      const PARLEY_ADMIN_KEY = `parley_admin_${"x".repeat(39)}`
      const ran = yield* runWith({ PARLEY_URL: url, PARLEY_ADMIN_KEY }, ["org", "list", "--json"])
      assert.strictEqual(ran.code, 0)
      assert.deepStrictEqual(keys, [`Bearer ${PARLEY_ADMIN_KEY}`])
    })
  )

  it.effect("parley says that PARLEY_URL must not end in a path of the service", () =>
    Effect.gen(function* () {
      const { dataDir, url } = yield* AdminServer
      for (const path of ["/v1", "/docs/", "/openai/v1"]) {
        const ran = yield* runWith({ PARLEY_URL: url + path, PARLEY_DATA_DIR: dataDir }, ["org", "list"])
        assert.include(ran.stderr, `without ${path.replace(/\/$/, "")}`)
        assert.include(ran.stderr, url)
      }
    })
  )
})

layer(FetchHttpClient.layer, { excludeTestServices: true })("parley without its server", (it) => {
  const PARLEY_ADMIN_KEY = `parley_admin_${"x".repeat(39)}`
  const reasonAt = (PARLEY_URL: string) =>
    Effect.map(runWith({ PARLEY_URL, PARLEY_ADMIN_KEY }, ["org", "list"]), ({ stderr }) => stderr)

  it.effect("parley distinguishes a refused connection, an unknown host, missing TLS and no HTTP", () =>
    Effect.gen(function* () {
      const { url } = yield* thief
      const closing = createTcpServer((socket) => socket.end())
      const port = yield* Effect.acquireRelease(
        Effect.callback<number>((resume) => {
          closing.listen(0, "127.0.0.1", () => {
            const address = closing.address()
            resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
          })
        }),
        () => Effect.sync(() => closing.close())
      )
      assert.match(yield* reasonAt("http://127.0.0.1:9"), /No server answers at .*Start the server/)
      assert.match(yield* reasonAt("http://nothing.invalid"), /There is no host nothing\.invalid/)
      assert.match(yield* reasonAt(url.replace("http:", "https:")), /speaks no TLS .*http:\/\//)
      assert.match(yield* reasonAt(`http://127.0.0.1:${port}`), /closed the connection .*https:\/\//)
    })
  )

  it.effect("parley says that the service of the data directory is gone when it left its address", () =>
    Effect.gen(function* () {
      const PARLEY_DATA_DIR = yield* dataDirWith("http://127.0.0.1:9")
      const { stderr } = yield* runWith({ PARLEY_DATA_DIR }, ["org", "list"])
      assert.match(stderr, /server\.json in the data directory names that address/)
    })
  )
})

describe("the reason why no answer came", () => {
  it("the reason of a missing answer names an untrusted certificate, and an unreachable host", () => {
    const address = { url: "https://parley.example.com", by: "PARLEY_URL" } as const
    const reason = (code: string) =>
      noAnswer(address, { cause: new AggregateError([Object.assign(new Error(), { code })]) }).message
    assert.match(reason("DEPTH_ZERO_SELF_SIGNED_CERT"), /not trusted .*NODE_EXTRA_CA_CERTS/)
    assert.match(reason("ERR_TLS_CERT_ALTNAME_INVALID"), /not trusted/)
    assert.match(reason("EHOSTUNREACH"), /can't be reached/)
  })
})

describe("the address that a service leaves", () => {
  it.effect("the address file is there as long as the service runs, and stays if another wrote its own", () =>
    Effect.gen(function* () {
      const dataDir = join(yield* directory, "data")
      const found = Effect.map(readAddress(dataDir), Option.getOrNull)
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* leaveAddress(dataDir, "http://127.0.0.1:3000", 10)
          assert.deepStrictEqual(yield* found, { url: "http://127.0.0.1:3000", pid: 10 })
        })
      )
      assert.isNull(yield* found)
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* leaveAddress(dataDir, "http://127.0.0.1:3000", 10)
          writeFileSync(join(dataDir, addressFileName), '{"url":"http://127.0.0.1:3001","pid":11}')
        })
      )
      assert.deepInclude(yield* found, { pid: 11 })
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it("the address of a service can be connected to, also when it listens on all networks", () => {
    assert.strictEqual(reachable("http://0.0.0.0:3000"), "http://127.0.0.1:3000")
    assert.strictEqual(reachable(urlOf("::", 3000)), "http://[::1]:3000")
    assert.strictEqual(reachable(urlOf("10.0.0.1", 3000)), "http://10.0.0.1:3000")
  })
})
