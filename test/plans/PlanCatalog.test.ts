import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { plansOf, readPlansFile } from "../../src/plans/PlanCatalog.ts"
import { fileWith } from "./terms.ts"

const read = (content: unknown) =>
  Effect.flatMap(fileWith(typeof content === "string" ? content : JSON.stringify(content)), readPlansFile)

describe("readPlansFile", () => {
  it.effect("readPlansFile reads plans, and adds a default without bounds unless the file has one", () =>
    Effect.gen(function* () {
      const free = {
        operations: ["responses"],
        models: ["small-*"],
        tools: ["calculator"],
        storage: { files: 3, bytes: 1_000 },
        tokens: { daily: 5_000, monthly: null }
      } as const
      const plans = yield* read({ plans: { free, constructor: {} } })
      assert.deepStrictEqual(
        [...plans],
        [
          ["default", {}],
          ["free", free],
          ["constructor", {}]
        ]
      )
      const { termsOf } = plansOf(plans)
      assert.deepStrictEqual(termsOf("free"), free)
      assert.isNull(termsOf("gone"))
      assert.isNull(termsOf("toString"))
      assert.deepStrictEqual(plansOf(null).termsOf("anything"), {})
      const closed = yield* read({ plans: { default: { operations: [] } } })
      assert.deepStrictEqual([...closed], [["default", { operations: [] }]])
    })
  )

  it.effect.each([
    ["no JSON", "{", [/^Expected a JSON document/]],
    ["a list", [], [/^Expected object/]],
    ["no plans", {}, [/^plans: Missing: this field is required/]],
    ["another field", { plans: {}, others: 1 }, [/^others: /]],
    ["a field that a plan doesn't have", { plans: { a: { tool: [] } } }, [/^plans\.a\.tool: /]],
    ["another operation", { plans: { a: { operations: ["ask"] } } }, [/^plans\.a\.operations\[0\]: /]],
    ["another tool", { plans: { a: { tools: ["shell"] } } }, [/^plans\.a\.tools\[0\]: /]],
    ["an empty pattern", { plans: { a: { models: [""] } } }, [/^plans\.a\.models\[0\]: /]],
    ["half a file", { plans: { a: { storage: { files: 0.5 } } } }, [/^plans\.a\.storage\.files: /]],
    ["tokens below none", { plans: { a: { tokens: { daily: -1 } } } }, [/^plans\.a\.tokens\.daily: /]],
    [
      "names that are none",
      { plans: { "": {}, "Not A Plan": {} } },
      [/^plans\."": /, /^plans\."Not A Plan": /]
    ],
    ["the name of a prototype", '{"plans": {"__proto__": {}}}', [/^plans\."__proto__": /]],
    [
      "several at once",
      { plans: { A: {}, b: { tools: 1, storage: { bytes: "x" } } } },
      [/^plans\.b\.storage\.bytes: /, /^plans\.b\.tools: /, /^plans\."A": /]
    ]
  ] as const)("readPlansFile refuses %s, and says where", ([, content, expected]) =>
    Effect.gen(function* () {
      const { problems } = yield* Effect.flip(read(content))
      const lines = problems.map(({ message, path }) => (path === "" ? message : `${path}: ${message}`))
      assert.strictEqual(lines.length, expected.length, lines.join("\n"))
      for (const line of expected)
        assert.isTrue(
          lines.some((one) => line.test(one)),
          `${line} in ${lines.join("\n")}`
        )
    })
  )

  it.effect("readPlansFile names the line of a wrong plan", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(
        read('{\n  "plans": {\n    "free": {\n      "tools": ["shell"]\n    },\n    "Big": {}\n  }\n}\n')
      )
      assert.match(message, /^ {2}line 4, plans\.free\.tools\[0\]: /m)
      assert.match(message, /^ {2}line 6, plans\."Big": /m)
    })
  )
})
