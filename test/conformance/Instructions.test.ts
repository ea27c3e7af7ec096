import { assert, layer } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { connect } from "../openai/connection.ts"
import { failure, says, ScriptedModel, text } from "../support/ScriptedModel.ts"
import { assertGrammar } from "../support/StreamGrammar.ts"
import { TestApp } from "../support/TestApp.ts"
import { untilValue } from "../support/until.ts"
import { call, eventsOf } from "../support/Wire.ts"

const decodeIds = Schema.decodeUnknownSync(
  Schema.fromJsonString(
    Schema.Struct({
      id: Schema.String,
      conversation_id: Schema.optionalKey(Schema.String),
      status: Schema.optionalKey(Schema.String),
      instructions: Schema.optionalKey(Schema.NullOr(Schema.String))
    })
  )
)

const request = Effect.fnUntraced(function* (path: string, body?: object) {
  const app = yield* TestApp
  const reply = yield* call(`${app.url}${path}`, {
    key: app.alice.key,
    ...(body === undefined ? {} : { method: "POST", body })
  })
  assert.strictEqual(reply.status, 200, reply.text)
  return decodeIds(reply.text)
})

/** The system messages of the call before the last `back` calls. */
const askedSystem = Effect.fnUntraced(function* (back = 0) {
  const model = yield* ScriptedModel
  const { messages } = (yield* model.asked).at(-1 - back)!.request
  return messages.flatMap((message) => (message.role === "system" ? [message.text] : []))
})

interface Sent {
  readonly instructions?: string
  readonly [field: string]: unknown
}

const answered = Effect.fnUntraced(function* (path: string, fields: object) {
  const model = yield* ScriptedModel
  yield* model.next(says("ok"))
  return yield* request(path, { input: "x", stream: false, ...fields })
})

/**
 * Sends turns of one conversation one after the other: each with the fields on the left, and with the system
 * message on the right.
 */
const turns = Effect.fnUntraced(function* (
  path: string,
  named: object,
  expected: ReadonlyArray<readonly [Sent, string | null]>
) {
  for (const [fields, system] of expected) {
    yield* answered(path, { ...named, ...fields })
    assert.deepStrictEqual(yield* askedSystem(), system === null ? [] : [system], JSON.stringify(fields))
  }
})

const keptBy = (id: string) =>
  Effect.map(request(`/v1/conversations/${id}`), ({ instructions }) => instructions ?? null)

const own = "/v1/responses"
const profile = "/openai/v1/responses"
const one = { instructions: "I1" }
const two = { instructions: "I2" }

const created = (items: ReadonlyArray<object> = []) =>
  Effect.map(request("/openai/v1/conversations", { items }), ({ id }) => id.replace("conv_", ""))

const systemItem = { role: "system", content: "S0" }

/** Wire contract, section 4b. */
layer(TestApp.layer(), { excludeTestServices: true })("instructions", (it) => {
  it.effect("the first turn's instructions are kept, and stand once in the prompt when sent again", () =>
    Effect.gen(function* () {
      const { conversation_id } = yield* answered(own, one)
      assert.deepStrictEqual(yield* askedSystem(), ["I1"])
      const named = { conversation_id }
      yield* turns(own, named, [
        [one, "I1"],
        [two, "I2"],
        [{}, "I1"],
        [{ instructions: "" }, "I1"],
        [
          {
            input: [
              { role: "system", content: "I1" },
              { role: "user", content: "x" }
            ]
          },
          "I1"
        ],
        [
          {
            input: [
              { role: "system", content: "D" },
              { role: "user", content: "x" }
            ]
          },
          "I1\n\nD"
        ],
        [{ ...two, store: false }, "I2"],
        [{}, "I1"]
      ])
      assert.strictEqual(yield* keptBy(conversation_id!), "I1")
    })
  )

  it.effect.each(["conversation", "conversation_id"])(
    "the first turn's instructions are kept by a conversation that was created empty, named by %s",
    (name) =>
      Effect.gen(function* () {
        const id = yield* created()
        yield* turns(own, { [name]: id }, [
          [one, "I1"],
          [{}, "I1"],
          [two, "I2"],
          [{}, "I1"]
        ])
      })
  )

  it.effect("instructions never erase the system message that a conversation was created with", () =>
    Effect.gen(function* () {
      const id = yield* created([systemItem])
      yield* turns(own, { conversation_id: id }, [
        [one, "I1"],
        [{}, "S0"],
        [two, "I2"],
        [{}, "S0"]
      ])
      assert.strictEqual(yield* keptBy(id), "S0")
      const other = yield* created([systemItem])
      yield* turns(profile, { conversation: `conv_${other}` }, [
        [one, "I1"],
        [{}, "S0"]
      ])
      assert.strictEqual(yield* keptBy(other), "S0")
    })
  )

  it.effect("instructions hold for one turn in a conversation that has items, and no turn, of a client", () =>
    Effect.gen(function* () {
      const id = yield* created([{ role: "user", content: "My name is Ada." }])
      yield* turns(own, { conversation_id: id }, [
        [one, "I1"],
        [{}, null]
      ])
    })
  )

  it.effect("instructions hold for one turn if the first turn had none", () =>
    Effect.gen(function* () {
      const { conversation_id } = yield* answered(own, { instructions: "" })
      yield* turns(own, { conversation_id }, [
        [one, "I1"],
        [{}, null]
      ])
    })
  )

  it.effect("the instructions of a failed first turn are kept, and the next ones for their turn", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      yield* model.next(Stream.concat(Stream.make(text("half")), Stream.fail(failure("cut"))))
      const failed = yield* call(`${app.url}${own}`, { key: app.alice.key, body: { input: "lost", ...one } })
      const { conversation_id } = assertGrammar(eventsOf(failed.text)).created
      yield* turns(own, { conversation_id }, [
        [two, "I2"],
        [{}, "I1"]
      ])
    })
  )

  it.effect("the instructions of the first of two concurrent turns are kept", () =>
    Effect.gen(function* () {
      const id = yield* created()
      const send = (fields: object) => answered(own, { conversation_id: id, ...fields })
      yield* Effect.all([send(one), send(two)], { concurrency: "unbounded" })
      const [first, second] = [yield* askedSystem(1), yield* askedSystem()]
      assert.deepStrictEqual([...first, ...second].toSorted(), ["I1", "I2"])
      yield* answered(own, { conversation_id: id })
      assert.deepStrictEqual(yield* askedSystem(), first)
    })
  )

  it.effect("the instructions of a turn that isn't stored aren't kept", () =>
    Effect.gen(function* () {
      const id = yield* created()
      yield* turns(own, { conversation_id: id }, [
        [{ ...one, store: false }, "I1"],
        [two, "I2"],
        [{}, "I2"]
      ])
    })
  )

  it.effect("instructions in the input of the first turn hold for that turn", () =>
    Effect.gen(function* () {
      const input = [systemItem, { role: "user", content: "x" }]
      const { conversation_id } = yield* answered(own, { input })
      assert.deepStrictEqual(yield* askedSystem(), ["S0"])
      yield* turns(own, { conversation_id }, [[{}, null]])
    })
  )

  it.effect("the instructions of /openai/v1 hold for their response alone, in every branch", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* answered(profile, one)
      assert.deepStrictEqual(yield* askedSystem(), ["I1"])
      // The first of these goes on in the conversation, and the others in branches of it.
      yield* turns(profile, { previous_response_id: id }, [
        [{}, null],
        [two, "I2"],
        [{}, null],
        [{ ...one, store: false }, "I1"]
      ])
      const conversation = yield* created()
      yield* turns(profile, { conversation: `conv_${conversation}` }, [
        [one, "I1"],
        [one, "I1"],
        [{}, null]
      ])
      assert.isNull(yield* keptBy(conversation))
      const stored = yield* sql`SELECT FROM conversations JOIN turns ON conversation_id = conversations.id
        WHERE response_id = ${id.replace("resp_", "")}::uuid AND system_message IS NOT NULL`
      assert.strictEqual(stored.length, 0)
    })
  )

  it.effect("the instructions of a background response and of a WebSocket aren't carried over", () =>
    Effect.gen(function* () {
      const app = yield* TestApp
      const model = yield* ScriptedModel
      const job = yield* answered(profile, { ...one, background: true, stream: undefined })
      yield* untilValue(request(`${profile}/${job.id}`), ({ status }) => status === "completed")
      assert.deepStrictEqual(yield* askedSystem(), ["I1"])
      yield* turns(profile, { previous_response_id: job.id }, [[{}, null]])

      const { last, send } = yield* connect(app.url, app.alice.key)
      yield* model.next(says("ok"))
      send({ type: "response.create", input: "x", ...one })
      const [end] = yield* last(1)
      assert.deepStrictEqual(yield* askedSystem(), ["I1"])
      const { id } = decodeIds(JSON.stringify((JSON.parse(end!) as { response: unknown }).response))
      yield* turns(profile, { previous_response_id: id }, [[{}, null]])
    })
  )

  it.effect("the instructions of a compaction hold for it alone, in place of the conversation's", () =>
    Effect.gen(function* () {
      const conversation = yield* created([systemItem])
      const { id } = yield* answered(profile, { conversation: `conv_${conversation}` })
      const compact = (fields: object) =>
        answered(`${profile}/compact`, {
          model: "scripted-1",
          previous_response_id: id,
          input: null,
          ...fields
        })
      yield* compact(one)
      assert.deepStrictEqual(yield* askedSystem(), ["I1"])
      yield* compact({})
      assert.deepStrictEqual(yield* askedSystem(), ["S0"])
    })
  )
})
