import { assert, describe, it } from "@effect/vitest"
import { Array as Arr, Cause, Effect, Exit, Predicate, Schema, Stream } from "effect"
import type { EventBody } from "../../src/api/ResponseEvent.ts"
import { makeDeadlines } from "../../src/domain/Deadlines.ts"
import type { CallOptions, ModelPart, ModelRequest } from "../../src/domain/ModelCall.ts"
import { costOf, newMeter } from "../../src/responses/Accounting.ts"
import { unlimited } from "../../src/responses/AnswerBound.ts"
import type { Attempt } from "../../src/responses/Attempt.ts"
import { ownCallsOnly } from "../../src/responses/CallRules.ts"
import { eventsOf } from "../../src/responses/EventStream.ts"
import { generate } from "../../src/responses/Generation.ts"
import { Outlet } from "../../src/responses/Outlet.ts"
import type { CheckOutput } from "../../src/responses/OutputCheck.ts"
import { attempt } from "./attempts.ts"
import { counter, start, usage } from "./eventScripts.ts"

type Batch = Arr.NonEmptyReadonlyArray<ModelPart>

/** What a model's server sends in each round, read by read. */
type Rounds = ReadonlyArray<ReadonlyArray<Batch>>

const text = (value: string): ModelPart => ({ type: "text", text: value })
const call = (name: string): ModelPart => ({ type: "tool_call", call: { id: "1", name, arguments: "{}" } })
const finish = (reason: "stop" | "length" | "tool_calls", outputTokens = 1): ModelPart => ({
  type: "finish",
  reason,
  usage: { ...usage, outputTokens }
})

/** Gives text past the stream where it is taken, as the model servers do: only while more is pulled. */
const sending = (reads: ReadonlyArray<Batch>, { bypass }: CallOptions) => {
  const left = [...reads]
  const pull: Effect.Effect<Batch, Cause.Done<void>> = Effect.suspend(() => {
    while (true) {
      const next = left.shift()
      if (next === undefined) return Cause.done()
      const isText = next.every(({ type }) => type === "text")
      if (!isText || bypass?.take?.(next) !== true) return Effect.succeed(next)
    }
  })
  return Stream.fromPull(Effect.succeed(pull))
}

interface Setting {
  readonly rounds: Rounds
  readonly maxOutputTokens: number
  /** How the text is checked: not at all, at the end, or before any of it is shown. */
  readonly check: "none" | "shown" | "withheld"
}

const evenOnly: CheckOutput = (value) => Effect.succeed(value.length % 2 === 0 ? null : "It is odd.")

const attemptOf = ({ check, maxOutputTokens, rounds }: Setting): Attempt => {
  const base = attempt("a", Stream.empty)
  let asked = 0
  return {
    ...base,
    model: { ...base.model, contextWindow: 10_000, tools: true, structuredOutput: check === "shown" },
    request: {
      messages: [{ role: "user", text: "Hi" }],
      maxOutputTokens,
      tools: [{ name: "clock", description: "tells the time", parameters: {} }]
    },
    stream: (_request: ModelRequest, options: CallOptions) =>
      sending(rounds[asked++] ?? [[text("End."), finish("stop")]], options)
  }
}

/** All events in their order, those that went to the outlet, and what is known at the end. */
const played = Effect.fnUntraced(function* (setting: Setting, isReady: (() => boolean) | null) {
  const only = attemptOf(setting)
  const meter = newMeter(only.model)
  const nextItemId = counter()
  const generation = yield* generate({
    attempts: [only],
    deadline: yield* makeDeadlines(15_000),
    runTool: ({ name }) => Effect.succeed({ output: name, error: null }),
    rules: ownCallsOnly,
    check: setting.check === "none" ? null : evenOnly,
    nextItemId,
    meter,
    budget: unlimited
  })
  const all: Array<EventBody> = []
  const shown: Array<EventBody> = []
  let outputs = 0
  const outlet = new Outlet<EventBody>()
  if (isReady !== null) {
    const show = (events: ReadonlyArray<EventBody>) => {
      all.push(...events)
      shown.push(...events)
    }
    outlet.leadTo({ isReady, show })
  }
  const events = eventsOf({
    start,
    generation,
    search: null,
    store: () => Effect.void,
    meter,
    onOutput: Effect.sync(() => void outputs++),
    nextItemId,
    outlet
  })
  const exit = yield* Effect.exit(
    Stream.runForEachArray(events, (batch) => Effect.sync(() => void all.push(...batch)))
  )
  const failure = Exit.isFailure(exit) ? Cause.squash(exit.cause) : null
  return {
    shown,
    end: {
      events: all,
      failure: Predicate.hasProperty(failure, "_tag") ? failure._tag : failure,
      outputs,
      cost: yield* costOf(meter),
      written: meter.text(),
      outcome: meter.outcome,
      roundText: generation.roundText()
    }
  }
}, Effect.scoped)

const deltasOf = (events: ReadonlyArray<EventBody>) =>
  events.flatMap((event) => (event.type === "response.output_text.delta" ? [event.delta] : []))

const always = () => true

/** Again and again. */
const following = (pattern: ReadonlyArray<boolean>) => {
  let asked = 0
  return () => pattern[asked++ % pattern.length] ?? true
}

const Text = Schema.Union([
  Schema.String.check(Schema.isMaxLength(12)),
  Schema.Literals(["", "word ", "日本", "😀", "a\ud83d", "\ude00b", "\0", "\u2028"])
])
const Read = Schema.Array(Text).check(Schema.isMinLength(1), Schema.isMaxLength(4))
const Round = Schema.Struct({
  reads: Schema.Array(Read).check(Schema.isMaxLength(8)),
  calls: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 })),
  outputTokens: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })),
  ending: Schema.Literals(["finish", "finish", "length", "nothing"]),
  isTogether: Schema.Boolean
})

/** The reads of one round; its end comes with the last text or apart from it. */
const readsOf = ({ calls, ending, isTogether, outputTokens, reads }: typeof Round.Type) => {
  const texts = reads.flatMap((read): ReadonlyArray<Batch> => {
    const parts = read.map(text)
    return Arr.isReadonlyArrayNonEmpty(parts) ? [parts] : []
  })
  // Before any output it would be no answer that fails, but a request.
  if (ending === "nothing") return Arr.prepend(texts, Arr.of(text("first")))
  const reason = ending === "length" ? "length" : calls > 0 ? "tool_calls" : "stop"
  const called = Array.from({ length: calls }, () => call("clock"))
  const ended: Batch = Arr.append(called, finish(reason, outputTokens))
  const last = texts.at(-1)
  return isTogether && last !== undefined
    ? [...texts.slice(0, -1), Arr.appendAll(last, ended)]
    : [...texts, ended]
}

describe("an outlet", () => {
  it.effect.prop(
    "shows, together with the stream and in order, the very events that the stream has without it",
    [
      Schema.Array(Round).check(Schema.isMaxLength(4)),
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 80 })),
      Schema.Literals(["none", "none", "shown", "withheld"]),
      Schema.Array(Schema.Boolean).check(Schema.isMinLength(1), Schema.isMaxLength(5))
    ],
    ([script, maxOutputTokens, check, pattern]) =>
      Effect.gen(function* () {
        const setting: Setting = { rounds: script.map(readsOf), maxOutputTokens, check }
        const plain = yield* played(setting, null)
        for (const isReady of [always, following(pattern)]) {
          const seen = yield* played(setting, isReady)
          assert.deepStrictEqual(seen.end, plain.end)
          if (check === "withheld") assert.lengthOf(seen.shown, 0)
        }
      }),
    { arbitrary: { runs: 300 } }
  )

  it.effect("is shown all text that comes while the stream is waited for, in every round", () =>
    Effect.gen(function* () {
      const rounds: Rounds = [
        [[text("a")], [text("b"), text("c")], [text("d")], [call("clock"), finish("tool_calls")]],
        [[text("e")], [text("f")], [text("g"), finish("stop")]]
      ]
      const { end, shown } = yield* played({ rounds, maxOutputTokens: 100, check: "none" }, always)
      assert.deepStrictEqual(deltasOf(shown), ["b", "c", "d", "f"])
      assert.deepStrictEqual(deltasOf(end.events), ["a", "b", "c", "d", "e", "f", "g"])
    })
  )

  it.effect("is shown nothing of a text that is checked before it is shown", () =>
    Effect.gen(function* () {
      const rounds: Rounds = [[[text("go")], [text("o")], [text("d")], [finish("stop")]]]
      const { end, shown } = yield* played({ rounds, maxOutputTokens: 100, check: "withheld" }, always)
      assert.lengthOf(shown, 0)
      assert.deepStrictEqual(deltasOf(end.events), ["good"])
    })
  )

  it.effect("is shown no more than an answer may have", () =>
    Effect.gen(function* () {
      const words: ReadonlyArray<Batch> = Array.from({ length: 100 }, () => [text("word ")])
      const { end, shown } = yield* played({ rounds: [words], maxOutputTokens: 10, check: "none" }, always)
      assert.strictEqual(deltasOf(end.events).join(""), "word ".repeat(9))
      assert.isNotEmpty(shown)
      const last = end.events.at(-1)
      assert.deepStrictEqual(last?.type === "response.completed" && last.response.incomplete_details, {
        reason: "max_output_tokens"
      })
    })
  )

  it.effect("joins a surrogate pair that was cut between what it is shown and what the stream has", () =>
    Effect.gen(function* () {
      const rounds: Rounds = [[[text("a\ud83d")], [text("\ude00b\ud83d")], [text("\ude00"), finish("stop")]]]
      const { end, shown } = yield* played({ rounds, maxOutputTokens: 100, check: "none" }, always)
      assert.deepStrictEqual(deltasOf(end.events), ["a", "😀b", "😀"])
      assert.deepStrictEqual(deltasOf(shown), ["😀b"])
    })
  )
})
