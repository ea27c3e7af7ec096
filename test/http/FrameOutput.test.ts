import { createServer, type ServerResponse } from "node:http"
import { NodeHttpServer } from "@effect/platform-node"
import { toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Schema, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { makeFrameOutput } from "../../src/http/FrameOutput.ts"
import { openRaw, type RawClient } from "../support/RawClient.ts"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"
import { until } from "../support/until.ts"

type Output = ReturnType<typeof makeFrameOutput>

interface Written {
  readonly output: Output
  readonly response: ServerResponse
  readonly path: string
}

/** A server whose responses are written by `write`. */
const serving = Effect.fnUntraced(function* (write: (written: Written) => Effect.Effect<void>) {
  const app = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const response = toServerResponse(request) as ServerResponse
    const output = makeFrameOutput(request, yield* Clock.Clock)
    const body = Stream.fromEffectDrain(Effect.suspend(() => write({ output, response, path: request.url })))
    return HttpServerResponse.stream(body, { contentType: "text/event-stream" })
  })
  const handler = yield* NodeHttpServer.makeHandler(app, { scope: yield* Effect.scope })
  return `http://127.0.0.1:${yield* serveOnLoopback(createServer(handler))}`
})

const get = (path: string, ...fields: ReadonlyArray<string>) =>
  [`GET ${path} HTTP/1.1`, "host: x", ...fields, "", ""].join("\r\n")
const lastGet = (path: string) => get(path, "connection: close")

/** A stream that the test writes by itself, and the client that it is written to. */
const opened = Effect.fnUntraced(function* (options: { readonly reading: boolean }) {
  const began = yield* Deferred.make<Written>()
  const ended = yield* Deferred.make<void>()
  const url = yield* serving((written) =>
    Effect.andThen(Deferred.succeed(began, written), Deferred.await(ended))
  )
  const client = yield* openRaw(url, options)
  yield* client.send(lastGet("/"))
  return { ...(yield* Deferred.await(began)), client, end: Deferred.succeed(ended, undefined) }
})

/** The chunks of the body that begins the text, each of which must be as many bytes as it says, and what follows it. */
const dechunked = (text: string) => {
  const bytes = Buffer.from(text)
  const chunks: Array<string> = []
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf("\r\n", at)
    const line = bytes.toString("latin1", at, lineEnd)
    assert.match(line, /^[0-9a-f]+$/)
    const start = lineEnd + 2
    const end = start + Number.parseInt(line, 16)
    assert.strictEqual(bytes.toString("latin1", end, end + 2), "\r\n", "a chunk is as long as it says")
    at = end + 2
    if (end === start) return { chunks, rest: bytes.toString("utf8", at) }
    chunks.push(bytes.toString("utf8", start, end))
  }
}

/** The head and the chunks of the first response on a connection, and what follows it. */
const parted = (bytes: string) => {
  const end = bytes.indexOf("\r\n\r\n")
  return { head: bytes.slice(0, end).toLowerCase(), ...dechunked(bytes.slice(end + 4)) }
}

/** More than a socket takes before it asks to wait. */
const longText = "long 日本 ".repeat(16 * 1024)
/** More than the buffers of the system hold between two sockets. */
const tooMuch = "x".repeat(32 * 1024 * 1024)

const Text = Schema.Union([
  Schema.String,
  Schema.Literals(["", "é", "日本", "😀", "\u2028", "\ud800", "0\r\n\r\n", longText])
])
const Texts = Schema.Array(Text).check(Schema.isMaxLength(8))
const frameOf = (text: string) => `data: ${text}\n\n`
const PerTurn = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 }))

const nextTurn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

/** Writes frames, so many in a turn of the loop, and waits where the client isn't ready for more. */
const pushAll = Effect.fnUntraced(function* (output: Output, frames: ReadonlyArray<string>, perTurn: number) {
  for (const [index, frame] of frames.entries()) {
    if (!output.push(frame)) yield* output.drained
    if ((index + 1) % perTurn === 0) yield* nextTurn
  }
})

/** Writes until the system takes no more, which is before the client is taken for blocked; the answer is how many frames. */
const pushUntilQueued = (output: Output, { socket }: ServerResponse): number => {
  const frame = frameOf("x".repeat(1024))
  for (let pushed = 1; pushed * frame.length < tooMuch.length; pushed++) {
    output.push(frame)
    if (socket !== null && socket.writableLength > 0) return pushed
  }
  throw new Error("The buffers between two sockets hold more than was expected.")
}

/** Everything that comes from now on, for a client that didn't read so far. */
const readAgain = ({ socket }: RawClient): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const pieces: Array<Buffer> = []
    socket.on("data", (bytes: Buffer) => pieces.push(bytes))
    socket.on("end", () => resume(Effect.succeed(Buffer.concat(pieces).toString("utf8"))))
  })

const drainListeners = ({ response }: Written) =>
  response.listenerCount("drain") + (response.socket?.listenerCount("drain") ?? 0)

describe("FrameOutput", () => {
  it.live.prop(
    "a client gets exactly the frames, each as a chunk that says its length in bytes",
    [Texts, PerTurn],
    ([texts, perTurn]) =>
      Effect.gen(function* () {
        const frames = texts.map(frameOf)
        const url = yield* serving(({ output }) => pushAll(output, frames, perTurn))
        const client = yield* openRaw(url)
        yield* client.send(lastGet("/"))
        const { chunks, head, rest } = parted(yield* client.whole)
        assert.include(head, "transfer-encoding: chunked")
        assert.strictEqual(rest, "")
        assert.deepStrictEqual(
          chunks,
          frames.map((frame) => frame.toWellFormed())
        )
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 40 } }
  )

  it.live.prop(
    "a client of HTTP/1.0 gets the same frames without chunks",
    [Texts, PerTurn],
    ([texts, perTurn]) =>
      Effect.gen(function* () {
        const frames = texts.map(frameOf)
        const url = yield* serving(({ output }) => pushAll(output, frames, perTurn))
        const client = yield* openRaw(url)
        yield* client.send("GET / HTTP/1.0\r\n\r\n")
        const whole = yield* client.whole
        const end = whole.indexOf("\r\n\r\n")
        assert.notInclude(whole.slice(0, end).toLowerCase(), "transfer-encoding")
        assert.strictEqual(whole.slice(end + 4), frames.join("").toWellFormed())
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 20 } }
  )

  it.live("the first frames come together with the headers", () =>
    Effect.gen(function* () {
      const { client, end, output } = yield* opened({ reading: false })
      const first = yield* Effect.forkChild(
        Effect.callback<string>((resume) => {
          client.socket.once("data", (bytes) => resume(Effect.succeed(bytes.toString())))
        }),
        { startImmediately: true }
      )
      output.push("data: a\n\ndata: b\n\n")
      const seen = yield* Fiber.join(first)
      assert.match(seen, /^HTTP\/1\.1 200 OK\r\n/)
      assert.isTrue(seen.endsWith("\r\n\r\n12\r\ndata: a\n\ndata: b\n\n\r\n"))
      yield* end
    })
  )

  it.live(
    "frames that follow the first at once take them along, and don't wait for what the turn does next",
    () =>
      Effect.gen(function* () {
        const { client, end, output, response } = yield* opened({ reading: true })
        const held = () => response.socket?.writableLength ?? 0
        output.push("data: a\n\n")
        assert.isAbove(held(), 0)
        output.push("data: b\n\n")
        assert.strictEqual(held(), 0)
        yield* end
        assert.deepStrictEqual(parted(yield* client.whole).chunks, ["data: a\n\n", "data: b\n\n"])
      })
  )

  it.live.each([
    { what: "frames", before: [frameOf("a")] },
    { what: "nothing", before: [] }
  ])("the last frames leave with the end of the body, after $what", ({ before }) =>
    Effect.gen(function* () {
      const held = yield* Deferred.make<number>()
      const url = yield* serving(
        Effect.fnUntraced(function* ({ output, response }) {
          yield* pushAll(output, before, 1)
          for (const last of [frameOf("z"), "data: [DONE]\n\n"]) output.push(last, true)
          yield* Deferred.succeed(held, response.socket?.writableLength ?? 0)
        })
      )
      const client = yield* openRaw(url)
      yield* client.send(lastGet("/"))
      const { chunks, rest } = parted(yield* client.whole)
      assert.deepStrictEqual(chunks, [...before, frameOf("z"), "data: [DONE]\n\n"])
      assert.strictEqual(rest, "")
      assert.isAtLeast(yield* Deferred.await(held), `${frameOf("z")}data: [DONE]\n\n`.length)
    })
  )

  it.live("nothing to write writes nothing, and the stream goes on", () =>
    Effect.gen(function* () {
      const { client, end, output } = yield* opened({ reading: true })
      for (const frames of ["", "data: a\n\n", "", "data: b\n\n", ""]) assert.isTrue(output.push(frames))
      yield* end
      assert.deepStrictEqual(parted(yield* client.whole).chunks, ["data: a\n\n", "data: b\n\n"])
    })
  )

  it.live(
    "a stream that begins before an earlier response on its connection has ended comes whole after it",
    () =>
      Effect.gen(function* () {
        const secondBegan = yield* Deferred.make<void>()
        const frames = ["a", longText, "b", longText, "c"].map(frameOf)
        const url = yield* serving(({ output, path, response }) =>
          Effect.gen(function* () {
            if (path === "/first") {
              yield* pushAll(output, ["1", "2"].map(frameOf), 1)
              yield* Deferred.await(secondBegan)
              return yield* pushAll(output, [longText, "3"].map(frameOf), 1)
            }
            assert.isNull(response.socket, "the connection still belongs to the first response")
            assert.isTrue(output.push(frameOf("0")))
            assert.isFalse(output.push(frameOf(longText)))
            assert.isTrue(output.isBlocked())
            yield* Deferred.succeed(secondBegan, undefined)
            yield* output.drained
            yield* pushAll(output, frames, 1)
          })
        )
        const client = yield* openRaw(url)
        yield* client.send(get("/first") + lastGet("/second"))
        const first = parted(yield* client.whole)
        assert.deepStrictEqual(first.chunks, ["1", "2", longText, "3"].map(frameOf))
        const second = parted(first.rest)
        assert.deepStrictEqual(second.chunks, [frameOf("0"), frameOf(longText), ...frames])
        assert.strictEqual(second.rest, "")
      })
  )

  it.live.each([
    { what: "the first frames", before: [] },
    { what: "later frames", before: ["data: a\n\n"] }
  ])("a client that doesn't read $what blocks, and gets all of them when it reads again", ({ before }) =>
    Effect.gen(function* () {
      const written = yield* opened({ reading: false })
      const { client, end, output } = written
      for (const frames of before) assert.isTrue(output.push(frames))
      assert.isFalse(output.isBlocked())
      yield* output.drained
      assert.isFalse(output.push(tooMuch))
      assert.isTrue(output.isBlocked())
      assert.isFalse(output.push("data: b\n\n"))

      const listeners = drainListeners(written)
      const interrupted = yield* Effect.forkChild(output.drained, { startImmediately: true })
      assert.strictEqual(drainListeners(written), listeners + 1)
      yield* Fiber.interrupt(interrupted)
      assert.strictEqual(drainListeners(written), listeners)

      const waiting = yield* Effect.forkChild(output.drained, { startImmediately: true })
      const reading = yield* Effect.forkChild(readAgain(client), { startImmediately: true })
      yield* Fiber.join(waiting)
      assert.isFalse(output.isBlocked())
      assert.strictEqual(drainListeners(written), listeners)
      assert.isTrue(output.push("data: c\n\n"))
      yield* end
      const { chunks } = parted(yield* Fiber.join(reading))
      assert.deepStrictEqual(
        chunks.map((chunk) => chunk.length),
        [...before, tooMuch, "data: b\n\n", "data: c\n\n"].map((frames) => frames.length)
      )
    })
  )

  it.effect(
    "a comment follows each silence after the first frames, except to a client that doesn't read",
    () =>
      Effect.gen(function* () {
        const { client, end, output } = yield* opened({ reading: false })
        const silent = (seconds: number) =>
          Effect.map(TestClock.adjust(`${seconds} seconds`), () => output.keepAlive(10_000))
        yield* silent(30)
        output.push("data: a\n\n")
        yield* silent(9)
        yield* silent(1)
        yield* silent(9)
        output.push("data: b\n\n")
        yield* silent(9)
        yield* silent(1)
        yield* until(Effect.sync(() => !output.isBlocked()))
        output.push(tooMuch)
        yield* silent(60)
        const reading = yield* Effect.forkChild(readAgain(client), { startImmediately: true })
        yield* output.drained
        output.push("data: c\n\n")
        yield* end
        const { chunks } = parted(yield* Fiber.join(reading))
        assert.deepStrictEqual(
          chunks.map((chunk) => (chunk === tooMuch ? "too much" : chunk)),
          ["data: a\n\n", ": keepalive\n\n", "data: b\n\n", ": keepalive\n\n", "too much", "data: c\n\n"]
        )
      })
  )

  it.effect("no comment follows the end of a stream whose last bytes are still on their way", () =>
    Effect.gen(function* () {
      const { client, end, output, response } = yield* opened({ reading: false })
      output.push(frameOf("first"))
      yield* nextTurn
      const pushed = pushUntilQueued(output, response)
      assert.isFalse(output.isBlocked())
      yield* end
      yield* until(Effect.sync(() => response.writableEnded))
      yield* TestClock.adjust("60 seconds")
      output.keepAlive(10_000)
      assert.isFalse(response.writableFinished)
      const { chunks, rest } = parted(yield* readAgain(client))
      assert.strictEqual(chunks.length, 1 + pushed)
      assert.strictEqual(rest, "")
    })
  )

  it.live("a client that has closed its side of the connection gets all that was written before", () =>
    Effect.gen(function* () {
      const { client, output, response } = yield* opened({ reading: false })
      assert.isTrue(output.push("data: a\n\n"))
      assert.isFalse(output.push(tooMuch))
      client.socket.end()
      yield* until(Effect.sync(() => response.socket?.writable === false))
      assert.isFalse(output.push(longText))
      const whole = yield* readAgain(client)
      assert.strictEqual(whole.length - whole.indexOf(tooMuch), tooMuch.length + 2)
    })
  )
})
