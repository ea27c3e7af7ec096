import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { makeLogLines } from "../../src/telemetry/LogLines.ts"
import { makeLogOutput, type Sink, waitingCharactersMax } from "../../src/telemetry/LogOutput.ts"

/** A sink that takes as many bytes as it has room for, when it is told to. */
const makeSink = () => {
  const state = { written: "", room: Number.POSITIVE_INFINITY, last: "" }
  const held: Array<() => void> = []
  const sink: Sink = {
    write: (text, done) => {
      held.push(() => {
        const bytes = Buffer.from(text).subarray(0, state.room)
        state.written += bytes.toString()
        state.room -= bytes.length
        done(bytes.length, bytes.length === Buffer.byteLength(text))
      })
    },
    writeLast: (text) => void (state.last += text)
  }
  /** Ends the write that runs, and those that it lets begin. */
  const run = () => {
    for (let next = held.shift(); next !== undefined; next = held.shift()) next()
  }
  return { sink, state, run }
}

const lostText = (count: number) => `${count} lost`

describe("an output of lines", () => {
  it("an output of lines writes lines in their order, those that came during a write together", () => {
    const { run, sink, state } = makeSink()
    const output = makeLogOutput(sink)
    for (const line of ["a", "b", "c"]) output.write(line)
    run()
    output.write("d")
    run()
    assert.strictEqual(state.written, "a\nb\nc\nd\n")
    assert.strictEqual(output.lost(), 0)
  })

  it("an output of lines counts the lines that a full disk doesn't take, and reports them when it takes lines again", () => {
    const { run, sink, state } = makeSink()
    const output = makeLogOutput(sink)
    state.room = 4
    const write = (line: string) => {
      output.reportLost(lostText)
      output.write(line)
      run()
    }
    for (const line of ["one", "two", "three"]) write(line)
    assert.strictEqual(output.lost(), 2)
    state.room = Number.POSITIVE_INFINITY
    write("four")
    write("five")
    assert.strictEqual(state.written, "one\n2 lost\nfour\nfive\n")
    assert.strictEqual(output.lost(), 2)
  })

  it("an output of lines begins a new line after one that was cut", () => {
    const { run, sink, state } = makeSink()
    const output = makeLogOutput(sink)
    state.room = 8
    for (const line of ["één", "two", "three"]) output.write(line)
    run()
    state.room = 0
    output.write("none")
    run()
    state.room = Number.POSITIVE_INFINITY
    output.write("four")
    run()
    assert.strictEqual(state.written, "één\ntw\nfour\n")
    assert.strictEqual(output.lost(), 3)
  })

  it("an output of lines keeps a bounded number of characters while nobody reads, and loses further lines", () => {
    const { run, sink, state } = makeSink()
    const output = makeLogOutput(sink)
    const line = "x".repeat(1023)
    const fitting = waitingCharactersMax / 1024
    // The first one is being written.
    for (let n = 0; n < 1 + fitting + 10; n++) output.write(line)
    assert.strictEqual(output.lost(), 10)
    run()
    assert.strictEqual(state.written.length, (1 + fitting) * 1024)
  })

  it("an output of lines writes what waits when the process ends", () => {
    const { sink, state } = makeSink()
    const output = makeLogOutput(sink)
    for (const line of ["a", "b", "c"]) output.write(line)
    output.close()
    output.close()
    assert.strictEqual(state.last, "b\nc\n")
  })

  it.effect("an output of lines is idle when no line waits", () =>
    Effect.gen(function* () {
      const { run, sink } = makeSink()
      const output = makeLogOutput(sink)
      yield* output.idle
      output.write("a")
      const waiting = yield* Effect.forkChild(output.idle, { startImmediately: true })
      assert.isUndefined(waiting.pollUnsafe())
      run()
      assert.isDefined(waiting.pollUnsafe())
    })
  )

  for (const format of ["json", "pretty"] as const) {
    it.effect(`an output of lines reports lost lines in the form of the others (${format})`, () =>
      Effect.gen(function* () {
        const { run, sink, state } = makeSink()
        const log = Logger.layer([makeLogLines(makeLogOutput(sink), format)])
        yield* Effect.gen(function* () {
          state.room = 0
          yield* Effect.logInfo("one")
          run()
          state.room = Number.POSITIVE_INFINITY
          yield* Effect.logInfo("two")
          run()
        }).pipe(Effect.provide(log))
        const [report = "", line = ""] = state.written.split("\n")
        assert.match(report, /1 log line was lost here: the log could not be written/)
        assert.match(report, /WARN/)
        assert.match(line, /two/)
        if (format === "json") assert.deepStrictEqual(JSON.parse(report).annotations, { lines: 1 })
      })
    )
  }
})
