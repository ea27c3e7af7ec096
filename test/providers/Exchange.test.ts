import type * as Undici from "@effect/platform-node/Undici"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Schema } from "effect"
import { ModelFailure } from "../../src/domain/Errors.ts"
import { type ModelPart, nothingSpent } from "../../src/domain/ModelCall.ts"
import { AnswerReader } from "../../src/providers/AnswerReader.ts"
import { Exchange } from "../../src/providers/Exchange.ts"
import { openAiChat } from "../../src/providers/OpenAiChat.ts"
import { frames, textOf } from "./ServerSetup.ts"

/** The origin of opaque values. */
const origin = "a server"

const nextTurn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
const turns = (count: number) => Effect.forEach(Array.from({ length: count }), () => nextTurn)
/** Turns that a part takes from the socket to a consumer that waits, and that consumer to wait again. */
const handOverTurns = 3

class Controller implements Undici.Dispatcher.DispatchController {
  aborted = false
  paused = false
  readonly reason = null
  abort(): void {
    this.aborted = true
  }
  pause(): void {
    this.paused = true
  }
  resume(): void {
    this.paused = false
  }
}

const text = (content: string) => frames({ choices: [{ delta: { content } }] })
const call = (name: string) =>
  frames({
    choices: [{ delta: { tool_calls: [{ index: 0, id: "1", function: { name, arguments: "{}" } }] } }]
  })
const finish = frames({ choices: [{ delta: {}, finish_reason: "stop" }] })
const usage = frames({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })

const opened = () => {
  const reader = new AnswerReader(openAiChat.makeDecode(), origin)
  const exchange = new Exchange(reader, {
    timeouts: { firstTokenSeconds: () => 20, idleSeconds: 10 },
    count: () => Effect.sync(() => reader.finishWith(nothingSpent)),
    giveUp: ({ _tag }) =>
      Effect.fail(new ModelFailure({ reason: "cut", detail: _tag, provider: "mock", model: "mock-model" }))
  })
  const controller = new Controller()
  exchange.onRequestStart(controller)
  exchange.onResponseStart(controller, 200, {})
  const read = (bytes: string | Buffer) => exchange.onResponseData(controller, Buffer.from(bytes))
  return { controller, exchange, read }
}

const Ending = Schema.Literals(["finish", "uncounted", "end", "cut", "error", "malformed"])
type Ending = typeof Ending.Type

const endings: Readonly<Record<Ending, string>> = {
  finish: `${finish}${usage}data: [DONE]\n\n`,
  uncounted: `${finish}data: [DONE]\n\n`,
  end: "",
  cut: "",
  error: frames({ error: { message: "It broke." } }),
  malformed: "data: {\n\n"
}

interface Script {
  /** The bytes of the answer, read by read. */
  readonly reads: ReadonlyArray<Buffer>
  readonly isCut: boolean
  /** Turns of the loop after each read, again and again. */
  readonly gaps: ReadonlyArray<number>
  /** Turns of the loop after each pull, again and again, in which the consumer doesn't wait. */
  readonly pauses: ReadonlyArray<number>
}

/** All parts in the order of their arrival, and how the answer ended. */
const played = Effect.fnUntraced(function* ({ gaps, isCut, pauses, reads }: Script) {
  const { controller, exchange, read } = opened()
  const parts: Array<ModelPart> = []
  let pulls = 0
  const consume = Effect.gen(function* () {
    yield* exchange.opened
    while (true) {
      parts.push(...(yield* exchange.pull))
      yield* turns(pauses[pulls++ % pauses.length] ?? 0)
    }
  })
  const consumer = yield* Effect.forkChild(consume, { startImmediately: true })
  for (const [index, bytes] of reads.entries()) {
    read(bytes)
    yield* turns(gaps[index % gaps.length] ?? 0)
  }
  if (isCut) exchange.onResponseError(controller, new Error("other side closed"))
  else exchange.onResponseEnd()
  const exit = yield* Fiber.await(consumer)
  const failure = Exit.isFailure(exit) ? Cause.squash(exit.cause) : null
  return {
    parts,
    end: failure instanceof ModelFailure ? failure.detail : Reflect.get(Object(failure), "_tag")
  }
})

const Event = Schema.Union([
  Schema.String.check(Schema.isMaxLength(20)),
  Schema.Literals(["日本", "😀", "\ud83d", "\ude00", "\u2028"]),
  Schema.Struct({ call: Schema.Literals(["calculator", "clock"]) }),
  Schema.Struct({ thought: Schema.String.check(Schema.isMaxLength(5)) })
])
const eventOf = (event: typeof Event.Type): string => {
  if (typeof event === "string") return text(event)
  return "call" in event
    ? call(event.call)
    : frames({ choices: [{ delta: { reasoning_content: event.thought } }] })
}

/** The bytes in pieces of these sizes, again and again. */
const cutUp = (bytes: Buffer, sizes: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const pieces: Array<Buffer> = []
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const end = at + (sizes[n % sizes.length] ?? bytes.length)
    pieces.push(bytes.subarray(at, end))
    at = end
  }
  return pieces
}

const listOf = <S extends Schema.Constraint>(item: S) =>
  Schema.Array(item).check(Schema.isMinLength(1), Schema.isMaxLength(6))

describe("Exchange", () => {
  it.live.prop(
    "an answer yields the same parts and the same end, however its bytes and its pulls come",
    [
      Schema.Array(Event).check(Schema.isMaxLength(12)),
      Ending,
      listOf(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 120 }))),
      listOf(Schema.Literals([0, 1, handOverTurns])),
      listOf(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })))
    ],
    ([events, ending, sizes, gaps, pauses]) =>
      Effect.gen(function* () {
        const body = Buffer.from(["first", ...events].map(eventOf).join("") + endings[ending])
        const isCut = ending === "cut"
        const plain = yield* played({ reads: [body], isCut, gaps: [0], pauses: [0] })
        const seen = yield* played({ reads: cutUp(body, sizes), isCut, gaps, pauses })
        assert.deepStrictEqual(seen.parts, plain.parts)
        assert.strictEqual(seen.end, plain.end)
      }),
    { arbitrary: { runs: 300 } }
  )

  it.live.each<{ readonly ending: Ending; readonly end: string }>([
    { ending: "finish", end: "Done" },
    { ending: "uncounted", end: "Done" },
    { ending: "end", end: "FinishMissing" },
    { ending: "cut", end: "ConnectionLost" },
    { ending: "error", end: "ErrorEvent" },
    { ending: "malformed", end: "AnswerMalformed" }
  ])("text is followed by the end of the answer: $ending", ({ end, ending }) =>
    Effect.gen(function* () {
      const reads = ["a", "b", "c"].map((one) => Buffer.from(text(one)))
      const seen = yield* played({
        reads: [...reads, Buffer.from(endings[ending])],
        isCut: ending === "cut",
        gaps: [handOverTurns],
        pauses: [0]
      })
      assert.strictEqual(textOf(seen.parts), "abc")
      assert.strictEqual(seen.end, end)
    })
  )

  it.live("text that came before the connection broke is pulled before the failure", () =>
    Effect.gen(function* () {
      const { controller, exchange, read } = opened()
      read(text("a"))
      yield* exchange.pull
      const waiting = yield* Effect.forkChild(exchange.pull, { startImmediately: true })
      read(text("b"))
      exchange.onResponseError(controller, new Error("other side closed"))
      assert.deepStrictEqual(yield* Fiber.join(waiting), [{ type: "text", text: "b" }])
      assert.deepInclude(yield* Effect.flip(exchange.pull), { detail: "ConnectionLost" })
    })
  )

  it.live("a server that falls silent after its text ends by a timeout", () =>
    Effect.gen(function* () {
      const { exchange, read } = opened()
      read(text("a"))
      yield* exchange.pull
      const waiting = yield* Effect.forkChild(Effect.flip(exchange.pull), { startImmediately: true })
      exchange.tick(10)
      assert.isUndefined(waiting.pollUnsafe(), "the text was a sign of life")
      exchange.tick(10)
      assert.deepInclude(yield* Fiber.join(waiting), { detail: "IdleTimeout" })
    })
  )

  it.live("an answer is read ahead of its consumer up to the bound", () =>
    Effect.gen(function* () {
      const { controller, exchange, read } = opened()
      const piece = text("x".repeat(16 * 1024))
      for (let n = 0; n < 3; n++) read(piece)
      assert.isFalse(controller.paused)
      read(piece)
      assert.isTrue(controller.paused)
      assert.lengthOf(yield* exchange.pull, 4)
      assert.isFalse(controller.paused)
    })
  )

  it.live("an answer is aborted with its consumer", () =>
    Effect.gen(function* () {
      const { controller, exchange, read } = opened()
      read(text("a"))
      yield* exchange.pull
      const waiting = yield* Effect.forkChild(exchange.pull, { startImmediately: true })
      yield* nextTurn
      yield* Fiber.interrupt(waiting)
      assert.isTrue(controller.aborted)
    })
  )
})
