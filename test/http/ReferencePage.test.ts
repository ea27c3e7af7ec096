import { createContext, Script } from "node:vm"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestApp } from "../support/TestApp.ts"
import { call, type Reply } from "../support/Wire.ts"

const policy =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The address of the page in a browser: the service below a prefix of a proxy. */
const address = new URL("https://example.test/parley/docs")
const prefix = new URL(".", address).href

/** The part of an element that the page's script uses. */
class FakeElement {
  readonly listeners = new Map<string, (event: unknown) => unknown>()
  hidden = true
  isRemoved = false
  textContent = ""
  value = ""

  addEventListener(name: string, listener: (event: unknown) => unknown) {
    this.listeners.set(name, listener)
  }
  focus() {}
  remove() {
    this.isRemoved = true
  }
}

interface Request {
  readonly path: string
  readonly authorization: string | undefined
}

interface FetchOptions {
  readonly headers: { readonly authorization?: string }
}

interface ScalarOptions {
  readonly content: {
    readonly servers: ReadonlyArray<unknown>
    readonly paths: Record<string, Record<string, { readonly requestBody: { readonly content: unknown } }>>
    readonly components: { readonly securitySchemes: Record<string, { readonly scheme: string }> }
  }
  readonly [option: string]: unknown
}

/** The page's own script, which follows the one of Scalar. */
const ownScript = (served: string) => served.slice(served.lastIndexOf("\n;(() => {"))

/**
 * Opens the page; `answer` is the service, asked for paths below the prefix. It has no storage, cookies or
 * history.
 */
const openPage = Effect.fnUntraced(function* (
  served: string,
  answer: (path: string, options: FetchOptions) => Promise<Response>
) {
  const parts = new Map<string, FakeElement>()
  const part = (id: string) => {
    const found = parts.get(id) ?? new FakeElement()
    parts.set(id, found)
    return found
  }
  const requests: Array<Request> = []
  const shown: Array<ScalarOptions> = []
  const location = { href: address.href }
  const context = createContext({
    AbortSignal,
    URL,
    Scalar: { createApiReference: (_: FakeElement, options: ScalarOptions) => shown.push(options) },
    document: { title: "", getElementById: part },
    fetch: async (url: string, options: FetchOptions) => {
      const { href } = new URL(url, address)
      assert.isTrue(href.startsWith(prefix), href)
      const path = href.slice(prefix.length - 1)
      requests.push({ path, authorization: options.headers.authorization })
      return answer(path, options)
    },
    location
  })
  yield* Effect.promise(async () => new Script(ownScript(served)).runInContext(context))
  const submit = (key: string) =>
    Effect.promise(async () => {
      part("key").value = key
      await part("ask").listeners.get("submit")!({ preventDefault: () => {} })
    })
  return { location, part, requests, shown, submit }
})

const openOn = (served: string, url: string) =>
  openPage(served, (path, { headers }) => fetch(`${url}${path}`, { headers }))

const scriptOf = (url: string) => call(`${url}/docs/reference.js`, {})

const securityOf = ({ headers }: Reply) => [
  headers.get("content-security-policy"),
  headers.get("x-content-type-options"),
  headers.get("referrer-policy")
]

layer(TestApp.layer(), { excludeTestServices: true })("The reference page", (it) => {
  it.effect("the reference page has a policy that allows scripts and requests of its own origin only", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      for (const method of ["GET", "HEAD"]) {
        const page = yield* call(`${url}/docs`, { method })
        assert.strictEqual(page.status, 200)
        assert.strictEqual(page.headers.get("content-type"), "text/html; charset=utf-8")
        assert.deepStrictEqual(securityOf(page), [policy, "nosniff", "no-referrer"])
        assert.strictEqual(page.text === "", method === "HEAD")
      }
    })
  )

  it.effect("the reference page loads one script, by a relative address, and nothing of other hosts", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const { text } = yield* call(`${url}/docs`, {})
      const loaded = [...text.matchAll(/\s(?:src|href|action|srcset|data)="([^"]*)"/g)].map(([, to]) => to!)
      assert.deepStrictEqual(loaded, ["data:,", "docs/reference.js"])
      assert.strictEqual(new URL(loaded[1]!, address).href, `${prefix}docs/reference.js`)
      assert.notMatch(text, /https?:|["'(]\/\/|@import|\burl\(|<script>|\son\w+=/)
    })
  )

  it.effect("redirects from a trailing slash to the path without it, also below a prefix", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const reply = yield* Effect.promise(() => fetch(`${url}/docs/?x`, { redirect: "manual" }))
      assert.strictEqual(reply.status, 302)
      const target = new URL(reply.headers.get("location")!, `${prefix}docs/?x`)
      assert.strictEqual(target.href, address.href)
    })
  )

  it.effect("the script of the reference page is answered by 304 until it changes", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const script = yield* scriptOf(url)
      assert.deepStrictEqual(
        [script.status, script.headers.get("content-type"), script.headers.get("cache-control")],
        [200, "text/javascript; charset=utf-8", "no-cache"]
      )
      assert.deepStrictEqual(securityOf(script), [policy, "nosniff", "no-referrer"])
      const etag = script.headers.get("etag")!
      assert.match(etag, /^"[0-9a-f]{64}"$/)

      const head = yield* call(`${url}/docs/reference.js`, { method: "HEAD" })
      assert.deepStrictEqual(
        [head.status, head.text, head.headers.get("etag"), Number(head.headers.get("content-length"))],
        [200, "", etag, Buffer.byteLength(script.text)]
      )
      const again = yield* call(`${url}/docs/reference.js`, {
        headers: { "if-none-match": `"x", W/${etag}`, "cache-control": "max-age=0" }
      })
      assert.deepStrictEqual([again.status, again.text, again.headers.get("etag")], [304, "", etag])
      const changed = yield* call(`${url}/docs/reference.js`, {
        headers: { "if-none-match": '"x"', "cache-control": "max-age=0" }
      })
      assert.strictEqual(changed.status, 200)
    })
  )

  it.effect("the reference page has every element that its script uses", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const { text } = yield* scriptOf(url)
      assert.doesNotThrow(() => new Script(text))
      const own = ownScript(text)
      assert.include(text.slice(0, -own.length), "window.Scalar={createApiReference:")
      assert.notMatch(own, /innerHTML|localStorage|sessionStorage|indexedDB|cookie|history\.|https?:/)
      const page = (yield* call(`${url}/docs`, {})).text
      const ids = [...own.matchAll(/byId\("(\w+)"\)/g)].map(([, id]) => id!)
      for (const id of ids) assert.include(page, `id="${id}"`)
    })
  )

  it.effect("the reference page asks for a key, does not store it, and passes the document to Scalar", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const { location, part, requests, shown, submit } = yield* openOn((yield* scriptOf(url)).text, url)
      assert.deepStrictEqual(requests, [{ path: "/openapi.json", authorization: undefined }])
      assert.isFalse(part("fields").hidden)
      assert.strictEqual(part("status").textContent, "The description of this interface needs an API key.")

      yield* submit("parley_wrong")
      assert.match(part("status").textContent, /^The API key is not valid\./)
      yield* submit("not a kéy")
      assert.match(part("status").textContent, /^This is not an API key/)
      assert.lengthOf(shown, 0)

      yield* submit(` ${alice.key}\n`)
      assert.lengthOf(shown, 1)
      assert.deepStrictEqual(requests.slice(1), [
        { path: "/openapi.json", authorization: "Bearer parley_wrong" },
        { path: "/openapi.json", authorization: `Bearer ${alice.key}` }
      ])
      assert.isTrue(part("ask").isRemoved)
      assert.notInclude(JSON.stringify([shown, location]), alice.key)
    })
  )

  it.effect("the reference page configures Scalar with the URL, an example, and no fonts", () =>
    Effect.gen(function* () {
      const { alice, url } = yield* TestApp
      const { shown, submit } = yield* openOn((yield* scriptOf(url)).text, url)
      yield* submit(alice.key)
      const { content, ...options } = shown[0]!
      assert.deepInclude(options, {
        withDefaultFonts: false,
        showDeveloperTools: "never",
        hideClientButton: true,
        hideTestRequestButton: true,
        persistAuth: false,
        telemetry: false,
        authentication: { preferredSecurityScheme: "bearer" }
      })
      assert.strictEqual(JSON.stringify(content.servers), '[{"url":"https://example.test/parley"}]')
      assert.strictEqual(content.components.securitySchemes["bearer"]!.scheme, "bearer")
      assert.include(
        JSON.stringify(content.paths["/v1/responses"]!["post"]!.requestBody.content),
        '"example":{"input":"Hello!"}'
      )
    })
  )

  it.effect("the reference page reports a failing or unreachable service and an unexpected answer", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const { text } = yield* scriptOf(url)
      const statusOf = (answer: () => Promise<Response>) =>
        Effect.map(openPage(text, answer), ({ part, shown }) => {
          assert.lengthOf(shown, 0)
          assert.isFalse(part("fields").hidden)
          return part("status").textContent
        })
      const failing = async () => Response.json({ error: { message: "Try again." } }, { status: 503 })
      assert.strictEqual(yield* statusOf(failing), "Try again.")
      assert.match(yield* statusOf(async () => Response.json([])), /is no OpenAPI document/)
      assert.match(yield* statusOf(() => Promise.reject(new Error("away"))), /could not be reached/)
    })
  )
})

layer(TestApp.layer({ http: { openapiPublic: true } }), { excludeTestServices: true })(
  "The reference page of an open document",
  (it) => {
    it.effect("the reference page shows a public document without asking for a key", () =>
      Effect.gen(function* () {
        const { url } = yield* TestApp
        const { part, requests, shown } = yield* openOn((yield* scriptOf(url)).text, url)
        assert.deepStrictEqual(requests, [{ path: "/openapi.json", authorization: undefined }])
        assert.isTrue(part("ask").isRemoved)
        assert.lengthOf(shown, 1)
      })
    )
  }
)
