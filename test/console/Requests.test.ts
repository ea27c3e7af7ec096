import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted, References } from "effect"
import { Sessions } from "../../src/auth/Sessions.ts"
import { FileStoreLayer } from "../../src/files/FileStoreLayer.ts"
import { ScriptedModel } from "../support/ScriptedModel.ts"
import { TestApp } from "../support/TestApp.ts"
import { SqlFaults, TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"
import { call, errorOf } from "../support/Wire.ts"
import { declared, send, someone, someTenant } from "./ConsoleFixture.ts"
import { expectations } from "./endpoints.ts"

const written: Array<string> = []
const Log = Layer.merge(
  Logger.layer([Logger.map(Logger.formatJson, (line) => void written.push(line))]),
  Layer.succeed(References.MinimumLogLevel, "Debug")
)

interface Line {
  readonly message: string
  readonly annotations: Readonly<Record<string, unknown>>
}

/** The fields of the line of a request. */
const lineOf = Effect.fnUntraced(function* (id: string | null) {
  const found = () =>
    written
      .map((line) => JSON.parse(line) as Line)
      .filter(({ annotations, message }) => message === "request" && annotations["requestId"] === id)
  yield* until(Effect.sync(() => found().length > 0))
  return found()[0]!.annotations
})

const Logged = TestApp.layerWith(TestDatabase.layer, FileStoreLayer, {}, ScriptedModel.layer, Log)

layer(Logged, { excludeTestServices: true })("The log line of a request to /console", (it) => {
  it.effect("the log line of a request names the user of the session and the route, and no key", () =>
    Effect.gen(function* () {
      const tenant = yield* someTenant
      const { headers, target } = yield* someone("owner", tenant)
      const routes = {
        "session.state": "/console/session",
        "me.revokeKey": "/console/me/keys/:id/revoke",
        "accounts.listUsers": "/console/admin/users"
      }
      for (const [name, route] of Object.entries(routes)) {
        const endpoint = declared.find((one) => one.name === name)!
        const reply = yield* send(endpoint, expectations[name]!.sample(target), headers)
        const line = yield* lineOf(reply.headers.get("x-request-id"))
        assert.strictEqual(line["route"], route)
        assert.strictEqual(line["user"], target.userId)
        assert.strictEqual(line["organization"], target.organizationId)
        assert.notProperty(line, "key")
      }
    })
  )

  it.effect("the log line of a sign-in names who signed in, and no secret and no failed address", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const { csrfToken, headers, secret, target } = yield* someone("member", yield* someTenant)
      const sessions = yield* Sessions
      const known = yield* sessions.find(Redacted.make(secret))
      const password = "PASSWORDMARK is long"
      yield* sessions.changePassword(known!.person, null, Redacted.make(password))
      const signIn = (typed: string) =>
        call(`${url}/console/session`, {
          headers: { origin: url },
          body: { email: target.email, password: typed }
        })
      const refused = yield* signIn("WRONGMARK is long")
      assert.strictEqual(errorOf(refused, 401).code, "sign_in_refused")
      const ofRefused = yield* lineOf(refused.headers.get("x-request-id"))
      assert.notProperty(ofRefused, "user")
      assert.strictEqual(ofRefused["errorCode"], "sign_in_refused")
      const admitted = yield* signIn(password)
      assert.strictEqual(admitted.status, 200, admitted.text)
      const ofAdmitted = yield* lineOf(admitted.headers.get("x-request-id"))
      assert.strictEqual(ofAdmitted["user"], target.userId)
      yield* call(`${url}/console/me/keys`, { headers })
      const everything = written.join("\n")
      for (const text of [secret, csrfToken, "PASSWORDMARK", "WRONGMARK", target.email]) {
        assert.notInclude(everything, text)
      }
      const issued = /parley_session=([^;]+)/.exec(admitted.headers.get("set-cookie") ?? "")?.[1]
      assert.isDefined(issued)
      assert.notInclude(everything, issued!)
    })
  )
})

layer(TestApp.layerOn(TestDatabase.layerFailing), { excludeTestServices: true })(
  "While the database is away",
  (it) => {
    it.effect("every endpoint answers database_unavailable during an outage, and the session survives", () =>
      Effect.gen(function* () {
        const faults = yield* SqlFaults
        const tenant = yield* someTenant
        const { headers, target } = yield* someone("owner", tenant)
        yield* faults.outage
        for (const endpoint of declared) {
          const { admitted, sample } = expectations[endpoint.name]!
          if (admitted === "anyone" && endpoint.name !== "session.state") continue
          const reply = yield* send(endpoint, sample(target), headers)
          assert.strictEqual(errorOf(reply, 503).code, "database_unavailable", endpoint.name)
          assert.deepStrictEqual(reply.headers.getSetCookie(), [])
        }
        yield* faults.off
        const keys = declared.find(({ name }) => name === "me.keys")!
        assert.strictEqual((yield* send(keys, {}, headers)).status, 200)
      })
    )
  }
)

layer(
  TestApp.layer({
    http: { userRequestsPerMinute: 60, userWaitSeconds: 0 },
    console: { trustedProxies: ["127.0.0.1"] }
  }),
  { excludeTestServices: true }
)("Requests without a session", (it) => {
  it.effect("requests without a session are bounded by client address, and those of sessions by user", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const { headers } = yield* someone("member", yield* someTenant)
      const from = (address: string) =>
        call(`${url}/console/session`, { headers: { "x-forwarded-for": address } })
      const replies = yield* Effect.forEach(Array.from({ length: 12 }), () => from("192.0.2.7"))
      const refused = replies.find(({ status }) => status !== 200)
      assert.isDefined(refused)
      assert.strictEqual(errorOf(refused!, 429).code, "request_rate_exceeded")
      assert.strictEqual((yield* from("192.0.2.8")).status, 200)
      const ofUser = yield* call(`${url}/console/me/limits`, {
        headers: { ...headers, "x-forwarded-for": "192.0.2.7" }
      })
      assert.strictEqual(ofUser.status, 200)
    })
  )
})
