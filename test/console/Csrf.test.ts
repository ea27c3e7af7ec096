import { assert, layer } from "@effect/vitest"
import { Effect, Struct } from "effect"
import { TestApp } from "../support/TestApp.ts"
import { errorOf } from "../support/Wire.ts"
import { declared, isSafe, refusedActor, refusedTenant, send, startSession } from "./ConsoleFixture.ts"
import { expectations } from "./endpoints.ts"

/** The endpoints that need a session and change something, and the end of the session. */
const changing = declared.filter(
  (endpoint) =>
    !isSafe(endpoint) &&
    (expectations[endpoint.name]?.admitted !== "anyone" || endpoint.name === "session.signOut")
)

/** Headers of requests that another site makes a browser send. */
const foreignHeaders: ReadonlyArray<Record<string, string>> = [
  { origin: "https://evil.example" },
  { origin: "null" },
  { "sec-fetch-site": "cross-site" },
  { "sec-fetch-site": "same-site" }
]

const unread = { bytes: "{not json" }

layer(TestApp.layer(), { excludeTestServices: true })("A request that changes something", (it) => {
  it.effect("many endpoints change something", () => Effect.sync(() => assert.isAtLeast(changing.length, 24)))

  for (const endpoint of changing) {
    it.effect(`a request to ${endpoint.name} needs the token of its own session`, () =>
      Effect.gen(function* () {
        const tenant = yield* refusedTenant
        const actor = yield* refusedActor("owner")
        const another = yield* startSession(actor.target)
        const cases: ReadonlyArray<Record<string, string>> = [
          {},
          { "x-csrf-token": "" },
          { "x-csrf-token": "x" },
          { "x-csrf-token": actor.secret },
          { "x-csrf-token": `${actor.csrfToken}x` },
          { "x-csrf-token": actor.csrfToken.slice(0, -1) },
          { "x-csrf-token": another.csrfToken }
        ]
        const bare = Struct.omit(actor.headers, ["x-csrf-token"])
        const request = expectations[endpoint.name]!.sample(tenant)
        for (const token of cases) {
          const reply = yield* send(endpoint, request, { ...bare, ...token })
          const error = errorOf(reply, 403)
          assert.strictEqual(error.code, "csrf_rejected", JSON.stringify(token))
          assert.notInclude(reply.text, actor.csrfToken)
        }
      })
    )
  }
})

layer(TestApp.layer(), { excludeTestServices: true })("A request from another site's page", (it) => {
  for (const endpoint of declared) {
    it.effect(`${endpoint.name} refuses a request from another site's page, even with a valid token`, () =>
      Effect.gen(function* () {
        const tenant = yield* refusedTenant
        const { headers } = yield* refusedActor("owner")
        const request = expectations[endpoint.name]!.sample(tenant)
        const own = Struct.omit(headers, ["origin"])
        for (const foreign of foreignHeaders) {
          const reply = yield* send(endpoint, request, { ...own, ...foreign })
          assert.strictEqual(errorOf(reply, 403).code, "origin_rejected", JSON.stringify(foreign))
        }
        // No page at all: a link that was followed, or a program.
        if (!isSafe(endpoint)) {
          assert.strictEqual(errorOf(yield* send(endpoint, request, own), 403).code, "origin_rejected")
        }
      })
    )
  }

  it.effect("a request from another site's page is refused before anything of its body is read", () =>
    Effect.gen(function* () {
      const signIn = declared.find(({ name }) => name === "session.signIn")!
      const reply = yield* send(signIn, unread, { origin: "https://evil.example" })
      assert.strictEqual(errorOf(reply, 403).code, "origin_rejected")
    })
  )
})
