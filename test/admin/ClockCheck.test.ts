import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { clockDifference } from "../../src/admin/HttpProbe.ts"
import { clockOutcome, originsElsewhere } from "../../src/admin/OutsideChecks.ts"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"

const hourMillis = 3_600_000

/** A web server whose clock differs by so much, and what is found out. */
const seenOf = Effect.fnUntraced(function* (aheadMillis: number, headers: Record<string, string> = {}) {
  const server = createServer((_, response) =>
    response.writeHead(404, { date: new Date(Date.now() + aheadMillis).toUTCString(), ...headers }).end()
  )
  return yield* clockDifference(`http://127.0.0.1:${yield* serveOnLoopback(server)}`)
})

describe("the clock of a web server", () => {
  it.live("clockDifference compares in both directions, and by no fraction of a second", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* seenOf(0), 0)
      for (const ahead of [hourMillis, -hourMillis]) {
        assert.closeTo((yield* seenOf(ahead)) ?? 0, 3_600, 30)
      }
    })
  )

  it.live("clockDifference is unknown where a cache answers, or nothing does", () =>
    Effect.gen(function* () {
      assert.isNull(yield* seenOf(hourMillis, { age: "3600" }))
      assert.isNull(yield* clockDifference("http://127.0.0.1:9"))
    })
  )

  it("a clock is worth a warning with the remedy from six seconds on", () => {
    assert.strictEqual(clockOutcome(4.9, "the database's").status, "ok")
    const { detail, status } = clockOutcome(6, "the database's")
    assert.strictEqual(status, "warning")
    assert.match(detail, /differ by 6\.0 seconds.*NTP/)
  })

  it("a clock is asked for of other machines on the web alone", () => {
    const addresses = [
      "npm:@ai-sdk/google",
      "http://127.0.0.1:8000/v1",
      "https://a.example/v1",
      "https://a.example"
    ]
    assert.deepStrictEqual(originsElsewhere(addresses.map((address) => new URL(address))), [
      "https://a.example"
    ])
  })
})
