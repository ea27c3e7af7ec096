import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { prepared } from "../../src/sql/prepared.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

interface Parameters {
  readonly words: ReadonlyArray<string>
  readonly least: number
  readonly none: string | null
}

layer(TestDatabase.layer)("a statement whose text is put together once", (it) => {
  it.effect.prop(
    "a prepared statement does what a template does, with each parameter in every place",
    [
      Schema.Struct({
        words: Schema.Array(Schema.String.check(Schema.isPattern(/^[^\0\ud800-\udfff]*$/))),
        least: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })),
        none: Schema.NullOr(Schema.String.check(Schema.isPattern(/^[^\0\ud800-\udfff]*$/)))
      })
    ],
    ([parameters]) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const statement = (value: (name: keyof Parameters) => unknown) => {
          const counted = sql`(SELECT count(*)::int FROM unnest(${value("words")}::text[]))`
          return sql`SELECT ${sql("a_word")}, ${counted} AS how_many, ${"constant"}::text AS fixed, ${value("none")}::text AS no_word
            FROM unnest(${value("words")}::text[]) AS words (a_word)
            WHERE length(a_word) >= ${value("least")}::int ORDER BY a_word COLLATE "C"`
        }
        const run = prepared<Parameters>(sql, statement)
        const expected = yield* statement((name) => parameters[name])
        assert.deepStrictEqual(yield* run(parameters), expected)
        // Nothing of one run is left for the next.
        const other = { words: ["other"], least: 0, none: null }
        assert.deepStrictEqual(yield* run(other), [
          { aWord: "other", howMany: 1, fixed: "constant", noWord: null }
        ])
        assert.deepStrictEqual(yield* run(parameters), expected)
      })
  )

  it.effect("a prepared statement has one text, however often it runs", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let built = 0
      const run = prepared<{ readonly value: number }>(sql, (parameter) => {
        built++
        return sql`SELECT ${parameter("value")}::int AS value`
      })
      assert.deepStrictEqual(yield* run({ value: 1 }), [{ value: 1 }])
      assert.deepStrictEqual(yield* run({ value: 2 }), [{ value: 2 }])
      assert.strictEqual(built, 1)
      const [one, other] = [run({ value: 1 }).compile(), run({ value: 2 }).compile()]
      assert.strictEqual(one[0], other[0])
      assert.deepStrictEqual([one[1], other[1]], [[1], [2]])
    })
  )
})
