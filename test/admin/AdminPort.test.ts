import { createServer } from "node:net"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { freePort } from "../support/freePort.ts"
import { TestApp } from "../support/TestApp.ts"
import { call, errorOf } from "../support/Wire.ts"

const adminKey = `parley_admin_${"k".repeat(32)}`

const appAt = (adminPort: number) =>
  TestApp.layer({ auth: { adminKey: Redacted.make(adminKey) }, http: { adminPort } })

const AppLayer = Layer.unwrap(Effect.map(freePort, appAt))

const adminUrl = AppConfig.useSync(({ http }) => `http://127.0.0.1:${http.adminPort}`)

layer(AppLayer, { excludeTestServices: true })("the operator's interface on a port of its own", (it) => {
  it.effect("the operator's port answers the operator, and the users' port doesn't", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const admin = yield* adminUrl
      assert.strictEqual((yield* call(`${admin}/admin/organizations`, { key: adminKey })).status, 200)
      errorOf(yield* call(`${admin}/admin/organizations`, { key: "wrong" }), 401)
      const elsewhere = yield* call(`${url}/admin/organizations`, { key: adminKey })
      assert.strictEqual(errorOf(elsewhere, 404).code, "route_not_found")
    })
  )

  it.effect("the operator's port has nothing of the users', but says that it lives and what runs", () =>
    Effect.gen(function* () {
      const { alice } = yield* TestApp
      const admin = yield* adminUrl
      for (const path of ["/", "/v1/files", "/console/session", "/console/admin/users", "/docs", "/metrics"])
        errorOf(yield* call(admin + path, { key: alice.key }), 404)
      assert.strictEqual((yield* call(`${admin}/healthz`, {})).text, '{"status":"ok"}')
      assert.include((yield* call(`${admin}/version`, {})).text, '"name":"parley"')
    })
  )

  it.effect("the administration of the web application stays on the port of the users", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const reply = yield* call(`${url}/console/admin/users`, {
        headers: { "sec-fetch-site": "same-origin" }
      })
      assert.strictEqual(errorOf(reply, 401).code, "session_ended")
    })
  )

  it.effect("the links of the operator's port lead to the port of the users", () =>
    Effect.gen(function* () {
      const { url } = yield* TestApp
      const { alice } = yield* TestApp
      const request = { key: adminKey, body: { email: alice.email } }
      const made = yield* call(`${yield* adminUrl}/admin/users/password-reset`, request)
      assert.strictEqual(made.status, 200, made.text)
      assert.include(made.text, `http://localhost:${new URL(url).port}/link#`)
    })
  )
})

/** A port that another program has. */
const takenPort = Effect.acquireRelease(
  Effect.flatMap(freePort, (port) =>
    Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
      const server = createServer().listen(port, "127.0.0.1", () => {
        resume(Effect.succeed({ port, close: () => void server.close() }))
      })
    })
  ),
  ({ close }) => Effect.sync(close)
)

describe("a port of the operator's interface that another program has", () => {
  it.live("a taken operator's port fails the start with the settings to change", () =>
    Effect.gen(function* () {
      const { port } = yield* takenPort
      const cause = yield* Effect.flip(Effect.sandbox(Layer.build(appAt(port))))
      assert.include(String(cause), `address already in use 127.0.0.1:${port}`)
      assert.include(String(cause), "PARLEY_ADMIN_HOST and PARLEY_ADMIN_PORT say where")
    })
  )
})
