import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { TextGrammar } from "../../src/domain/ModelCall.ts"
import { grammarMismatch, readGrammar } from "../../src/schemas/Grammars.ts"

const lark = (definition: string): TextGrammar => ({ syntax: "lark", definition })
const regex = (definition: string): TextGrammar => ({ syntax: "regex", definition })
const mismatch = (grammar: TextGrammar, text: string) => grammarMismatch(JSON.stringify(grammar), text)

/** The grammar that Codex sends with its tool `apply_patch`. */
const applyPatch = lark(`start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
`)

const Line = Schema.Struct({ sign: Schema.Literals(["+", "-", " ", "@@ "]), text: Schema.String })
const patchOf = (lines: ReadonlyArray<typeof Line.Type>) =>
  [
    "*** Begin Patch",
    "*** Add File: a b.txt",
    "+",
    "*** Update File: b.txt",
    "*** Move to: c.txt",
    ...lines.map(({ sign, text }) => sign + text.replaceAll(/\n/g, "") + (sign === "@@ " ? "x" : "")),
    "*** End of File",
    "*** Delete File: d.txt",
    "*** End Patch"
  ].join("\n")

describe("a grammar of Lark", () => {
  it.prop(
    "Codex's grammar of patches fits the patches that it describes, and no others",
    [Schema.Array(Line).check(Schema.isMinLength(1)), Schema.Boolean],
    ([lines, hasEnd]) => {
      const patch = patchOf(lines) + (hasEnd ? "\n" : "")
      assert.isNull(mismatch(applyPatch, patch))
      assert.isString(mismatch(applyPatch, `${patch}x`))
      assert.isString(mismatch(applyPatch, patch.replace("*** Delete File: ", "*** Remove File: ")))
    }
  )

  it("mismatch names the place and what may stand there, and quotes nothing of the text", () => {
    const words = mismatch(applyPatch, "*** Begin Patch\n*** Add File: a\nsecret\n*** End Patch")
    assert.strictEqual(words, 'At line 3, column 1 one of these is expected: "+"')
    assert.strictEqual(mismatch(lark('start: "a"'), "ab"), "Nothing more may follow line 1, column 2.")
  })

  const arithmetic = `
// Calculations.
start: expr
?expr: expr "+" term -> add
  | term
?term.2: term "*" atom | atom
!atom: NUMBER | "(" expr ")"
%import common.NUMBER
%import common (WS, CNAME)
%ignore WS
`
  const json = `start: value
?value: object | array | ESCAPED_STRING | SIGNED_NUMBER | "true" | "false" | "null"
array: "[" [value ("," value)*] "]"
object: "{" [pair ("," pair)*] "}"
pair: ESCAPED_STRING ":" value
%import common.ESCAPED_STRING
%import common.SIGNED_NUMBER -> SIGNED_NUMBER
%import common.WS
%ignore WS`
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>, ReadonlyArray<string>]> = [
    [arithmetic, ["1", " 1 + (2*3.5e1) + 4 ", "((1))"], ["", "1 +", "1 2", "(1", "a"]],
    [json, ['{"a": [1, -2.5, "x\\"y", null], "b": {}}', "[]"], ['{"a" 1}', "[1,]", '"a']],
    [
      'start: "a" ~ 2..3 B{2} c?\nB: /b/i | "x".."z"\nc: B',
      ["aabb", "aaaByz", "aaxxx"],
      ["abb", "aab", "aaww"]
    ],
    ['start: "SELECT"i _w+\n_w: " " /\\w+/', ["select ä", "Select a b"], ["select", "selectx a"]],
    ['start: | "b" start', ["", "bbb"], ["a", "ba"]],
    ["start: start start | /a/", ["a", "aaaaa"], ["", "b"]],
    ['start: a a a\na: "x"?', ["", "x", "xxx"], ["xxxx"]],
    ['\uFEFFstart: "a" b\n\f b: "b"', ["ab"], ["a"]],
    ['start: "\\u00e4\\n" /./s /[^\\/\\]]/', ["ä\n\n😀"], ["ä\n\n/", "ä\n\n]"]]
  ]
  it.each(cases)("%j fits what it describes", (definition, fitting, others) => {
    for (const text of fitting) assert.isNull(mismatch(lark(definition), text), text)
    for (const text of others) assert.isString(mismatch(lark(definition), text), text)
  })

  it.each([
    'a: "x"',
    "start: x",
    'start: ("a"',
    'start: A\nA: A "x"',
    'start: A\nA: b\nb: "x"',
    'start: "a"\nstart: "b"',
    "start: )",
    "start: /(/",
    'start: "a".."bc"',
    'start: "a',
    "start: /a{3,2}/",
    "start: /*a/",
    "start: /a|+/",
    'start: * "a"',
    'start = "a"',
    'start: "a" )',
    'start "a"',
    "%ignore X\nstart: /a/"
  ])("the grammar %j is broken", (definition) => {
    const reading = readGrammar(lark(definition))
    assert.strictEqual(reading.is, "broken")
    assert.isNull(mismatch(lark(definition), "any"))
  })

  it.each([
    'start[max_tokens=3]: "x"',
    "start: <tok>",
    "%declare X\nstart: X",
    "%import python.NAME\nstart: NAME",
    '_sep{x}: x\nstart: _sep{"a"}',
    "start: /(?=a)a/",
    "start: /a++/",
    "start: /a{,}/",
    `start: /a${"*".repeat(100)}/`,
    'start: A & B\nA: "a"\nB: "a"',
    "start: ~/x/",
    "start: (/a/ & ~/x/)",
    'start::x: "a"',
    'start: x::1\nx: "a"',
    'start: "a"\n@other "b"',
    String.raw`start: /(a)\1/`,
    "start: /[a-z&&[^b]]/",
    `start: ${"(".repeat(200)}`,
    'start: ("a" "b" "c")~9999'
  ])("the grammar %j isn't supported, and so nothing is checked", (definition) => {
    assert.strictEqual(readGrammar(lark(definition)).is, "unsupported")
    assert.isNull(mismatch(lark(definition), "any"))
  })

  const chain = (count: number, use: (next: string) => string) =>
    Array.from({ length: count }, (_, n) => `T${n}: ${use(`T${n + 1}`)}`)
  const bracketed = chain(61, (next) => `${"(".repeat(60)}${next} "x"${")".repeat(60)}`)
  const costly: ReadonlyArray<readonly [string, string, string]> = [
    ["a count whose end is before its beginning", 'start: "a"~3000000000..4', "broken"],
    ["a count of nothing", "start: ()~4294967297", "unsupported"],
    ["a large count of nothing", "start: ()~30000000", "unsupported"],
    ["a range of nothing", "start: ()~0..5000000", "unsupported"],
    ["counts of nothing within each other", "start: (()~10000)~10000", "unsupported"],
    ["several counts of nothing", "start: ()~10000 ()~10000", "unsupported"],
    ["an infinite count", `start: "a"~${"9".repeat(400)}`, "unsupported"],
    [
      "terminals that double",
      ["start: T0", ...chain(25, (next) => `${next} ${next}`), 'T25: "a"'].join("\n"),
      "unsupported"
    ],
    ["terminals in many brackets", ["start: T0", ...bracketed, 'T61: "a"'].join("\n"), "unsupported"],
    [
      "such terminals, the last one first",
      ['T61: "a"', ...bracketed.toReversed(), "start: T0"].join("\n"),
      "unsupported"
    ],
    [
      "a thousand imports",
      ["start: W0", ...Array.from({ length: 1_000 }, (_, n) => `%import common.CNAME -> W${n}`)].join("\n"),
      "read"
    ]
  ]
  it.each(costly)("a grammar with %s is read in bounded work", (_, definition, expected) => {
    assert.strictEqual(readGrammar(lark(definition)).is, expected)
    assert.isNull(mismatch(lark(definition), "a"))
  })

  it("a grammar uses a terminal as often as it likes", () => {
    const twice = lark(["start: T0", ...chain(4, (next) => `${next} ${next}`), 'T4: "a"'].join("\n"))
    assert.isNull(mismatch(twice, "a".repeat(16)))
    assert.isString(mismatch(twice, "a".repeat(15)))
  })

  it("a grammar whose check takes too much work, or whose text is too long, fits everything", () => {
    const costly = lark('start: x+ "END"\nx: /(.|\\n)*/')
    assert.isString(mismatch(costly, "a\n"))
    assert.isNull(mismatch(costly, "a\n".repeat(5_000)))
    assert.isNull(mismatch(lark('start: "a"'), "b".repeat(200_000)))
  })

  it("a grammar that finds the same in many ways takes too much work, however little is new", () => {
    const ambiguous = lark('start: start start | "a" |')
    assert.isString(mismatch(ambiguous, `${"a".repeat(20)}b`))
    assert.isNull(mismatch(ambiguous, `${"a".repeat(300)}b`))
  })
})

describe("a regular expression", () => {
  const same = [
    "^(a|b)*c$",
    "[a-c]{2,3}",
    "(?:ab?)+?c{0,2}",
    "[^a]b|c+",
    String.raw`\bab\b.*`,
    "(a?){9}b",
    "a{2}b{1,}|",
    String.raw`[\]a-]+[b\-c]`,
    String.raw`\x61\u{62}?.`
  ]
  it.prop(
    "a regular expression fits the whole texts that JavaScript's fits",
    [Schema.Array(Schema.Literals(["a", "b", "c", "-", "]", " "])).check(Schema.isMaxLength(9))],
    ([characters]) => {
      const text = characters.join("")
      for (const one of same) {
        const fits = new RegExp(`^(?:${one})$`, "u").test(text)
        assert.strictEqual(mismatch(regex(one), text) === null, fits, `${one} ${text}`)
      }
    }
  )

  it("means what Rust's means", () => {
    const fitting = [
      ["(?i)[A-Z]{2}\\d", "ab1"],
      ["\\w+\\s\\W", "é —"],
      ["(?P<year>\\d{4})", "2026"],
      [".", "\r"],
      ["(?s).", "\n"],
      ["\\A\\p{L}+\\z", "straße"],
      ["\\x{1F600}{2}", "😀😀"],
      ["[]a]+", "]a"],
      ["[\\w-.]+", "a-b."],
      ["a**", "aaa"],
      ["a+*b", "b"],
      ["a+*b", "aab"],
      ["(?:a{2}{3}|b??*c)", "aaaaaa"],
      ["(?:a{2}{3}|b??*c)", "bbbc"]
    ] as const
    for (const [one, text] of fitting) assert.isNull(mismatch(regex(one), text), one)
    for (const [one, text] of [
      [".", "\n"],
      ["a", "ab"],
      ["a**", "ab"],
      ["a{2}{3}", "aaaaa"],
      ["\\d", "x"]
    ] as const)
      assert.isString(mismatch(regex(one), text), one)
  })

  it("a regular expression that would backtrack forever is checked in bounded work", () => {
    assert.isString(mismatch(regex("^(a+)+$"), `${"a".repeat(5_000)}!`))
    assert.isNull(mismatch(regex("(a?){1000}"), "a".repeat(900)))
  })
})
