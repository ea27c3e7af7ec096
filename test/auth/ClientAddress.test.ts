import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { Headers } from "effect/http"
import { ClientAddress, networkOf } from "../../src/auth/ClientAddress.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { testConfig } from "../support/TestConfig.ts"

const found = (
  peer: string,
  headers: Record<string, string>,
  trustedProxies: ReadonlyArray<string> = ["10.0.0.0/8", "2001:db8::1"],
  publicUrl: string | null = null
) =>
  Effect.map(ClientAddress, (addresses) =>
    addresses.of({ headers: Headers.fromInput(headers), remoteAddress: Option.some(peer) })
  ).pipe(
    Effect.provide(ClientAddress.layer),
    Effect.provide(Layer.succeed(AppConfig, testConfig({ console: { trustedProxies, publicUrl } })))
  )

describe("the address of a client", () => {
  for (const [what, peer, forwarded, address] of [
    [
      "is the peer's, whatever a peer that is no trusted proxy says",
      "192.0.2.1",
      "198.51.100.1",
      "192.0.2.1"
    ],
    ["is what a trusted proxy says", "10.0.0.1", "198.51.100.1", "198.51.100.1"],
    [
      "is the last one that no trusted proxy has",
      "::ffff:10.0.0.1",
      "203.0.113.1, 198.51.100.1, 10.0.0.2",
      "198.51.100.1"
    ],
    ["has no port", "2001:db8::1", "198.51.100.1:4711", "198.51.100.1"],
    ["has no brackets", "10.0.0.1", "[2001:db8::2]:4711", "2001:db8::2"],
    ["is unknown where the proxy says nothing that is one", "10.0.0.1", "unknown", null],
    ["is the proxy's where it forwards for no one", "10.0.0.1", "", "10.0.0.1"]
  ] as const) {
    it.effect(what, () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* found(peer, { "x-forwarded-for": forwarded })).address, address)
      })
    )
  }

  it.effect("networkOf returns the network of 64 bits of an IPv6 address, and an IPv4 address as it is", () =>
    Effect.sync(() => {
      assert.strictEqual(networkOf("2001:db8:1:2:3:4:5:6"), networkOf("2001:db8:1:2::1"))
      assert.notStrictEqual(networkOf("2001:db8:1:2::1"), networkOf("2001:db8:1:3::1"))
      assert.strictEqual(networkOf("::ffff:192.0.2.1"), "192.0.2.1")
      assert.strictEqual(networkOf(null), "unknown")
    })
  )
})

describe("a request", () => {
  it.effect("a request is secure if the public address is, or if a trusted proxy says so", () =>
    Effect.gen(function* () {
      const https = { "x-forwarded-proto": "https" }
      assert.isTrue((yield* found("10.0.0.1", https)).isSecure)
      assert.isFalse((yield* found("192.0.2.1", https)).isSecure)
      assert.isFalse((yield* found("10.0.0.1", { "x-forwarded-proto": "https, http" })).isSecure)
      assert.isTrue((yield* found("192.0.2.1", {}, [], "https://parley.example.com")).isSecure)
    })
  )
})
