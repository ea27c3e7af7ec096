import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Ref, Schedule, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { foldMessage, messageEventsIn } from "../anthropic/messageEvents.ts"
import { failure, finish, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { assertGrammar } from "../support/StreamGrammar.ts"
import { TestApp } from "../support/TestApp.ts"
import { until } from "../support/until.ts"
import { call, errorOf, eventsOf, openCall, responseOf } from "../support/Wire.ts"

const usageRows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`SELECT model, input_tokens, output_tokens, source, outcome FROM usage_records ORDER BY created_at`
})

const turnCount = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return (yield* sql`SELECT 1 FROM turns`).length
})

/** Reads a streaming body until the text so far satisfies the condition. */
const readUntil = (reader: ReadableStreamDefaultReader<Uint8Array>, met: (text: string) => boolean) =>
  Effect.promise(async () => {
    const decoder = new TextDecoder()
    let seen = ""
    while (!met(seen)) {
      const { done, value } = await reader.read()
      if (done) break
      seen += decoder.decode(value, { stream: true })
    }
    return seen
  })

const settings = { stream: { beginSeconds: 0.2, keepaliveSeconds: 0.1 } }

layer(TestApp.layer(settings), { excludeTestServices: true })("a stream", (it) => {
  it.effect("a stream begins at the first output", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      const gate = yield* Deferred.make<void>()
      yield* model.next(
        Stream.concat(
          Stream.make(text("first")),
          Stream.fromEffect(Effect.as(Deferred.await(gate), finish()))
        )
      )
      const response = yield* openCall(`${app.url}/v1/responses`, {
        key: app.alice.key,
        body: { input: "Hi" }
      })
      const reader = response.body!.getReader()
      const start = yield* readUntil(reader, (seen) => seen.includes('"delta":"first"'))
      assert.include(start, "response.created")
      yield* Deferred.succeed(gate, undefined)
      const rest = yield* readUntil(reader, (seen) => seen.includes("response.completed"))
      assertGrammar(eventsOf(start + rest))
    })
  )

  it.effect("a stream of a silent model has keepalive comments, and ends with an error event", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      const gate = yield* Deferred.make<never, ReturnType<typeof failure>>()
      yield* model.next(Stream.fromEffect(Deferred.await(gate)))
      const response = yield* openCall(`${app.url}/v1/responses`, {
        key: app.alice.key,
        body: { input: "Hi" }
      })
      assert.strictEqual(response.status, 200)
      const reader = response.body!.getReader()
      const start = yield* readUntil(reader, (seen) => seen.split(": keepalive\n\n").length > 3)
      assert.isTrue(start.startsWith("event: message\ndata: "))
      yield* Deferred.fail(gate, failure("first_token_timeout"))
      const rest = yield* readUntil(
        reader,
        (seen) => seen.endsWith("\n\n") && seen.includes('"type":"error"')
      )
      const { last } = assertGrammar(eventsOf(start + rest))
      assert.strictEqual(last.type, "error")
      assert.strictEqual((yield* model.asked).length, 2, "no second model is asked once the stream has begun")
    })
  )

  it.effect("a stream for clients of Anthropic has pings while the model's thinking is hidden", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      const gate = yield* Deferred.make<void>()
      const thought = Stream.fromSchedule(Schedule.spaced("20 millis")).pipe(
        Stream.map(() => ({ type: "reasoning_text" as const, text: "hm " })),
        Stream.interruptWhen(Deferred.await(gate))
      )
      yield* model.next(Stream.concat(thought, Stream.make(text("Done."), finish())))
      const response = yield* openCall(`${app.url}/anthropic/v1/messages`, {
        key: app.alice.key,
        body: { stream: true, max_tokens: 9, messages: [{ role: "user", content: "Hi" }] }
      })
      const reader = response.body!.getReader()
      const ping = 'event: ping\ndata: {"type":"ping"}\n\n'
      const start = yield* readUntil(reader, (seen) => seen.split(ping).length > 3)
      assert.isTrue(start.startsWith("event: message_start\n"))
      yield* Deferred.succeed(gate, undefined)
      const rest = yield* readUntil(reader, (seen) => seen.includes("message_stop"))
      const { isWhole, message } = foldMessage(messageEventsIn(start + rest))
      assert.isTrue(isWhole)
      assert.deepStrictEqual(message.content, [{ type: "text", text: "Done.", citations: null }])
    })
  )

  it.effect("a slow JSON answer does not time out", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(
        Stream.concat(
          // Longer than a response takes that doesn't wait for the model.
          Stream.fromEffect(Effect.as(Effect.sleep("500 millis"), text("late"))),
          Stream.make(finish())
        )
      )
      const reply = yield* call(`${app.url}/v1/responses`, {
        key: app.alice.key,
        body: { input: "Hi", stream: false }
      })
      assert.strictEqual(responseOf(reply).output_text, "late")
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("a disconnect of the client", (it) => {
  it.effect.each([true, false])("a disconnect ends the model's stream and stores no turn (%s)", (stream) =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      const turns = yield* turnCount
      // The record of an earlier request may still be on its way.
      const abandoned = Effect.map(usageRows, (all) => all.filter((row) => row["outcome"] === "abandoned"))
      const rows = (yield* abandoned).length
      const ended = yield* model.ended
      const asked = (yield* model.asked).length
      const pulled = yield* Ref.make(0)
      yield* model.change({ contextWindow: 200_000_000, maxOutputTokens: 100_000_000 })
      const endless = Stream.fromEffectRepeat(
        Ref.update(pulled, (n) => n + 1).pipe(
          // A pace at which the stream is pulled while the test runs.
          Effect.andThen(Effect.sleep("1 millis")),
          Effect.as(text("word "))
        )
      )
      yield* model.next(endless)
      const request = yield* Effect.forkChild(
        call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input: "Hi", stream } })
      )
      yield* until(Effect.map(model.asked, (calls) => calls.length > asked))
      yield* until(Effect.map(Ref.get(pulled), (n) => n > 20))
      yield* Fiber.interrupt(request)
      yield* until(Effect.map(model.ended, (n) => n > ended))
      yield* until(Effect.map(abandoned, (all) => all.length > rows))
      const spent = (yield* abandoned).at(-1)!
      assert.deepInclude(spent, { model: "scripted-1", source: "tokenizer" })
      assert.isAbove(Number(Reflect.get(spent, "outputTokens")), 0)
      assert.strictEqual(yield* turnCount, turns)
      // The conversation is free again: the next request of the same user isn't kept waiting.
      yield* model.next(says("next"))
      const reply = yield* call(`${app.url}/v1/responses`, {
        key: app.alice.key,
        body: { input: "Hi", stream: false }
      })
      assert.strictEqual(responseOf(reply).output_text, "next")
    })
  )

  it.effect("a disconnect releases the conversation at once", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("ok"))
      const first = responseOf(
        yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body: { input: "Hi", stream: false } })
      )
      const body = { input: "again", stream: false, conversation_id: first.conversation_id }
      const asked = (yield* model.asked).length
      yield* model.next(Stream.never)
      const request = yield* Effect.forkChild(call(`${app.url}/v1/responses`, { key: app.alice.key, body }))
      yield* until(Effect.map(model.asked, (calls) => calls.length > asked))
      yield* Fiber.interrupt(request)
      yield* model.next(says("second"))
      const reply = yield* call(`${app.url}/v1/responses`, { key: app.alice.key, body })
      assert.strictEqual(responseOf(reply).output_text, "second")
      const messages = (yield* model.asked).at(-1)!.request.messages
      assert.deepStrictEqual(
        messages.map((message) => message.text),
        ["Hi", "ok", "again"],
        "the abandoned turn is not in the history"
      )
    })
  )
})

layer(TestApp.layer(), { excludeTestServices: true })("turns of one conversation", (it) => {
  it.effect("the turns of one conversation run one at a time, and each sees those before it", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(says("0"))
      const post = (body: object) =>
        Effect.map(
          call(`${app.url}/v1/responses`, { key: app.alice.key, body: { stream: false, ...body } }),
          responseOf
        )
      const { conversation_id } = yield* post({ input: "start" })
      const open = yield* Ref.make(0)
      const most = yield* Ref.make(0)
      const answer = (value: string) =>
        Stream.unwrap(
          Effect.gen(function* () {
            const now = yield* Ref.updateAndGet(open, (n) => n + 1)
            yield* Ref.update(most, (n) => Math.max(n, now))
            // Long enough for another turn to begin meanwhile, if one could.
            yield* Effect.sleep("10 millis")
            return says(value).pipe(Stream.onExit(() => Ref.update(open, (n) => n - 1)))
          })
        )
      yield* model.next(...["1", "2", "3", "4", "5"].map(answer))
      yield* Effect.forEach([1, 2, 3, 4, 5], (n) => post({ input: `turn ${n}`, conversation_id }), {
        concurrency: 5
      })
      assert.strictEqual(yield* Ref.get(most), 1)
      const lengths = (yield* model.asked).slice(-5).map(({ request }) => request.messages.length)
      assert.deepStrictEqual(lengths, [3, 5, 7, 9, 11])
    })
  )
})

layer(TestApp.layer({ conversations: { turnWaitSeconds: 0.2 } }), { excludeTestServices: true })(
  "a conversation that is busy",
  (it) => {
    it.effect("a busy conversation answers 503 after the longest wait", () =>
      Effect.gen(function* () {
        const app = yield* TestApp
        const model = yield* ScriptedModel
        yield* model.next(says("0"))
        const options = (body: object) => ({
          key: app.alice.key,
          body: { stream: false, input: "Hi", ...body }
        })
        const { conversation_id } = responseOf(yield* call(`${app.url}/v1/responses`, options({})))
        const asked = (yield* model.asked).length
        yield* model.next(Stream.never)
        const holder = yield* Effect.forkChild(call(`${app.url}/v1/responses`, options({ conversation_id })))
        yield* until(Effect.map(model.asked, (calls) => calls.length > asked))
        const reply = yield* call(`${app.url}/v1/responses`, options({ conversation_id }))
        assert.strictEqual(errorOf(reply, 503).code, "conversation_busy")
        assert.isTrue(Option.isSome(Option.fromNullishOr(reply.headers.get("retry-after"))))
        yield* Fiber.interrupt(holder)
      })
    )
  }
)
