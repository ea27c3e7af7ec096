import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  type Asked,
  difficultyOf,
  type FeatureName,
  charactersMax,
  signsOf
} from "../../src/routing/Difficulty.ts"

const asked = (text: string, more: Partial<Asked> = {}): Asked => ({
  text,
  promptTokens: 100 + Math.ceil(text.length / 4),
  files: 0,
  passages: 0,
  tools: true,
  ...more
})

const scoreOf = (text: string, more: Partial<Asked> = {}) => difficultyOf(asked(text, more)).score

const pointsOf = (name: FeatureName, request: Asked) =>
  difficultyOf(request).features.find((one) => one.name === name)?.points ?? Number.NaN

const count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))

/** Lines as people write them, and any text at all. */
const Line = Schema.Union([
  Schema.Literals([
    "const a = foo(b[0]);",
    "```",
    "~~~ts",
    "  at read (file.js:10:5)",
    "Why is 3 + 4 = 7?",
    "1. Prove it",
    "- and that",
    "$\\frac{1}{2}$",
    "def main(self, x):",
    "Good morning, Ada.",
    "请证明这个方程。"
  ]),
  Schema.String
])
const Text = Schema.Union([
  Schema.Array(Line).pipe(Schema.check(Schema.isMaxLength(20))),
  Schema.Array(
    Schema.Literals(["x".repeat(5_000), "(a".repeat(3_000), "3 + ".repeat(2_000), "\n".repeat(500)])
  )
])

const Request = Schema.Struct({
  text: Text,
  promptTokens: count,
  files: count,
  passages: count,
  tools: Schema.Boolean
})

const toAsked = ({ text, ...others }: typeof Request.Type): Asked => ({ ...others, text: text.join("\n") })

describe("difficultyOf", () => {
  it.prop("difficultyOf is from 0 to 1, the sum of its parts, and deterministic", [Request], ([request]) => {
    const { features, score } = difficultyOf(toAsked(request))
    const sum = features.reduce((all, { points }) => all + points, 0)
    assert.strictEqual(score, Math.min(1, sum))
    for (const { points, value } of features) {
      assert.isAtLeast(points, 0)
      assert.isAtLeast(value, 0)
      assert.isBelow(points, 1)
    }
    assert.deepStrictEqual(difficultyOf(toAsked(request)), { features, score })
  })

  it.prop(
    "difficultyOf never falls when there is more of anything",
    [Request, Text, count, count, count],
    ([request, lines, promptTokens, files, passages]) => {
      const less = toAsked(request)
      const more: Asked = {
        text: [less.text, ...lines].join("\n"),
        promptTokens: less.promptTokens + promptTokens,
        files: less.files + files,
        passages: less.passages + passages,
        tools: true
      }
      const [before, after] = [difficultyOf(less), difficultyOf(more)]
      for (const [index, { name, points }] of before.features.entries()) {
        assert.isAtLeast(after.features[index]?.points ?? -1, points, name)
      }
      assert.isAtLeast(after.score, before.score)
      for (const name of ["promptTokens", "files", "passages"] as const) {
        assert.isAtLeast(difficultyOf({ ...less, [name]: more[name] }).score, before.score, name)
      }
    }
  )

  it("difficultyOf is below 0.1 for plain questions in any language, and rises with code and math", () => {
    const plain = [
      "Hi",
      "Good morning, how are you today?",
      "Wie heißt der höchste Berg der Alpen, und wie hoch ist er?",
      "Translate to Spanish: I would like two tickets (one of them reduced), please.",
      "Why? Compare, analyze and explain.",
      "请证明这个方程没有整数解。"
    ]
    const work = [
      "Löse die Gleichung 3x^2 - 5x + 2 = 0 und begründe jeden Schritt.",
      "Why does this fail?\n```python\ndef mean(xs):\n    return sum(xs) / len(xs)\n\nprint(mean([]))\n```",
      "∀x ∈ S: \\sum_{i=1}^n x_i ≤ 1"
    ]
    for (const text of plain) assert.isBelow(scoreOf(text), 0.1, text)
    for (const text of work) assert.isAbove(scoreOf(text), 0.2, text)
    const trace = Array.from({ length: 20 }, (_, line) => `    at handle${line} (src/app.ts:${line}:13)`)
    const page = `My service fails, why?\n${trace.join("\n")}\n${"const value = await read(store, key);\n".repeat(30)}`
    assert.isAbove(scoreOf(page), 0.55)
    assert.isBelow(scoreOf(page), 1)
  })

  it("difficultyOf is the same for the same structure, whatever the words", () => {
    assert.deepStrictEqual(
      difficultyOf(asked("Prove it, debug it: why? Search for it.")),
      difficultyOf(asked("Paint it, polish it: who? Dreams of it."))
    )
  })

  it("difficultyOf describes each feature in a sentence", () => {
    const { features } = difficultyOf(asked("Look at https://example.com: why?", { files: 1, passages: 8 }))
    assert.deepStrictEqual(
      features.map(({ sentence }) => sentence),
      [
        "The message has 33 characters.",
        "The shortest prompt has about 109 tokens.",
        "Code worth 0 lines.",
        "0 signs of mathematics.",
        "1 file and 8 passages of a project.",
        "Tools are offered."
      ]
    )
  })

  it("difficultyOf counts documents, and tools only where they are offered", () => {
    assert.isAbove(
      pointsOf("documents", asked("", { files: 2 })),
      pointsOf("documents", asked("", { passages: 2 }))
    )
    assert.isAbove(pointsOf("tools", asked("")), 0)
    assert.strictEqual(pointsOf("tools", asked("", { tools: false })), 0)
  })
})

describe("signsOf", () => {
  it.each<readonly [string, Partial<ReturnType<typeof signsOf>>]>([
    ["I was at home (in bed) at 10:30 - or was it 2024-01-02?", { codeLines: 0, mathematics: 0 }],
    ["# A heading\n**bold** and _light_\n| a | b |", { codeLines: 0 }],
    ["```\nplain words\n\nand more\n```\nafter", { codeLines: 2 }],
    ["```\nnever closed", { codeLines: 1 }],
    ["const isOpen = gate.isOpen();", { codeLines: 1 }],
    ["x = 1;", { codeLines: 1 }],
    ["    at read (file.js:10:5)", { codeLines: 3 }],
    ["What is 12 * 7 + 3?", { codeLines: 0, mathematics: 2 }],
    ["\\frac{a}{b} ≤ x^2", { mathematics: 4 }],
    ["```\n1 + 1 = 2\n```\n1 + 1 = 2", { codeLines: 1, mathematics: 2 }]
  ])("%j", (text, expected) => {
    assert.deepInclude(signsOf(text), expected)
  })

  it("signsOf looks at no more than the beginning", () => {
    const long = "a line of words\n".repeat(charactersMax / 16)
    assert.strictEqual(long.length, charactersMax)
    assert.deepStrictEqual(signsOf(`${long}Is it 1 + 1?\n\`\`\``), signsOf(long))
  })

  it("signsOf does no more work on a text that is made to be hard", () => {
    const hostile = [
      "(",
      "at ",
      'File "',
      "```\n",
      "1. ",
      "a_A",
      "\\",
      " ",
      "é",
      "证",
      "3 +",
      "\u{1f600}",
      "\ud800",
      "\n"
    ]
    const began = process.cpuUsage()
    for (const piece of hostile) {
      for (let round = 0; round < 5; round++) signsOf(piece.repeat(1_000_000 / piece.length))
    }
    const { user } = process.cpuUsage(began)
    // 70 texts of 20,000 characters: a look at each takes well below a millisecond, and a bad regular
    // expression seconds.
    assert.isBelow(user / 1_000, 3_000)
  })
})
