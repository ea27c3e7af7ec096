import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { UserId } from "../../src/domain/Ids.ts"
import type { AnswerFormat } from "../../src/domain/ModelCall.ts"
import { JsonSchemas } from "../../src/responses/JsonSchemas.ts"

type JsonSchema = Readonly<Record<string, unknown>>

const alice = UserId.make("019845e1-682f-4b02-a706-3b2422d13aec")
const formatOf = (schema: JsonSchema): AnswerFormat => ({
  type: "json_schema",
  name: "answer",
  description: null,
  schema,
  strict: true
})
const prepare = (schema: JsonSchema) =>
  Effect.flatMap(JsonSchemas, (schemas) => schemas.prepare(alice, formatOf(schema)))
const problemOf = (schema: JsonSchema) => Effect.map(Effect.flip(prepare(schema)), ({ message }) => message)
const mismatch = (schema: JsonSchema, text: string) =>
  Effect.flatMap(JsonSchemas, (schemas) => schemas.mismatch(alice, schema, text))

const person = {
  type: "object",
  properties: {
    name: { type: "string" },
    age: { type: "integer", minimum: 0 },
    mail: { type: "string", format: "email" },
    mood: { enum: ["glad", "sad"] }
  },
  required: ["name", "age"],
  additionalProperties: false
}
const draft07 = { $schema: "http://json-schema.org/draft-07/schema#", ...person }

/** Compiling it takes a noticeable part of a second. */
const costly = (depth = 10): JsonSchema =>
  depth === 0 ? { type: "string" } : { anyOf: [costly(depth - 1), costly(depth - 1)] }

layer(JsonSchemas.layer, { excludeTestServices: true })("the schemas of clients", (it) => {
  it.effect("a text that matches has no mismatch, in both drafts", () =>
    Effect.gen(function* () {
      for (const schema of [person, draft07]) {
        yield* prepare(schema)
        assert.isNull(
          yield* mismatch(schema, ' {"name":"Ada","age":36,"mail":"ada@example.test","mood":"glad"}')
        )
      }
      assert.isNull(yield* mismatch({ prefixItems: [{ type: "string" }], items: false }, '["a"]'))
      const tree = { type: "object", properties: { left: { $ref: "#" }, right: { $ref: "#" } }, required: [] }
      assert.isNull(yield* mismatch(tree, '{"left":{"right":{}}}'))
      assert.include(yield* mismatch(tree, '{"left":{"right":7}}'), "`/left/right` must be object.")
    })
  )

  it.effect("a mismatch names all that is wrong, and quotes nothing of the text", () =>
    Effect.gen(function* () {
      const text = '{"age":-1,"mail":"SECRET","mood":"SECRET","SECRET":1}'
      for (const schema of [person, draft07]) {
        const words = (yield* mismatch(schema, text)) ?? ""
        assert.include(words, "must have required property 'name'")
        assert.include(words, "`/age` must be >= 0.")
        assert.include(words, '`/mail` must match format "email".')
        assert.include(words, '`/mood` must be equal to one of the allowed values: ["glad","sad"].')
        assert.include(words, "The whole must NOT have additional properties.")
        assert.notInclude(words, "SECRET")
      }
      const open = { additionalProperties: { type: "number" } }
      assert.strictEqual(yield* mismatch(open, '{"SECRET":"x"}'), "`/*` must be number.")
      const many = { type: "array", items: { type: "number" } }
      const words = yield* mismatch(many, JSON.stringify(Array.from({ length: 1_000 }, () => "SECRET")))
      assert.match(words ?? "", /`\/7` must be number\. And 992 more\.$/)
    })
  )

  it.effect("a text that isn't JSON, or is nested too deeply, doesn't match", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* mismatch(person, 'Sure! {"name":'), "It is not valid JSON.")
      assert.strictEqual(yield* mismatch(person, ""), "It is not valid JSON.")
      const list = { type: "array", items: { $ref: "#" } }
      const deep = "[".repeat(100_000) + "]".repeat(100_000)
      assert.match((yield* mismatch(list, deep)) ?? "", /nested too deeply|not valid JSON/)
    })
  )

  it.effect("a schema that can't be used is refused with the reason", () =>
    Effect.gen(function* () {
      assert.include(yield* problemOf({ type: "strin" }), "`text.format.schema` can't be used: /type must be")
      assert.include(yield* problemOf({ type: "string", pattern: "(" }), "Invalid regular expression")
      assert.include(yield* problemOf({ $ref: "https://example.test/other.json" }), "can't resolve reference")
      assert.include(yield* problemOf({ $async: true, type: "object" }), "$async")
      assert.include(yield* problemOf({ description: "x".repeat(100_000) }), "more than 100000 characters")
      const error = yield* Effect.flip(prepare({ type: 7 }))
      assert.strictEqual(error.param, "text.format.schema")
    })
  )

  it.effect("names in one schema can't be referred to in another", () =>
    Effect.gen(function* () {
      const id = "https://example.test/one.json"
      const nested = { $id: `${id}/nested`, type: "string" }
      yield* prepare({ $id: id, $defs: { nested }, $ref: `${id}/nested` })
      yield* prepare({ $id: id, type: "number" })
      for (const $ref of [id, `${id}/nested`]) {
        assert.include(yield* problemOf({ $ref }), "can't resolve reference")
      }
    })
  )

  it.effect("a schema runs no code of its own", () =>
    Effect.gen(function* () {
      const words = [
        "');throw 1;//",
        '"];throw 1;//',
        "${throw 1}",
        "\u2028throw 1",
        "__proto__",
        "constructor"
      ]
      for (const word of words) {
        const schema = { properties: { [word]: { const: word, title: word } }, required: [word], title: word }
        yield* prepare(schema)
        assert.isNotNull(yield* mismatch(schema, "{}"))
        assert.isNull(yield* mismatch(schema, JSON.stringify(Object.fromEntries([[word, word]]))))
      }
    })
  )

  it.effect("neither a pattern that backtracks for ever nor a costly schema holds up others", () =>
    Effect.gen(function* () {
      const hostile = { type: "string", pattern: "^(a+)+$" }
      const text = JSON.stringify(`${"a".repeat(50)}!`)
      const words = yield* Effect.all(
        [mismatch(hostile, text), mismatch(person, '{"name":"Ada","age":36}')],
        {
          concurrency: "unbounded"
        }
      )
      assert.deepStrictEqual(words, ["It could not be checked in time.", null])
      const free = Effect.as(Effect.sleep("1 millis"), "free")
      assert.strictEqual(yield* Effect.raceFirst(Effect.as(prepare(costly()), "compiled"), free), "free")
      yield* prepare(person)
    })
  )

  it.effect("users take turns, so that one with many costly schemas doesn't hold up the others", () =>
    Effect.gen(function* () {
      const bob = UserId.make("019845e1-682f-4b02-a706-3b2422d13aed")
      const schemas = yield* JsonSchemas
      const ended: Array<string> = []
      const note = (name: string) => Effect.sync(() => void ended.push(name))
      const costlies = Array.from({ length: 4 }, (_, n) =>
        schemas
          .prepare(alice, formatOf({ ...costly(8), title: String(n) }))
          .pipe(Effect.andThen(note("alice")))
      )
      const small = schemas
        .prepare(bob, formatOf({ ...person, title: "bob" }))
        .pipe(Effect.andThen(note("bob")))
      yield* Effect.all([...costlies, small], { concurrency: "unbounded" })
      assert.isAtMost(ended.indexOf("bob"), 2)
    })
  )

  it.effect("the task of a request that has ended doesn't answer the next one", () =>
    Effect.gen(function* () {
      const hostile = { type: "string", pattern: "^(a+)+$" }
      const asked = mismatch(hostile, JSON.stringify(`${"a".repeat(50)}!`))
      yield* Effect.timeoutOption(asked, "200 millis")
      assert.strictEqual(yield* mismatch(person, "7"), "The whole must be object.")
    })
  )
})
