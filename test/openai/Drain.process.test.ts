import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ProfileEvent } from "../../src/api/openai/ResponseEvents.ts"
import { installationLayer, makeInstallation } from "../support/Installation.ts"
import { until, untilValue } from "../support/until.ts"
import { call } from "../support/Wire.ts"
import { connect } from "./connection.ts"
import { begin, ended, eventsAfter, key, show } from "./jobCalls.ts"
import { assertProfileGrammar } from "./ProfileGrammar.ts"

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(ProfileEvent))

/** Source: RFC 6455, section 7.4.1. */
const goingAway = 1001

const installation = (graceSeconds: number, drainSeconds = 0) =>
  makeInstallation({
    PARLEY_INIT_API_KEY: key,
    PARLEY_DRAIN_SECONDS: String(drainSeconds),
    PARLEY_SHUTDOWN_GRACE_SECONDS: String(graceSeconds)
  })

/** A grace that outlasts these tests: nothing may wait for its end. */
const longSeconds = 600
/** A drain that outlasts them, too. */
const longDrainSeconds = 300

const message = { type: "response.create", input: "Hi" }
const endless = { deltas: ["word "], endless: true, gapMillis: 20 }
/** Long enough to be signaled in its middle. */
const words = Array.from({ length: 30 }, (_, n) => `${n} `)

layer(installationLayer, { excludeTestServices: true })("SIGTERM", (it) => {
  it.effect("SIGTERM lets the answer of a WebSocket finish, and then closes every connection", () =>
    Effect.gen(function* () {
      const { start, upstream } = yield* installation(longSeconds)
      const service = yield* start
      yield* upstream.usually(() => ({ deltas: words, gapMillis: 50 }))
      const idle = yield* connect(service.address, key)
      const busy = yield* connect(service.address, key)
      busy.send(message)
      yield* until(Effect.sync(() => busy.received.length > 5))
      yield* service.signal("SIGTERM")
      assert.strictEqual(yield* idle.closed, goingAway)
      assert.strictEqual(yield* busy.closed, goingAway)
      const { whole } = assertProfileGrammar(busy.received.map((one) => decode(one)))
      assert.deepStrictEqual([whole?.status, whole?.output_text], ["completed", words.join("")])
      assert.deepStrictEqual(idle.received, [])
      assert.strictEqual(yield* service.exit, 0)
    })
  )

  it.effect("SIGTERM ends the answer of a WebSocket by an error after the grace, and then closes it", () =>
    Effect.gen(function* () {
      const { start, upstream } = yield* installation(1)
      const service = yield* start
      yield* upstream.usually(() => endless)
      const busy = yield* connect(service.address, key)
      busy.send(message)
      yield* until(Effect.sync(() => busy.received.length > 5))
      yield* service.signal("SIGTERM")
      assert.strictEqual(yield* busy.closed, goingAway)
      const { whole } = assertProfileGrammar(busy.received.map((one) => decode(one)))
      assert.deepStrictEqual([whole?.status, whole?.error?.code], ["failed", "server_shutting_down"])
      assert.strictEqual(yield* (yield* upstream.request(0)).ended, "aborted")
      assert.strictEqual(yield* service.exit, 0)
    })
  )

  it.effect("SIGTERM lets WebSockets and background responses in for the time of the drain", () =>
    Effect.gen(function* () {
      const { start, upstream } = yield* installation(longSeconds, longDrainSeconds)
      const service = yield* start
      yield* upstream.usually(() => ({ deltas: ["Hello"] }))
      yield* service.signal("SIGTERM")
      yield* untilValue(call(`${service.address}/readyz`, {}), ({ status }) => status === 503)
      const socket = yield* connect(service.address, key)
      socket.send(message)
      yield* socket.last(1)
      const { whole } = assertProfileGrammar(socket.received.map((one) => decode(one)))
      assert.deepStrictEqual([whole?.status, whole?.output_text], ["completed", "Hello"])
      const id = yield* begin(service.address)
      assert.strictEqual((yield* ended(service.address, id)).output_text, "Hello")
    })
  )

  it.effect("SIGTERM closes the port to new WebSockets after the drain, while one goes on", () =>
    Effect.gen(function* () {
      const { start, upstream } = yield* installation(longSeconds)
      const service = yield* start
      yield* upstream.usually(() => endless)
      const busy = yield* connect(service.address, key)
      busy.send(message)
      yield* until(Effect.sync(() => busy.received.length > 5))
      yield* service.signal("SIGTERM")
      yield* untilValue(connect(service.address, key), ({ state }) => state === "refused")
      const before = busy.received.length
      yield* until(Effect.sync(() => busy.received.length > before))
      busy.socket.close()
      assert.strictEqual(yield* service.exit, 0)
    })
  )

  it.effect("SIGTERM lets a background response finish within the grace, and then ends the process", () =>
    Effect.gen(function* () {
      const { start, upstream } = yield* installation(longSeconds)
      const one = yield* start
      yield* upstream.usually(() => ({ deltas: words, gapMillis: 50 }))
      const id = yield* begin(one.address)
      yield* upstream.request(0)
      yield* one.signal("SIGTERM")
      assert.strictEqual(yield* one.exit, 0)
      const other = yield* start
      // It had ended when its process did: nothing is left for the other one to do.
      const response = yield* show(other.address, id)
      assert.deepStrictEqual([response.status, response.output_text], ["completed", words.join("")])
      assert.lengthOf(upstream.requests, 1)
    })
  )

  it.effect(
    "SIGTERM fails a background response that is still being written after the grace, which says so",
    () =>
      Effect.gen(function* () {
        const { start, upstream } = yield* installation(1)
        const one = yield* start
        yield* upstream.usually(() => endless)
        const id = yield* begin(one.address)
        yield* untilValue(show(one.address, id), ({ output_text: text }) => text.includes("word"))
        yield* one.signal("SIGTERM")
        assert.strictEqual(yield* one.exit, 0)
        const other = yield* start
        const response = yield* show(other.address, id)
        assert.deepStrictEqual([response.status, response.error?.code], ["failed", "server_shutting_down"])
        assert.include(response.output_text, "word")
        const { whole } = assertProfileGrammar(yield* eventsAfter(other.address, id, null))
        assert.strictEqual(whole?.status, "failed")
        assert.lengthOf(upstream.requests, 1)
      })
  )

  it.effect("SIGTERM leaves what waits in the queue to other processes", () =>
    Effect.gen(function* () {
      const { start, upstream } = yield* installation(1)
      const one = yield* start
      yield* upstream.usually(() => ({ hangAt: "headers" }))
      // One user has eight under way at once.
      const ids = yield* Effect.forEach(Array.from({ length: 10 }), () => begin(one.address), {
        concurrency: "unbounded"
      })
      yield* upstream.request(7)
      yield* one.signal("SIGTERM")
      assert.strictEqual(yield* one.exit, 0)
      assert.lengthOf(upstream.requests, 8)
      yield* upstream.usually(() => ({ deltas: ["Hello"] }))
      const other = yield* start
      for (const id of ids) assert.strictEqual((yield* ended(other.address, id)).output_text, "Hello")
    })
  )
})
