import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { ModelFailure } from "../../src/domain/Errors.ts"
import { protocolNames, type ProtocolName } from "../../src/providers/ModelServer.ts"
import { makeUpstream } from "../../src/providers/Upstream.ts"
import { makeMockModelServer, type MockBehaviour, mockDirective } from "../support/MockModelServer.ts"
import { until } from "../support/until.ts"
import {
  callOnce,
  frames,
  model,
  timeouts,
  rawServer,
  request,
  secretKey,
  serverAt,
  setUpFor,
  textOf,
  untilFailure
} from "./ServerSetup.ts"

const errorBody = (error: Readonly<Record<string, string>>) => JSON.stringify({ error })

describe.each(protocolNames)("%s, faults", (protocol) => {
  it.effect.each<readonly [MockBehaviour, ModelFailure["reason"], number | undefined, string]>([
    [{ status: 401 }, "unauthorized", 401, ""],
    [{ status: 403 }, "unauthorized", 403, ""],
    [{ status: 402 }, "misconfigured", 402, ""],
    [{ status: 404 }, "misconfigured", 404, ""],
    [{ status: 400 }, "bad_request", 400, ""],
    [{ status: 413 }, "bad_request", 413, ""],
    [{ status: 422 }, "bad_request", 422, ""],
    [{ status: 408 }, "server_error", 408, ""],
    [{ status: 308 }, "misconfigured", 308, ""],
    [{ status: 400, errorBody: errorBody({ code: "content_filter" }) }, "content_refused", 400, ""],
    [
      { status: 403, errorBody: errorBody({ message: "Your input was flagged" }) },
      "content_refused",
      403,
      ""
    ],
    [
      { status: 400, errorBody: errorBody({ message: "x is not a valid model ID" }) },
      "misconfigured",
      400,
      ""
    ],
    [{ status: 429, errorBody: errorBody({ type: "insufficient_quota" }) }, "misconfigured", 429, ""],
    [{ status: 429 }, "rate_limited", 429, ""],
    [{ status: 500 }, "server_error", 500, ""],
    [{ status: 503, errorBody: "<html>no</html>" }, "server_error", 503, ""],
    [{ status: 529, errorBody: "" }, "server_error", 529, ""],
    [{ cutAt: "headers" }, "refused", undefined, ""],
    [{ cutAt: 0 }, "cut", undefined, ""],
    [{ cutAt: 2 }, "cut", undefined, "Hello, "],
    [{ cutAt: 2, headers: { connection: "close" } }, "cut", undefined, "Hello, "],
    [{ malformedAt: 2 }, "malformed", undefined, "Hello, "],
    [{ errorAt: 2 }, "in_stream", undefined, "Hello, "],
    [{ errorAt: 0 }, "in_stream", undefined, ""],
    [{ finish: null }, "no_finish", undefined, "Hello, world."],
    [{ raw: [] }, "no_finish", undefined, ""],
    [{ raw: ["<html>hello</html>"] }, "no_finish", undefined, ""],
    [{ raw: [`{"error":{"message":"no"}}`] }, "in_stream", undefined, ""],
    [{ raw: ["{"] }, "malformed", undefined, ""],
    [{ headers: { "content-encoding": "gzip" } }, "malformed", undefined, ""]
  ])("an answer with %j fails as %s", ([behaviour, reason, status, before]) =>
    Effect.gen(function* () {
      const { call } = yield* setUpFor(protocol)
      const { failure, parts } = yield* untilFailure(call(request(mockDirective(behaviour))))
      assert.strictEqual(failure.reason, reason)
      assert.strictEqual(failure.status, status)
      assert.strictEqual(textOf(parts), before)
      assert.strictEqual(failure.provider, "mock")
      assert.strictEqual(failure.model, "mock-model")
      assert.isAtMost(failure.detail.length, 200)
      assert.isAbove(failure.detail.length, 0)
    })
  )

  it.effect("a call of a port without a listener fails as refused", () =>
    Effect.gen(function* () {
      const url = yield* Effect.scoped(Effect.map(makeMockModelServer, (server) => server.url))
      const upstream = yield* makeUpstream(timeouts)
      const call = (yield* callOnce(upstream, serverAt(url, protocol)))(model)
      const failure = yield* Effect.flip(Stream.runDrain(call(request("hi"))))
      assert.strictEqual(failure.reason, "refused")
      assert.include(failure.detail, "ECONNREFUSED")
    })
  )

  it.effect("a server that doesn't speak HTTP fails the call as malformed", () =>
    Effect.gen(function* () {
      const url = yield* rawServer((socket) => socket.on("data", () => socket.end("220 smtp ready\r\n")))
      const upstream = yield* makeUpstream(timeouts)
      const call = (yield* callOnce(upstream, serverAt(url, protocol)))(model)
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(call(request("hi"))))).reason, "malformed")
    })
  )

  it.effect("an unknown host name and a key that can't be a header are failures", () =>
    Effect.gen(function* () {
      const upstream = yield* makeUpstream(timeouts)
      const lost = (yield* callOnce(upstream, serverAt("http://nowhere.invalid/v1", protocol)))(model)
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(lost(request("hi"))))).reason, "refused")
      const odd = { ...serverAt("http://127.0.0.1:9/v1", protocol), key: Redacted.make("a\nb") }
      const failure = yield* Effect.flip(
        Stream.runDrain((yield* callOnce(upstream, odd))(model)(request("hi")))
      )
      assert.strictEqual(failure.reason, "misconfigured")
    })
  )

  it.effect("a kept-alive connection that the server has closed costs no request", () =>
    Effect.gen(function* () {
      let answers = 0
      const body = wholeAnswer[protocol]
      const url = yield* rawServer((socket) => {
        let served = 0
        socket.on("data", () => {
          // The second request on a connection finds it closing.
          if (++served > 1) socket.end()
          else {
            answers++
            socket.write(
              `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${body.length}\r\n\r\n${body}`
            )
          }
        })
      })
      const upstream = yield* makeUpstream(timeouts)
      const call = (yield* callOnce(upstream, serverAt(url, protocol)))(model)
      for (let round = 0; round < 3; round++) {
        assert.strictEqual(textOf(yield* Stream.runCollect(call(request("hi")))), "a")
      }
      assert.strictEqual(answers, 3)
    })
  )

  it.effect.each([
    [{ "retry-after": "7" }, 7],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after-ms": "1500", "retry-after": "9" }, 1.5],
    [{ "retry-after": new Date(90_000).toUTCString() }, 90],
    [{ "retry-after": "soon" }, undefined],
    [{}, undefined]
  ] as const)("a failure keeps the wait that was asked for: %j", ([headers, seconds]) =>
    Effect.gen(function* () {
      // The test clock stands at the epoch.
      const { ask } = yield* setUpFor(protocol)
      const failure = yield* Effect.flip(ask({ status: 429, headers }))
      assert.strictEqual(failure.retryAfterSeconds, seconds)
    })
  )

  it.effect("a failure has the status and the code, and nothing of what the server said", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUpFor(protocol)
      const say = (error: Readonly<Record<string, unknown>>, status = 400) =>
        Effect.gen(function* () {
          yield* server.script({ status, errorBody: JSON.stringify({ error }) })
          return (yield* Effect.flip(Stream.runDrain(call(request("my very secret question"))))).detail
        })
      const message = "Can't answer 'my very secret question'"
      assert.strictEqual(yield* say({ message, code: "some_code" }), "HTTP 400 some_code")
      assert.strictEqual(yield* say({ message, type: "some_type" }, 503), "HTTP 503 some_type")
      assert.strictEqual(yield* say({ message, code: "the secret answer is long" }), "HTTP 400")
      assert.strictEqual(yield* say({ message: `Bad key ${secretKey}`, code: 401 }, 401), "HTTP 401 401")
    })
  )

  it.effect("a failure has nothing of what an error in the stream says in its own words", () =>
    Effect.gen(function* () {
      const { ask } = yield* setUpFor(protocol)
      const event = {
        type: "error",
        error: { message: "so far I said: secret", type: "overloaded_error" }
      }
      const failure = yield* Effect.flip(ask({ raw: [`data: ${JSON.stringify(event)}\n\n`] }))
      assert.strictEqual(failure.reason, "in_stream")
      assert.strictEqual(failure.detail, "an error in the stream overloaded_error")
    })
  )

  it.effect("an endless body of an error is not read to its end", () =>
    Effect.gen(function* () {
      const { ask, server } = yield* setUpFor(protocol)
      const failure = yield* Effect.flip(ask({ status: 500, errorBody: "x".repeat(10_000_000) }))
      assert.strictEqual(failure.reason, "server_error")
      assert.strictEqual(yield* (yield* server.request(0)).ended, "aborted")
    })
  )
})

describe.each(protocolNames)("%s, silence", (protocol) => {
  it.effect.each<MockBehaviour>([{ hangAt: "headers" }, { hangAt: 0 }])(
    "a call times out before the first token: %j",
    (behaviour) =>
      Effect.gen(function* () {
        const { ask, server } = yield* setUpFor(protocol)
        const fiber = yield* Effect.forkChild(Effect.flip(ask(behaviour)))
        const received = yield* server.request(0)
        yield* TestClock.adjust("19 seconds")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual((yield* Fiber.join(fiber)).reason, "first_token_timeout")
        assert.strictEqual(yield* received.ended, "aborted")
      })
  )

  it.effect("silence between two tokens ends in an idle timeout", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUpFor(protocol)
      const begun = yield* Deferred.make<void>()
      const stream = call(request(mockDirective({ hangAt: 2 }))).pipe(
        Stream.tap(() => Deferred.succeed(begun, undefined))
      )
      const fiber = yield* Effect.forkChild(untilFailure(stream))
      yield* Deferred.await(begun)
      yield* TestClock.adjust("11 seconds")
      const { failure, parts } = yield* Fiber.join(fiber)
      assert.strictEqual(failure.reason, "idle_timeout")
      assert.strictEqual(textOf(parts), "Hello, ")
      assert.strictEqual(yield* (yield* server.request(0)).ended, "aborted")
    })
  )

  it.effect("comments alone end in a timeout", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUpFor(protocol)
      const raw = Array.from({ length: 10_000 }, () => ": still here\n\n")
      const fiber = yield* Effect.forkChild(
        Effect.flip(Stream.runDrain(call(request(mockDirective({ raw, gapMillis: 5 })))))
      )
      const received = yield* server.request(0)
      yield* until(Effect.sync(() => received.sentBytes() > 50))
      yield* TestClock.adjust("21 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).reason, "first_token_timeout")
    })
  )
})

describe.each(protocolNames)("%s, the consumer", (protocol) => {
  it.live("the consumer cancels the upstream request at once when it is interrupted", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUpFor(protocol)
      const begun = yield* Deferred.make<void>()
      const endless = call(request(mockDirective({ endless: true, gapMillis: 5 }))).pipe(
        Stream.tap(() => Deferred.succeed(begun, undefined))
      )
      const silent = call(request(mockDirective({ hangAt: "headers" })))
      const fibers = [
        yield* Effect.forkChild(Stream.runDrain(endless)),
        yield* Effect.forkChild(Stream.runDrain(silent))
      ]
      const received = [yield* server.request(0), yield* server.request(1)]
      yield* Deferred.await(begun)
      yield* Fiber.interruptAll(fibers)
      const ends = yield* Effect.all(received.map((one) => one.ended)).pipe(Effect.timeout("60 seconds"))
      assert.deepStrictEqual(ends, ["aborted", "aborted"])
    })
  )

  it.live("the consumer cancels the upstream request when it needs no more", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUpFor(protocol)
      const taken = yield* call(request(mockDirective({ endless: true }))).pipe(
        Stream.take(3),
        Stream.runCollect
      )
      assert.strictEqual(taken.length, 3)
      const received = yield* server.request(0)
      assert.strictEqual(yield* received.ended.pipe(Effect.timeout("60 seconds")), "aborted")
    })
  )

  it.live("the consumer holds the server back while it doesn't pull", () =>
    Effect.gen(function* () {
      const { call, server } = yield* setUpFor(protocol)
      const resume = yield* Deferred.make<void>()
      const enough = 40_000_000
      let bytes = 0
      const slow = call(request(mockDirective({ endless: true, deltas: ["x".repeat(10_000)] }))).pipe(
        Stream.tap((part) => {
          bytes += part.type === "text" ? part.text.length : 0
          return Deferred.await(resume)
        }),
        Stream.takeWhile(() => bytes < enough)
      )
      const fiber = yield* Effect.forkChild(Stream.runDrain(slow))
      const received = yield* server.request(0)
      // The server stops when the buffers of both sides are full: it waits for the drain of its socket.
      const sent = yield* settled(received.sentBytes)
      assert.isBelow(sent, enough / 2)
      yield* Deferred.succeed(resume, undefined)
      yield* Fiber.join(fiber)
      assert.isAtLeast(received.sentBytes(), enough)
    })
  )

  it.effect("the consumer can close its scope in the middle without a failure", () =>
    Effect.gen(function* () {
      const { call } = yield* setUpFor(protocol)
      const exit = yield* Effect.exit(Stream.runHead(call(request(mockDirective({ endless: true })))))
      assert.isTrue(Exit.isSuccess(exit))
    })
  )
})

/** The answer "a" in one write. */
const wholeAnswer: Readonly<Record<ProtocolName, string>> = {
  "openai-chat": frames({ choices: [{ delta: { content: "a" }, finish_reason: "stop" }] }),
  "openai-responses": frames(
    { type: "response.output_text.delta", delta: "a" },
    { type: "response.completed", response: { status: "completed" } }
  ),
  anthropic: frames(
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } },
    { type: "message_delta", delta: { stop_reason: "end_turn" } }
  )
}

/** A number as soon as it has stopped growing for a while: no condition tells that nothing more is sent. */
const settled = (read: () => number): Effect.Effect<number> =>
  Effect.gen(function* () {
    let last = -1
    while (last !== read() || last === 0) {
      last = read()
      yield* Effect.sleep("100 millis")
    }
    return last
  })
