import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Schedule } from "effect"
import { ServerBusy } from "../../src/domain/Errors.ts"
import { UserId } from "../../src/domain/Ids.ts"
import type { AnswerFormat, TextGrammar } from "../../src/domain/ModelCall.ts"
import { JsonSchemas } from "../../src/schemas/JsonSchemas.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { testConfig } from "../support/TestConfig.ts"
import { schemaProcesses } from "./schemaProcesses.ts"

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
const refusal = (schema: JsonSchema) =>
  Effect.flip(Effect.catchTag(prepare(schema), "ServerBusy", Effect.die))
const problemOf = (schema: JsonSchema) => Effect.map(refusal(schema), ({ message }) => message)
const mismatch = (schema: JsonSchema, text: string) =>
  Effect.flatMap(JsonSchemas, (schemas) => schemas.mismatch(alice, schema, text))

const lark = (definition: string): TextGrammar => ({ syntax: "lark", definition })
const readGrammar = (definition: string) =>
  Effect.flatMap(JsonSchemas, (schemas) => schemas.readGrammar(alice, lark(definition)))
const grammarMismatch = (definition: string, text: string) =>
  Effect.flatMap(JsonSchemas, (schemas) => schemas.grammarMismatch(alice, lark(definition), text))

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

const hostile = { type: "string", pattern: "^(a+)+$" }
const hostileText = JSON.stringify(`${"a".repeat(50)}!`)

/**
 * Each definition has two ways to the next one, and so each level twice as many mismatches as the one before.
 */
const doubling = (levels: number): JsonSchema => {
  const next = (level: number) => ({ $ref: `#/$defs/d${level + 1}` })
  const levelled = Array.from({ length: levels }, (_, level) => [
    `d${level}`,
    { anyOf: [next(level), next(level)] }
  ])
  return {
    $defs: { ...Object.fromEntries(levelled), [`d${levels}`]: { type: "string" } },
    $ref: "#/$defs/d0"
  }
}

/** Has 83,000 characters, and takes some megabytes when it is compiled. */
const large = (title: string, count = 900): JsonSchema => {
  const each = <A>(make: (n: number) => readonly [string, A]) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => make(n)))
  return {
    title,
    $defs: each((n) => [`d${n}`, { type: "object", properties: { a: { type: "string" } } }]),
    properties: each((n) => [`p${n}`, { $ref: `#/$defs/d${n}` }])
  }
}

/** Compiling it takes a noticeable part of a second. */
const costly = (depth = 10): JsonSchema =>
  depth === 0 ? { type: "string" } : { anyOf: [costly(depth - 1), costly(depth - 1)] }

const configLayer = Layer.succeed(AppConfig, testConfig())

layer(JsonSchemas.layer.pipe(Layer.provide(configLayer)), { excludeTestServices: true })(
  "the schemas of clients",
  (it) => {
    it.effect("a text that matches has no mismatch, in both drafts", () =>
      Effect.gen(function* () {
        for (const schema of [person, draft07]) {
          yield* prepare(schema)
          assert.isNull(
            yield* mismatch(schema, ' {"name":"Ada","age":36,"mail":"ada@example.test","mood":"glad"}')
          )
        }
        assert.isNull(yield* mismatch({ prefixItems: [{ type: "string" }], items: false }, '["a"]'))
        const tree = {
          type: "object",
          properties: { left: { $ref: "#" }, right: { $ref: "#" } },
          required: []
        }
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
        assert.include(
          yield* problemOf({ type: "strin" }),
          "`text.format.schema` can't be used: /type must be"
        )
        assert.include(yield* problemOf({ type: "string", pattern: "(" }), "Invalid regular expression")
        assert.include(
          yield* problemOf({ $ref: "https://example.test/other.json" }),
          "can't resolve reference"
        )
        assert.include(yield* problemOf({ $async: true, type: "object" }), "$async")
        assert.include(yield* problemOf({ description: "x".repeat(100_000) }), "more than 100000 characters")
        const error = yield* refusal({ type: 7 })
        assert.strictEqual(error.param, "text.format.schema")
      })
    )

    it.effect.each([
      "http://json-schema.org/draft-04/schema#",
      "https://json-schema.org/draft/2019-09/schema",
      "https://example.test/mine"
    ])("a schema may name the draft %s", ($schema) =>
      Effect.gen(function* () {
        yield* prepare({ $schema, ...person })
        assert.isNull(
          yield* mismatch(
            { $schema, ...person },
            '{"name":"Ada","age":36,"mail":"ada@example.test","mood":"glad"}'
          )
        )
        assert.isNotNull(yield* mismatch({ $schema, ...person }, '{"name":3}'))
      })
    )

    it.effect.each<readonly [string, string, string]>([
      [String.raw`^a\-b$`, "a-b", "ab"],
      [String.raw`^[\w-.]+$`, "a-b.c", "a b"],
      [String.raw`^\p{Lu}.$`, "Ä😀", "ab"]
    ])("a pattern is %s, with the flag u or else without", ([pattern, fits, other]) =>
      Effect.gen(function* () {
        const schema = {
          type: "object",
          properties: { a: { type: "string", pattern } },
          patternProperties: { [pattern]: { type: "string" } }
        }
        yield* prepare(schema)
        assert.isNull(yield* mismatch(schema, JSON.stringify({ a: fits })))
        assert.isNotNull(yield* mismatch(schema, JSON.stringify({ a: other })))
        assert.isNotNull(yield* mismatch(schema, JSON.stringify({ [fits]: 1 })))
      })
    )

    it.effect("the names in one schema can't be referred to in another", () =>
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
          const schema = {
            properties: { [word]: { const: word, title: word } },
            required: [word],
            title: word
          }
          yield* prepare(schema)
          assert.isNotNull(yield* mismatch(schema, "{}"))
          assert.isNull(yield* mismatch(schema, JSON.stringify(Object.fromEntries([[word, word]]))))
        }
      })
    )

    it.effect("neither a pattern that backtracks for ever nor a costly schema holds up others", () =>
      Effect.gen(function* () {
        const words = yield* Effect.all(
          [mismatch(hostile, hostileText), mismatch(person, '{"name":"Ada","age":36}')],
          {
            concurrency: "unbounded"
          }
        )
        assert.deepStrictEqual(words, ["It takes too long, or too much memory, to be checked.", null])
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
        yield* Effect.timeoutOption(mismatch(hostile, hostileText), "200 millis")
        assert.strictEqual(yield* mismatch(person, "7"), "The whole must be object.")
      })
    )

    it.effect("a check that fills the memory ends neither the service nor the checks of others", () =>
      Effect.gen(function* () {
        for (const levels of [17, 19, 24, 28]) {
          const words = yield* mismatch(doubling(levels), "5")
          assert.include(words, levels < 24 ? " " : "too much memory")
          assert.strictEqual(yield* mismatch(person, "7"), "The whole must be object.")
        }
      })
    )

    it.effect(
      "the next check has another process after the end of one, as by the kernel for want of memory",
      () =>
        Effect.gen(function* () {
          yield* prepare(person)
          for (const pid of yield* schemaProcesses) process.kill(pid, "SIGKILL")
          yield* Effect.repeat(schemaProcesses, {
            until: (left) => left.length === 0,
            schedule: Schedule.spaced("10 millis")
          })
          assert.strictEqual(yield* mismatch(person, "7"), "The whole must be object.")
        })
    )
  }
)

layer(JsonSchemas.layerWith({ grammar: 60 }).pipe(Layer.provide(configLayer)), {
  excludeTestServices: true
})("the grammars of clients", (it) => {
  it.effect("a grammar is fine, broken with the reason, or unsupported", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* readGrammar('start: "a"'), { is: "read" })
      const problem = "x is not defined"
      assert.deepStrictEqual(yield* readGrammar("start: x"), { is: "broken", problem })
      assert.deepStrictEqual(yield* readGrammar("start: ()~4294967297"), { is: "unsupported" })
      const long = `start: "a"\n//${"x".repeat(40_000)}`
      assert.deepStrictEqual(yield* readGrammar(long), { is: "unsupported" })
      assert.isNull(yield* grammarMismatch('start: "a"', "a"))
      assert.include(yield* grammarMismatch('start: "a"', "b"), "line 1, column 1")
    })
  )
})

layer(JsonSchemas.layerWith({ grammar: 0.001 }).pipe(Layer.provide(configLayer)), {
  excludeTestServices: true
})("a time limit for grammars", (it) => {
  it.effect("a grammar that takes too long fits everything, and the schema process goes on", () =>
    Effect.gen(function* () {
      yield* prepare(person)
      const before = yield* schemaProcesses
      const large = `start: /${String.raw`[\w\p{L}]`.repeat(3_000)}/i`
      assert.deepStrictEqual(yield* readGrammar(large), { is: "unsupported" })
      assert.strictEqual(yield* mismatch(person, "7"), "The whole must be object.")
      assert.deepStrictEqual(yield* schemaProcesses, before)
    })
  )
})

// A busy machine may take long for each.
layer(JsonSchemas.layerWith({ task: 60, queue: 30 }).pipe(Layer.provide(configLayer)), {
  excludeTestServices: true
})("many large schemas one after the other", (it) => {
  it.effect("many large schemas one after the other leave room for the next", () =>
    Effect.gen(function* () {
      for (let n = 0; n < 70; n++) yield* prepare(large(String(n)))
    })
  )
})

layer(JsonSchemas.layerWith({ task: 2, queue: 0.2 }).pipe(Layer.provide(configLayer)), {
  excludeTestServices: true
})("schemas when the process has too much to do", (it) => {
  it.effect("a task whose turn doesn't come can be sent again later, and is no mismatch", () =>
    Effect.gen(function* () {
      yield* prepare(person)
      const slow = yield* Effect.forkChild(mismatch(hostile, hostileText))
      yield* Effect.sleep("50 millis")
      const busy = new ServerBusy({ retryAfterSeconds: 5 })
      assert.deepStrictEqual(yield* Effect.flip(prepare(person)), busy)
      assert.deepStrictEqual(yield* Effect.flip(mismatch(person, "7")), busy)
      yield* Fiber.join(slow)
      yield* prepare(person)
    })
  )
})
