import { createServer } from "node:http"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { says, ScriptedModel } from "../support/ScriptedModel.ts"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"
import { TestApp } from "../support/TestApp.ts"
import { Chromium, skipReason } from "./Chromium.ts"
import { visit } from "./Visit.ts"

/** Origins of two pages of their own, of which the service lists the first. */
class Sites extends Context.Service<Sites, { readonly listed: string; readonly stranger: string }>()(
  "parley/test/Sites"
) {}

const servePage = Effect.gen(function* () {
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<title>A page of its own</title>")
  })
  return `http://127.0.0.1:${yield* serveOnLoopback(server)}`
})

const AppLayer = Layer.unwrap(
  Effect.gen(function* () {
    const sites = Sites.of({ listed: yield* servePage, stranger: yield* servePage })
    const app = TestApp.layer({ http: { corsOrigins: [sites.listed] } })
    return Layer.merge(Layer.succeed(Sites, sites), app)
  })
)

interface Asked {
  readonly url: string
  readonly key: string
  readonly stream: boolean
}

/** Sends a request as a client library does in a page; runs in the browser. */
const ask = async ({ key, stream, url }: Asked) => {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "idempotency-key": crypto.randomUUID(),
        "openai-organization": "none",
        "x-stainless-lang": "js"
      },
      body: JSON.stringify({ input: "Hi", stream, temperature: 1 })
    })
    return {
      status: response.status,
      text: await response.text(),
      requestId: response.headers.get("x-request-id"),
      conversationId: response.headers.get("x-conversation-id"),
      ignored: response.headers.get("x-ignored-fields")
    }
  } catch (error) {
    return String(error)
  }
}

const askFrom = (origin: string, asked: Asked) =>
  Effect.map(
    visit(origin, { path: "/", expected: [/./] }, (page) => page.evaluate(ask, asked)),
    ({ result }) => result
  )

describe.skipIf(skipReason() !== null)("In a browser, a page of another origin", () => {
  layer(Layer.merge(Chromium.layer, AppLayer), { excludeTestServices: true })((it) => {
    it.effect("a page of a listed origin reads answers, streams and errors with their headers", () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const { listed } = yield* Sites
        const model = yield* ScriptedModel
        for (const path of ["/v1/responses", "/openai/v1/responses"]) {
          for (const stream of [true, false]) {
            yield* model.next(says("Hello"))
            const seen = yield* askFrom(listed, { url: url + path, key: alice.key, stream })
            if (typeof seen === "string") return assert.fail(seen)
            assert.strictEqual(seen.status, 200)
            assert.include(seen.text, "Hello")
            assert.isNotNull(seen.requestId)
            assert.isNotNull(seen.conversationId)
            assert.strictEqual(seen.ignored, path.startsWith("/openai") ? null : "temperature")
          }
        }
        const refused = yield* askFrom(listed, { url: `${url}/v1/responses`, key: "wrong", stream: true })
        if (typeof refused === "string") return assert.fail(refused)
        assert.strictEqual(refused.status, 401)
        assert.include(refused.text, "invalid_api_key")
        assert.isNotNull(refused.requestId)
      })
    )

    it.effect("a page of an unlisted origin can't send a request, nor a listed one to /console", () =>
      Effect.gen(function* () {
        const { alice, url } = yield* TestApp
        const { listed, stranger } = yield* Sites
        const model = yield* ScriptedModel
        const calls = (yield* model.asked).length
        const cases = [
          [stranger, "/v1/responses"],
          [stranger, "/openai/v1/responses"],
          [listed, "/console/responses"]
        ] as const
        for (const [origin, path] of cases) {
          const seen = yield* askFrom(origin, { url: url + path, key: alice.key, stream: false })
          assert.match(String(seen), /^TypeError: Failed to fetch/)
        }
        assert.strictEqual((yield* model.asked).length, calls)
      })
    )
  })
})
