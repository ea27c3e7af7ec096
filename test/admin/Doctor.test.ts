import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { makeSearchServer, type SearchReply } from "../tools/search/SearchServer.ts"
import { AdminServer, clientWith } from "./AdminServer.ts"

const searchCheck = Effect.gen(function* () {
  const { server } = yield* clientWith()
  const { checks } = yield* server.doctor()
  return checks.find(({ name }) => name === "web search")
})

const withSearchAt = (searchUrl: string) =>
  AdminServer.layerWith({ tools: { searchProvider: "searxng", searchUrl } })

const answering = (reply: SearchReply) =>
  Layer.unwrap(
    Effect.map(makeSearchServer, (server) => {
      server.next(reply)
      return withSearchAt(server.url)
    })
  )

layer(withSearchAt("http://127.0.0.1:9"), { excludeTestServices: true })(
  "A doctor without search server",
  (it) => {
    it.effect("says that nobody answers at its address", () =>
      Effect.gen(function* () {
        const check = yield* searchCheck
        assert.strictEqual(check?.status, "failed")
        assert.match(check?.detail ?? "", /127\.0\.0\.1:9 is asked.*can't be reached/)
      })
    )
  }
)

const found = { json: { results: [{ url: "https://example.org/", title: "Weather" }] } }

layer(answering(found), { excludeTestServices: true })("A doctor with a search server", (it) => {
  it.effect("says that it answers, having searched", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* searchCheck, { status: "ok" })
    })
  )
})

layer(answering({ json: { results: [] } }), { excludeTestServices: true })(
  "A doctor with a search server without engines",
  (it) => {
    it.effect("warns that it found nothing", () =>
      Effect.gen(function* () {
        assert.deepInclude(yield* searchCheck, { status: "warning" })
      })
    )
  }
)
