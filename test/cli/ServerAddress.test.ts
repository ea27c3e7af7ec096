import { spawnSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync
} from "node:fs"
import { createServer, get } from "node:http"
import { createServer as createTcpServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { NodeCrypto, NodeServices } from "@effect/platform-node"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { serveAtSocket, socketIn } from "../../src/admin/OperatorSocket.ts"
import { reachable, urlOf } from "../../src/admin/Startup.ts"
import { noAnswer } from "../../src/cli/ServerAddress.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { AdminServer, operatorOf, runWith } from "../admin/AdminServer.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"
import { TestApp } from "../support/TestApp.ts"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-socket-"))),
  (path) => Effect.sync(() => removeDirectory(path))
)

/** A server that records the keys that it is sent, and says its name. */
const recorder = (name: string) => {
  const keys: Array<string> = []
  const server = createServer((request, response) => {
    if (request.headers.authorization !== undefined) keys.push(request.headers.authorization)
    response.writeHead(200, { "content-type": "application/json", connection: "close" })
    response.end(JSON.stringify({ data: [], has_more: false, name }))
  })
  return { keys, server }
}

/** The same at an address. */
const thief = Effect.gen(function* () {
  const { keys, server } = recorder("thief")
  return { keys, url: `http://127.0.0.1:${yield* serveOnLoopback(server)}` }
})

const PARLEY_ADMIN_KEY = `parley_admin_${"x".repeat(39)}`

layer(Layer.merge(TestApp.layer(), FetchHttpClient.layer), { excludeTestServices: true })(
  "parley beside its server",
  (it) => {
    it.effect("parley uses the socket and the key of the data directory, and streams both ways", () =>
      Effect.gen(function* () {
        const PARLEY_DATA_DIR = (yield* AppConfig).dataDir
        const { alice } = yield* TestApp
        const parley = (...args: ReadonlyArray<string>) => runWith({ PARLEY_DATA_DIR }, args)
        assert.deepInclude(yield* parley("org", "create", "Socket", "--json"), { code: 0, stderr: "" })
        const path = join(yield* directory, "notes.txt")
        writeFileSync(path, "What is said of sockets. ".repeat(100_000))
        assert.include((yield* parley("file", "upload", alice.email, path)).stdout, "notes.txt")
        const archive = join(yield* directory, "alice.zip")
        assert.strictEqual((yield* parley("data", "export", alice.email, archive)).code, 0)
        assert.strictEqual(readFileSync(archive, "latin1").slice(0, 2), "PK")
        const doctor = yield* parley("doctor", "--json")
        assert.include(doctor.stdout, `It answers at ${PARLEY_DATA_DIR}/run/admin.sock.`)
      })
    )

    it.effect("parley is refused at the socket without a valid key", () =>
      Effect.gen(function* () {
        const PARLEY_DATA_DIR = (yield* AppConfig).dataDir
        const { code, stderr } = yield* runWith({ PARLEY_DATA_DIR, PARLEY_ADMIN_KEY }, ["org", "list"])
        assert.strictEqual(code, 1)
        assert.match(stderr, /The server at .*admin\.sock refuses the admin key of PARLEY_ADMIN_KEY/)
      })
    )
  }
)

layer(AdminServer.layer, { excludeTestServices: true })("parley", (it) => {
  it.effect("parley sends the key of a data directory to no server that PARLEY_URL names", () =>
    Effect.gen(function* () {
      const { keys, url } = yield* thief
      const { dataDir } = yield* AdminServer
      for (const args of [["org", "list"], ["doctor"], ["user", "create", "a@example.com", "--org", "A"]]) {
        const { code } = yield* runWith({ PARLEY_URL: url, PARLEY_DATA_DIR: dataDir }, args)
        assert.strictEqual(code, 1)
      }
      assert.deepStrictEqual(keys, [])
    })
  )

  it.effect("parley sends a key to a server when the operator names both", () =>
    Effect.gen(function* () {
      const { keys, url } = yield* thief
      const ran = yield* runWith({ PARLEY_URL: url, PARLEY_ADMIN_KEY }, ["org", "list", "--json"])
      assert.strictEqual(ran.code, 0)
      assert.deepStrictEqual(keys, [`Bearer ${PARLEY_ADMIN_KEY}`])
    })
  )

  it.effect("parley reports that PARLEY_URL must not end in a path of the service", () =>
    Effect.gen(function* () {
      const operator = operatorOf(yield* AdminServer)
      const url = operator.PARLEY_URL
      for (const path of ["/v1", "/docs/", "/openai/v1"]) {
        const ran = yield* runWith({ ...operator, PARLEY_URL: url + path }, ["org", "list"])
        assert.include(ran.stderr, `without ${path.replace(/\/$/, "")}`)
        assert.include(ran.stderr, url)
      }
    })
  )
})

layer(FetchHttpClient.layer, { excludeTestServices: true })("parley without its server", (it) => {
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
})

describe("the reason why no answer came", () => {
  it("noAnswer names a certificate that is not trusted, and a host that can't be reached", () => {
    const address = { url: "https://parley.example.com", socket: null, place: "https://parley.example.com" }
    const reason = (code: string) =>
      noAnswer(address, { cause: new AggregateError([Object.assign(new Error(), { code })]) }).message
    assert.match(reason("DEPTH_ZERO_SELF_SIGNED_CERT"), /not trusted .*NODE_EXTRA_CA_CERTS/)
    assert.match(reason("ERR_TLS_CERT_ALTNAME_INVALID"), /not trusted/)
    assert.match(reason("EHOSTUNREACH"), /can't be reached/)
  })

  it("noAnswer distinguishes an account that may not open the socket from a server that doesn't run", () => {
    const server = { url: "http://localhost", socket: "/data/run/admin.sock", place: "/data/run/admin.sock" }
    const reason = (code: string) => noAnswer(server, { cause: Object.assign(new Error(), { code }) }).message
    assert.match(
      reason("EACCES"),
      /Only the account of the server .*PARLEY_URL and a key in PARLEY_ADMIN_KEY/
    )
    for (const code of ["ENOENT", "ECONNREFUSED"])
      assert.match(reason(code), /No server answers at .*npm start/)
  })
})

/** Serves a name at a socket, until the scope closes. */
const serving = (dataDir: string, name: string) =>
  serveAtSocket(dataDir, (path) =>
    Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const { server } = recorder(name)
        server.listen(path, () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
    )
  )

/** A logger and the lines that it receives. */
const recordedLines = () => {
  const lines: Array<string> = []
  const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
  return { lines, logger }
}

/** The name of the server that answers at the socket; null where none does. */
const nameAt = (socketPath: string) =>
  Effect.callback<string | null>((resume) => {
    get({ socketPath, path: "/" }, (response) => {
      response.setEncoding("utf8").on("data", (text: string) => resume(Effect.succeed(JSON.parse(text).name)))
    }).on("error", () => resume(Effect.succeed(null)))
  })

layer(Layer.merge(NodeServices.layer, NodeCrypto.layer), { excludeTestServices: true })(
  "the socket of a data directory",
  (it) => {
    it.effect("the socket can be opened by its owner alone, and is removed when the service stops", () =>
      Effect.gen(function* () {
        const dataDir = join(yield* directory, "data")
        const socket = yield* socketIn(dataDir)
        // An earlier service may have left the directory with other permissions.
        mkdirSync(dirname(socket), { recursive: true, mode: 0o755 })
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* serving(dataDir, "one")
            assert.strictEqual(yield* nameAt(socket), "one")
            assert.strictEqual(statSync(socket).mode & 0o777, 0o600)
            assert.strictEqual(statSync(dirname(socket)).mode & 0o777, 0o700)
          })
        )
        assert.deepStrictEqual(readdirSync(dirname(socket)), [])
      })
    )

    it.effect("the socket is that of the latest process, and stays when an earlier process ends", () =>
      Effect.gen(function* () {
        const dataDir = yield* directory
        const socket = yield* socketIn(dataDir)
        const first = yield* Scope.make()
        yield* Scope.provide(serving(dataDir, "first"), first)
        yield* serving(dataDir, "second")
        assert.strictEqual(yield* nameAt(socket), "second")
        yield* Scope.close(first, Exit.void)
        assert.strictEqual(yield* nameAt(socket), "second")
      })
    )

    it.effect("the socket replaces a socket that a killed process left", () =>
      Effect.gen(function* () {
        const dataDir = yield* directory
        const socket = yield* socketIn(dataDir)
        mkdirSync(dirname(socket), { recursive: true })
        const { status } = spawnSync(process.execPath, [
          "--eval",
          `require("net").createServer().listen(${JSON.stringify(socket)}, () => process.kill(process.pid, "SIGKILL"))`
        ])
        assert.isNull(status)
        assert.isTrue(existsSync(socket))
        assert.isNull(yield* nameAt(socket))
        yield* serving(dataDir, "new")
        assert.strictEqual(yield* nameAt(socket), "new")
      })
    )

    it.effect("the socket is left out if its path is too long or its directory can't be created", () =>
      Effect.gen(function* () {
        const { lines, logger } = recordedLines()
        const root = yield* directory
        writeFileSync(join(root, "file"), "")
        yield* Effect.gen(function* () {
          yield* serving(join(root, "d".repeat(100)), "long")
          yield* serving(join(root, "file"), "file")
        }).pipe(Effect.provide(logger))
        assert.match(
          lines[0] ?? "",
          /may have at most 94 bytes\. Choose a shorter PARLEY_DATA_DIR\..*PARLEY_URL/
        )
        assert.match(lines[1] ?? "", /run\/admin\.sock can't be opened \(.*ENOTDIR.*PARLEY_URL/)
      })
    )
  }
)

describe("the address of a service", () => {
  it("an address to show is one to connect to, also when the service listens on all networks", () => {
    assert.strictEqual(reachable("http://0.0.0.0:3000"), "http://127.0.0.1:3000")
    assert.strictEqual(reachable(urlOf("::", 3000)), "http://[::1]:3000")
    assert.strictEqual(reachable(urlOf("10.0.0.1", 3000)), "http://10.0.0.1:3000")
  })
})
