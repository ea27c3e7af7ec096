import { createServer, request, type RequestListener, type ServerResponse } from "node:http"
import { createServer as createTlsServer } from "node:https"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { publicAddressChecks, publicAddressOfSettings } from "../../src/admin/PublicAddress.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { siteCertificate } from "../deploy/siteCertificate.ts"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"
import { TestApp } from "../support/TestApp.ts"
import { type SettingsOverrides, testConfig } from "../support/TestConfig.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

const checksOf = (overrides: SettingsOverrides) =>
  Effect.map(Effect.provideService(publicAddressChecks, AppConfig, testConfig(overrides)), (checks) =>
    checks.map(({ detail, status }) => `${status}: ${detail}`)
  )

const trusted = "127.0.0.2"

interface Behaviour {
  /** From where it connects to the service. */
  readonly from: string
  readonly headers: Readonly<Record<string, string>>
  /** True if the proxy waits for the whole answer. */
  readonly holds: boolean
}

const holding = (response: ServerResponse) => {
  const pieces: Array<Buffer> = []
  return { add: (piece: Buffer) => void pieces.push(piece), end: () => response.end(Buffer.concat(pieces)) }
}

const passing = (response: ServerResponse) => ({
  add: (piece: Buffer) => void response.write(piece),
  end: () => response.end()
})

/** A reverse proxy in front of the service, on a free port. */
const proxy = Effect.fnUntraced(function* (
  behaviour: Behaviour
): Effect.fn.Return<string, never, TestApp | Scope.Scope> {
  const { url } = yield* TestApp
  const pass: RequestListener = ({ method = "GET", url: path = "/" }, response) => {
    const { from, headers, holds } = behaviour
    request(new URL(path, url), { method, localAddress: from, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      if (!holds) response.flushHeaders()
      const { add, end } = (holds ? holding : passing)(response)
      answer.on("data", add).on("end", end)
    }).end()
  }
  return `http://127.0.0.1:${yield* serveOnLoopback(createServer(pass))}`
})

const right: Behaviour = { from: trusted, headers: { "x-forwarded-for": "192.0.2.7" }, holds: false }

layer(TestApp.layerOn(TestDatabase.layer, { console: { trustedProxies: [trusted] } }), {
  excludeTestServices: true
})("the check of the public address", (it) => {
  it.effect("the check of the public address finds buffering proxies, and wrong settings", () =>
    Effect.gen(function* () {
      const behaviours: Record<string, Behaviour> = {
        right,
        holding: { ...right, holds: true },
        unknown: { ...right, from: "127.0.0.1" },
        silent: { ...right, headers: {} }
      }
      const found = yield* Effect.all(
        Object.values(behaviours).map((behaviour) =>
          Effect.flatMap(proxy(behaviour), (publicUrl) => checksOf({ console: { publicUrl } }))
        ),
        { concurrency: "unbounded" }
      )
      const [of, held, unknown, silent] = found
      assert.lengthOf(of!, 1)
      assert.match(of![0]!, /^ok: http:\/\/127\.0\.0\.1:\d+ leads here, and events pass at once/)
      assert.lengthOf(held!, 1)
      assert.match(held![0]!, /^warning: .*holds events back.*Turn its buffering/)
      assert.lengthOf(unknown!, 1)
      assert.match(unknown![0]!, /^warning: .*PARLEY_TRUSTED_PROXIES doesn't name/)
      assert.lengthOf(silent!, 1)
      assert.match(silent![0]!, /^warning: .*doesn't say who its clients are.*X-Forwarded-For/)
    })
  )

  it.effect("the check of the public address fails where something else answers", () =>
    Effect.gen(function* () {
      const port = yield* serveOnLoopback(createServer((_, response) => response.writeHead(404).end("gone")))
      const found = yield* checksOf({ console: { publicUrl: `http://127.0.0.1:${port}` } })
      assert.lengthOf(found, 1)
      assert.match(found[0]!, /^failed: .*HTTP 404, and not as this service does.*strip/)
    })
  )

  it.effect("the check of the public address has a remedy for a certificate of an unknown authority", () =>
    Effect.gen(function* () {
      const port = yield* serveOnLoopback(createTlsServer(siteCertificate, (_, response) => response.end()))
      const [found] = yield* checksOf({ console: { publicUrl: `https://127.0.0.1:${port}` } })
      assert.match(found!, /^warning: The service can't reach itself.*SELF_SIGNED.*NODE_EXTRA_CA_CERTS/)
    })
  )

  it.effect("the check of the public address has a remedy for an unreachable address, and for no TLS", () =>
    Effect.gen(function* () {
      const [open, unreachable] = yield* checksOf({ console: { publicUrl: "http://parley.invalid" } })
      assert.match(open!, /^warning: PARLEY_PUBLIC_URL is .*without TLS.*end TLS/)
      assert.match(
        unreachable!,
        /^warning: .*can't reach itself at http:\/\/parley\.invalid: fetch failed: getaddrinfo \w+ .*DNS/
      )
    })
  )
})

describe("the check of the public address without a service", () => {
  const settingsOnly = (overrides: SettingsOverrides) =>
    Effect.map(Effect.provideService(publicAddressOfSettings, AppConfig, testConfig(overrides)), (checks) =>
      checks.map(({ status }) => status)
    )

  it.effect("the check of the public address warns of plain HTTP to other machines only", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* settingsOnly({}), ["ok"])
      assert.deepStrictEqual(yield* settingsOnly({ http: { host: "0.0.0.0" } }), ["warning"])
      const behindTls = { http: { host: "0.0.0.0" }, console: { publicUrl: "https://parley.example.com" } }
      assert.deepStrictEqual(yield* settingsOnly(behindTls), ["ok"])
      assert.deepStrictEqual(yield* settingsOnly({ console: { publicUrl: "http://parley.example.com" } }), [
        "warning"
      ])
      assert.deepStrictEqual(yield* settingsOnly({ console: { publicUrl: "http://localhost:3000" } }), ["ok"])
    })
  )
})
