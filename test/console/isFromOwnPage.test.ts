import { assert, describe, it } from "@effect/vitest"
import { Headers } from "effect/http"
import { isFromOwnPage } from "../../src/console/SessionAuthentication.ts"

const accepts = (
  method: string,
  headers: Readonly<Record<string, string>>,
  publicUrl: string | null = null
) => isFromOwnPage({ method, headers: Headers.fromInput(headers) }, publicUrl)

const host = "127.0.0.1:3000"
const origin = `http://${host}`

describe("isFromOwnPage", () => {
  it("isFromOwnPage accepts a change from a page of the same host, with or without TLS in front", () => {
    assert.isTrue(accepts("POST", { host, origin }))
    assert.isTrue(accepts("POST", { host: "localhost:3000", origin: "https://localhost:3000" }))
    assert.isTrue(accepts("DELETE", { host: "[::1]:3000", origin: "http://[::1]:3000" }))
    assert.isTrue(accepts("POST", { host: "parley:80", origin: "http://parley" }))
    assert.isTrue(accepts("POST", { host, "sec-fetch-site": "same-origin" }))
  })

  it("isFromOwnPage refuses a change that doesn't prove its origin", () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      assert.isFalse(accepts(method, { host }), method)
      assert.isFalse(accepts(method, { host, "sec-fetch-site": "none" }), method)
      assert.isFalse(accepts(method, { host, origin: "null" }), method)
      assert.isFalse(accepts(method, { host, origin: "" }), method)
    }
  })

  it("isFromOwnPage refuses every request that names another origin", () => {
    const others = [
      "http://evil.example",
      "http://127.0.0.1:3001",
      "http://127.0.0.1",
      "http://127.0.0.1:3000.evil.example",
      "http://evil.example/http://127.0.0.1:3000",
      "http://127.0.0.1:3000@evil.example",
      "file://",
      "not a url"
    ]
    for (const other of others) {
      assert.isFalse(accepts("POST", { host, origin: other }), other)
      assert.isFalse(accepts("GET", { host, origin: other }), other)
    }
    for (const site of ["cross-site", "same-site", "other"]) {
      assert.isFalse(accepts("POST", { host, origin, "sec-fetch-site": site }), site)
      assert.isFalse(accepts("GET", { host, "sec-fetch-site": site }), site)
    }
  })

  it("isFromOwnPage reads pages and data without an origin, as browsers do", () => {
    assert.isTrue(accepts("GET", { host }))
    assert.isTrue(accepts("GET", { host, "sec-fetch-site": "none" }))
    assert.isTrue(accepts("HEAD", { host, "sec-fetch-site": "same-origin" }))
  })

  it("isFromOwnPage refuses a name that anybody could point to this address, unless the settings name it", () => {
    for (const name of [
      "evil.example",
      "evil.example:3000",
      "127.0.0.1.evil.example",
      "",
      "a b",
      "localhost.evil.example"
    ]) {
      assert.isFalse(accepts("GET", { host: name }), name)
      assert.isFalse(accepts("POST", { host: name, origin: `http://${name}` }), name)
    }
    const publicUrl = "https://parley.example.com/chat"
    assert.isTrue(accepts("GET", { host: "parley.example.com" }, publicUrl))
    assert.isTrue(
      accepts("POST", { host: "parley.example.com", origin: "https://parley.example.com" }, publicUrl)
    )
  })

  it("isFromOwnPage accepts only the public address where the settings name one, whatever Host a proxy sends", () => {
    const publicUrl = "https://parley.example.com"
    assert.isTrue(accepts("POST", { host, origin: publicUrl }, publicUrl))
    assert.isFalse(accepts("POST", { host, origin }, publicUrl))
    assert.isFalse(accepts("POST", { host, origin: "http://parley.example.com" }, publicUrl))
    assert.isFalse(accepts("POST", { host, origin: "https://parley.example.com:8443" }, publicUrl))
    assert.isFalse(accepts("POST", { host, origin: "https://evil.parley.example.com" }, publicUrl))
  })
})
