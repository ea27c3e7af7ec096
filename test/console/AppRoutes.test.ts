import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs"
import { type IncomingHttpHeaders, request } from "node:http"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { AppDirectory } from "../../src/console/AppFiles.ts"
import { appRoutes, pageBelow } from "../../src/console/AppRoutes.ts"
import { pagePaths } from "../../src/console/PagePaths.ts"
import { makeTemplateOf } from "../../src/http/Routes.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { TestApp } from "../support/TestApp.ts"
import { errorOf } from "../support/Wire.ts"

const page = `<!doctype html><base href="/" /><script type="module" src="./assets/main-1.js"></script>`

/** The service sends compressed forms as they are, so that any text will do for one. */
const build: Readonly<Record<string, string>> = {
  "index.html": page,
  "index.html.br": "another page",
  "icon.svg": "<svg/>",
  "secret.txt": "secret",
  "assets/main-1.js": "the script",
  "assets/main-1.js.br": "script, br",
  "assets/main-1.js.gz": "script, gzip",
  "assets/style-1.css": "the style",
  "assets/style-1.css.gz": "style, gzip",
  "assets/font-1.woff2": "the font",
  "assets/.hidden": "hidden",
  "assets/deep/file.js": "deep"
}

const write = (files: Readonly<Record<string, string>>): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const directory = mkdtempSync(join(tmpdir(), "parley-app-files-"))
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(dirname(join(directory, "app", name)), { recursive: true })
        writeFileSync(join(directory, "app", name), content)
      }
      writeFileSync(join(directory, "outside.js"), "outside")
      return directory
    }),
    (directory) => Effect.sync(() => removeDirectory(directory))
  )

/** The service with the application in this directory, which needn't exist. */
const serving = (directory: string, basePath = "/") =>
  TestApp.layer({ console: { basePath } }).pipe(
    Layer.provide(Layer.succeed(AppDirectory, pathToFileURL(join(directory, "app/"))))
  )

const withBuild = (files: Readonly<Record<string, string>>) =>
  Layer.unwrap(
    Effect.map(write(files), (directory) => {
      symlinkSync(join(directory, "outside.js"), join(directory, "app/assets/link-1.js"))
      return serving(directory)
    })
  )

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const headersOf = (headers: IncomingHttpHeaders): Headers =>
  new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]))

/** The path goes out as it is given, and the body comes in as it is sent. */
const ask = Effect.fnUntraced(function* (path: string, headers: Record<string, string> = {}, method = "GET") {
  const { hostname, port } = new URL((yield* TestApp).url)
  return yield* Effect.callback<Answer>((resume) => {
    request({ hostname, port, path, headers, method, agent: false }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
      response.on("end", () =>
        resume(
          Effect.succeed({ status: response.statusCode ?? 0, headers: headersOf(response.headers), text })
        )
      )
    }).end()
  })
})

const script = "/assets/main-1.js"
const cacheOf = ({ headers }: Answer) => headers.get("cache-control")

const isGuarded = ({ headers }: Answer): void => {
  const policy = new Map(
    (headers.get("content-security-policy") ?? "").split("; ").map((directive): [string, string] => {
      const [name = "", ...sources] = directive.split(" ")
      return [name, sources.join(" ")]
    })
  )
  assert.deepStrictEqual(Object.fromEntries(policy), {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "font-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'"
  })
  assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
  assert.strictEqual(headers.get("referrer-policy"), "no-referrer")
  assert.strictEqual(headers.get("x-frame-options"), "DENY")
  assert.strictEqual(headers.get("cross-origin-resource-policy"), "same-origin")
}

layer(withBuild(build), { excludeTestServices: true })("The web application", (it) => {
  it.effect("the web application has its page at every path of a page, never cached", () =>
    Effect.gen(function* () {
      for (const path of [...Object.values(pagePaths), "/?x=1", "/usage?by=day", "/sign-in/"]) {
        const answer = yield* ask(path.replaceAll("$", ""), { "accept-encoding": "br, gzip" })
        assert.deepStrictEqual([answer.status, answer.text], [200, page], path)
        assert.strictEqual(answer.headers.get("content-type"), "text/html; charset=utf-8")
        assert.strictEqual(answer.headers.get("content-encoding"), null)
        assert.strictEqual(cacheOf(answer), "no-cache")
        assert.strictEqual(answer.headers.get("cross-origin-opener-policy"), "same-origin")
        assert.match(
          answer.headers.get("permissions-policy") ?? "",
          /^clipboard-write=\(self\), .*camera=\(\)/
        )
        isGuarded(answer)
      }
    })
  )

  it.effect("the web application answers 304 for its page and its files as long as they are the same", () =>
    Effect.gen(function* () {
      for (const path of ["/", "/usage", script, "/icon.svg"]) {
        const full = yield* ask(path)
        const etag = full.headers.get("etag") ?? ""
        assert.match(etag, /^"[0-9a-f]{64}"$/)
        const same = yield* ask(path, { "if-none-match": `"x", ${etag}` })
        assert.deepStrictEqual([same.status, same.text, same.headers.get("etag")], [304, "", etag])
        assert.strictEqual(cacheOf(same), cacheOf(full))
        isGuarded(same)
        assert.strictEqual((yield* ask(path, { "if-none-match": '"x"' })).status, 200)
        assert.strictEqual((yield* ask(path, { "if-match": etag })).status, 200)
        assert.strictEqual((yield* ask(path, { "if-match": '"x"' })).status, 412)
      }
    })
  )

  it.effect("the web application answers HEAD as GET, without the body", () =>
    Effect.gen(function* () {
      for (const path of ["/", script, "/icon.svg"]) {
        const headers = { "accept-encoding": "br" }
        const got = yield* ask(path, headers)
        const head = yield* ask(path, headers, "HEAD")
        assert.deepStrictEqual([head.status, head.text], [200, ""])
        for (const name of [
          "etag",
          "content-type",
          "content-length",
          "content-encoding",
          "vary",
          "cache-control"
        ]) {
          assert.strictEqual(head.headers.get(name), got.headers.get(name), `${path} ${name}`)
        }
        assert.strictEqual(head.headers.get("content-length"), String(Buffer.byteLength(got.text)))
      }
    })
  )

  it.effect("the web application sends a file in the best accepted coding, with an ETag of its own", () =>
    Effect.gen(function* () {
      const etags = new Set<string | null>()
      const cases: ReadonlyArray<
        readonly [path: string, accepted: string, coding: string | null, text: string]
      > = [
        [script, "gzip, deflate, br", "br", "script, br"],
        [script, "gzip", "gzip", "script, gzip"],
        [script, "identity", null, "the script"],
        ["/assets/style-1.css", "gzip, br", "gzip", "style, gzip"],
        ["/assets/style-1.css", "br", null, "the style"],
        ["/assets/font-1.woff2", "gzip, br", null, "the font"]
      ]
      for (const [path, accepted, coding, text] of cases) {
        const answer = yield* ask(path, { "accept-encoding": accepted })
        assert.deepStrictEqual([answer.status, answer.text], [200, text], `${path} ${accepted}`)
        assert.strictEqual(answer.headers.get("content-encoding"), coding)
        assert.strictEqual(answer.headers.get("vary"), "accept-encoding")
        assert.strictEqual(cacheOf(answer), "public, max-age=31536000, immutable")
        isGuarded(answer)
        etags.add(answer.headers.get("etag"))
      }
      assert.strictEqual(etags.size, cases.length)
      const types = yield* Effect.forEach(
        [script, "/assets/style-1.css", "/assets/font-1.woff2", "/icon.svg"],
        (path) => Effect.map(ask(path), ({ headers }) => headers.get("content-type"))
      )
      assert.deepStrictEqual(types, [
        "text/javascript; charset=utf-8",
        "text/css; charset=utf-8",
        "font/woff2",
        "image/svg+xml"
      ])
    })
  )

  it.effect("the web application refuses with 406 a request that accepts no coding of a file", () =>
    Effect.gen(function* () {
      const answer = yield* ask("/assets/font-1.woff2", { "accept-encoding": "br, identity;q=0" })
      assert.strictEqual(errorOf(answer, 406).code, "encoding_not_acceptable")
      assert.strictEqual(cacheOf(answer), "no-store")
    })
  )

  const strange = [
    "/assets/",
    "/assets/nothing-1.js",
    `/assets/${"a".repeat(300)}.js`,
    "/assets/main-1.js.br",
    "/assets/main-1.js.gz",
    "/assets/main-1.js/",
    "/assets/deep/file.js",
    "/assets/.hidden",
    "/assets/%2ehidden",
    "/assets/link-1.js",
    "/assets/../secret.txt",
    "/assets/../../outside.js",
    "/assets/..%2f..%2foutside.js",
    "/assets/%2e%2e/%2e%2e/outside.js",
    "/assets/%252e%252e%252f%252e%252e%252foutside.js",
    "/assets/..\\..\\outside.js",
    "/assets/..%5c..%5coutside.js",
    "/assets/%c0%ae%c0%ae/outside.js",
    "/assets/main-1.js%00",
    "/assets/%00",
    "/assets/%ff",
    "/assets/main%2d1.js",
    "/assets//etc/passwd",
    "//assets/../outside.js",
    "/assets/__proto__",
    "/assets/constructor",
    "/index.html",
    "/index.html.br",
    "/secret.txt",
    "/robots.txt",
    "/favicon.ico",
    "/settings",
    "/settings/nothing",
    "/administration",
    "/usage/nothing"
  ]
  it.effect.each(strange)("the web application answers the 404 envelope for %s", (path) =>
    Effect.gen(function* () {
      const answer = yield* ask(path)
      assert.strictEqual(errorOf(answer, 404).code, "route_not_found")
      assert.strictEqual(cacheOf(answer), "no-store")
    })
  )

  it.effect("the web application answers 405 for other methods, and keeps the paths of the interfaces", () =>
    Effect.gen(function* () {
      for (const path of ["/", "/sign-in", script, "/icon.svg"]) {
        const answer = yield* ask(path, {}, "POST")
        assert.strictEqual(errorOf(answer, 405).code, "method_not_allowed")
        assert.strictEqual(answer.headers.get("allow"), "GET, HEAD")
      }
      assert.strictEqual(errorOf(yield* ask("/v1/files"), 401).code, "api_key_missing")
      assert.strictEqual((yield* ask("/healthz", { "accept-encoding": "br" })).text, '{"status":"ok"}')
      assert.include((yield* ask("/docs")).text, "API reference")
    })
  )
})

describe("The label of a path in metrics and the access log", () => {
  it("the label is the same for all files of `assets`, and the path for a page", () => {
    const templateOf = makeTemplateOf(appRoutes)
    assert.deepStrictEqual(
      [script, "/assets/other.css", "/assets/a/b", "/usage/", "/", "/icon.svg", "/secret.txt"].map(
        templateOf
      ),
      ["/assets/:name", "/assets/:name", null, "/usage", "/", "/icon.svg", null]
    )
  })
})

describe("The base path of the page", () => {
  it.effect("the base path of the page is that of the public address, and part of the ETag", () =>
    Effect.gen(function* () {
      const directory = yield* write(build)
      const answers = yield* Effect.forEach(["/", "/chat/"], (basePath) =>
        ask("/usage").pipe(Effect.provide(serving(directory, basePath)))
      )
      assert.deepStrictEqual(
        answers.map(({ text }) => text),
        [page, page.replace('href="/"', 'href="/chat/"')]
      )
      assert.notStrictEqual(answers[0]?.headers.get("etag"), answers[1]?.headers.get("etag"))
    }).pipe(Effect.scoped)
  )

  it("pageBelow replaces the base path of the build, escaped, and nothing else", () => {
    const built = `<base href="/" /><a href="/">x</a>`
    assert.strictEqual(pageBelow(built, "/chat/$&/"), `<base href="/chat/$&amp;/" /><a href="/">x</a>`)
    assert.strictEqual(pageBelow(built, '/"><script>/'), `<base href="/&quot;><script>/" /><a href="/">x</a>`)
  })
})

describe("A new build of the web application", () => {
  it.effect("a new build is served after a restart, and the files of the old one are not", () =>
    Effect.gen(function* () {
      const old = yield* write(build)
      const fresh = yield* write({ "index.html": `${page}new`, "assets/main-2.js": "new script" })
      const before = yield* ask("/").pipe(Effect.provide(serving(old)))
      yield* Effect.gen(function* () {
        const answer = yield* ask("/", { "if-none-match": before.headers.get("etag") ?? "" })
        assert.deepStrictEqual([answer.status, answer.text], [200, `${page}new`])
        assert.strictEqual((yield* ask("/assets/main-2.js")).text, "new script")
        const gone = yield* ask(script)
        assert.strictEqual(errorOf(gone, 404).code, "route_not_found")
        assert.strictEqual(cacheOf(gone), "no-store")
      }).pipe(Effect.provide(serving(fresh)))
    }).pipe(Effect.scoped)
  )

  it.effect(
    "a missing or incomplete build leaves a page that says how to build it, and the service works",
    () =>
      Effect.gen(function* () {
        const broken = yield* write({ "assets/main-1.js": "the script" })
        for (const directory of [broken, join(broken, "nothing")]) {
          yield* Effect.gen(function* () {
            const answer = yield* ask("/")
            assert.strictEqual(answer.status, 200)
            assert.include(answer.text, "<code>npm run build</code>")
            isGuarded(answer)
            errorOf(yield* ask(script), 404)
            assert.strictEqual((yield* ask("/healthz")).status, 200)
          }).pipe(Effect.provide(serving(directory)))
        }
      }).pipe(Effect.scoped)
  )
})
