import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"

/** The header of a browser that opens a page. */
const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

const ask = Effect.fnUntraced(function* (path: string, method = "GET", accepted = accept) {
  const { alice, url } = yield* TestApp
  return yield* call(`${url}${path}`, { method, key: alice.key, headers: { accept: accepted } })
})

layer(TestApp.layer({ console: { basePath: "/parley/" } }), { excludeTestServices: true })(
  "an unknown path",
  (it) => {
    it.effect("an unknown path is a page for a browser, with a link home and the status 404", () =>
      Effect.gen(function* () {
        for (const path of ["/nope", "/v1x", "/conversations/a/b/c", "/assets/nothing.js"]) {
          const reply = yield* ask(path)
          assert.strictEqual(reply.status, 404, path)
          assert.strictEqual(reply.headers.get("content-type"), "text/html; charset=utf-8", path)
          assert.include(reply.text, "<h1>Page not found</h1>")
          assert.include(reply.text, '<a href="/parley/">')
          assert.notInclude(reply.text, path)
          assert.match(reply.headers.get("content-security-policy") ?? "", /default-src 'none'/)
          assert.isNotNull(reply.headers.get("x-request-id"))
        }
        const head = yield* ask("/nope", "HEAD")
        assert.deepStrictEqual([head.status, head.text], [404, ""])
        assert.strictEqual(head.headers.get("content-type"), "text/html; charset=utf-8")
      })
    )

    it.effect("an unknown path is JSON below an interface, and for clients that don't accept HTML", () =>
      Effect.gen(function* () {
        for (const path of ["/v1/nope", "/openai/v1/nope", "/openai/nope", "/admin/nope", "/console/nope"]) {
          assert.strictEqual(errorOf(yield* ask(path), 404).code, "route_not_found", path)
        }
        errorOf(yield* ask("/nope", "POST"), 404)
        for (const other of ["*/*", "application/json", "text/html;q=0, */*", "text/htmlx"]) {
          errorOf(yield* ask("/nope", "GET", other), 404)
        }
      })
    )

    it.effect("an unknown path of OpenAI's usage names where usage is shown", () =>
      Effect.gen(function* () {
        for (const path of ["/v1/organization/usage/completions", "/openai/v1/organization/costs"]) {
          assert.include(errorOf(yield* ask(path), 404).message, "parley usage", path)
        }
      })
    )
  }
)
