import { createServer } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Loader, loadOf } from "../../scripts/bench/load.ts"

const event = (type: string, number: number, rest = ""): string =>
  `event: message\ndata: {"type":"${type}","sequence_number":${number}${rest}}\n\n`
const delta = (number: number): string => event("response.output_text.delta", number, ',"delta":" é"')
const whole = [event("response.created", 0), delta(1), delta(2), event("response.completed", 3)]

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const head = (status: string, type: string): string => `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\n`
const stream = (events: ReadonlyArray<string>): string =>
  `${head("200 OK", "text/event-stream")}Transfer-Encoding: chunked\r\n\r\n${events.map(chunk).join("")}${chunk("")}`
const document = (body: string): string =>
  `${head("200 OK", "application/json")}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

/** A server that answers each request with these bytes, in pieces of that size. */
const answering = (answer: string, pieceBytes: number) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly key: null; readonly port: number; readonly close: () => void }>((resume) => {
      const bytes = Buffer.from(answer)
      const server = createServer({ noDelay: true }, (socket) => {
        socket.on("error", () => {})
        socket.on("data", () => {
          const send = (at: number): void => {
            if (at >= bytes.length || socket.destroyed) return
            socket.write(bytes.subarray(at, at + pieceBytes), () => setImmediate(send, at + pieceBytes))
          }
          send(0)
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : assert.fail("no port")
        resume(Effect.succeed({ key: null, port, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const run = (answer: string, { pieceBytes = 1_000, isStream = true, total = 1 } = {}) =>
  Effect.gen(function* () {
    const server = yield* answering(answer, pieceBytes)
    const load = loadOf(server, { tokens: 2 }, isStream)
    return yield* Effect.tryPromise({
      try: () => new Loader().run(load, 1, total),
      catch: (error) => (error instanceof Error ? error.message : String(error))
    })
  }).pipe(Effect.scoped)

describe("The load generator of the benchmark", () => {
  it.live("the load generator counts whole streams and their deltas, wherever their bytes are cut", () =>
    Effect.gen(function* () {
      for (const pieceBytes of [1, 2, 3, 7, 50, 1_000]) {
        const { deltas, whole: answers } = yield* run(stream(whole), { pieceBytes, total: 2 })
        assert.deepStrictEqual({ answers, deltas }, { answers: 2, deltas: 4 })
      }
      const counts = yield* run(stream([": a comment\n\n", whole.join("")]))
      assert.deepStrictEqual([counts.whole, counts.deltas], [1, 2])
    })
  )

  it.live("the load generator counts a JSON answer that is completed and has text", () =>
    Effect.gen(function* () {
      const answer = document('{"status":"completed","output_text":"é"}')
      const { whole: answers } = yield* run(answer, { isStream: false, pieceBytes: 3 })
      assert.strictEqual(answers, 1)
      const empty = document('{"status":"completed","output_text":""}')
      const problem = yield* Effect.flip(run(empty, { isStream: false }))
      assert.strictEqual(problem, "1 × not a completed response (0 were whole)")
    })
  )

  const [created = "", first = "", second = "", completed = ""] = whole
  for (const [answer, problem] of [
    [stream([created, first, completed]), "event 2 has another number"],
    [stream([created, first, event("response.completed", 2)]), "1 deltas in place of 2"],
    [stream([created, first, second]), "ended with no terminal event"],
    [stream([created, first, second, event("response.failed", 3)]), "ended with response.failed"],
    [stream([...whole, delta(4)]), "response.output_text.delta after response.completed"],
    [stream([delta(0)]), "event 0 is response.output_text.delta"],
    [stream([...whole, "event: message\ndata: {"]), "ended within a frame"],
    [`${head("503 No", "application/json")}Content-Length: 2\r\n\r\n{}`, "http/1.1 503: {}"],
    [document("{}"), "not text/event-stream"]
  ] as const) {
    it.live(`the load generator fails for a stream with the problem: ${problem}`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* Effect.flip(run(answer)), `1 × ${problem} (0 were whole)`)
      })
    )
  }
})
