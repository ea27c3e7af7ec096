import { execFile } from "node:child_process"
import { parseEnv, promisify } from "node:util"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import manifest from "../../package.json" with { type: "json" }
import type { Setting } from "../../src/settings/Setting.ts"
import { settingsTable } from "../../src/settings/SettingsTable.ts"
import { type Page, pageOf, pages, place, root } from "./Documents.ts"
import { Sandbox } from "./Sandbox.ts"
import { isRun, lastBlock, parleyCalls } from "./Script.ts"
import { usageFault } from "./Usage.ts"

/** The changelog is left out, because its entries about older releases stay unchanged. */
const current = pages().filter(({ path }) => path !== "CHANGELOG.md")

const remedy = [
  "Each `sh` block of the documentation runs, all pages in one order on one installation, README.md first",
  "(see CONTRIBUTING.md, Documentation). Correct the command; or give it what it needs by a comment in front",
  "of the block, `<!-- before: COMMANDS -->`; or, where no test can run it, say why: `<!-- not run: REASON -->`."
].join("\n")

layer(Sandbox.layer, { excludeTestServices: true })("a reader", (it) => {
  for (const page of current.filter(({ blocks }) => blocks.some(isRun))) {
    it.effect(`a reader can run the commands of ${page.path}`, () =>
      Effect.gen(function* () {
        const { run } = yield* Sandbox
        const { code, stderr, stdout } = yield* run(page)
        const { line, text } = lastBlock(stderr)
        if (code !== 0)
          assert.fail(
            `${page.path}:${line}: a command of this block ended with the exit code ${code}.\n${text}\n${stdout.slice(-2_000)}\n${remedy}`
          )
      })
    )
  }

  it.effect("a reader is shown the block whose command fails, and no later one runs", () =>
    Effect.gen(function* () {
      const { run } = yield* Sandbox
      const failing = [
        "false",
        "npx parley key list gone@example.com",
        "npm start",
        "curl $PARLEY_URL/v1/files"
      ]
      for (const command of failing) {
        const blocks = ["export PORT=many", `${command}\necho first`, "echo second"]
        const text = blocks.map((block) => `\`\`\`sh\n${block}\n\`\`\`\n`).join("\n")
        const { code, stderr, stdout } = yield* run(pageOf("a.md", text))
        assert.notStrictEqual(code, 0, command)
        assert.notMatch(stdout, /first|second/, command)
        assert.strictEqual(lastBlock(stderr).line, 5, command)
      }
    })
  )

  it.effect("a reader sees at the first start what README.md shows", () =>
    Effect.gen(function* () {
      const { firstStart } = yield* Sandbox
      const shown = current[0]?.blocks.find(({ language }) => language === "text")?.text.trim()
      assert.strictEqual(
        shown,
        firstStart,
        "README.md shows an older output: paste the one that was received"
      )
    })
  )

  it.effect("a reader finds the command line with npx in the directory of the project", () =>
    Effect.gen(function* () {
      const { stdout } = yield* Effect.promise(() =>
        promisify(execFile)("npx", ["parley", "--version"], { cwd: root })
      )
      assert.include(stdout, manifest.version)
    })
  )

  it.effect("a reader finds commands that no test runs written as a shell reads them", () =>
    Effect.gen(function* () {
      const { parse } = yield* Sandbox
      for (const page of current)
        for (const block of page.blocks.filter(
          ({ language, notRun }) => language === "sh" && notRun !== null
        )) {
          const { code, stderr } = yield* parse(block.text)
          assert.strictEqual(code, 0, `${place(page, block)}: ${stderr}`)
        }
    })
  )
})

const rows = new Map(
  Object.values(settingsTable).flatMap((group) =>
    Object.values<Setting<unknown>>(group).map((row) => [row.name, row] as const)
  )
)

/** Variables of the documentation that are no settings. */
const otherVariables = [
  "PARLEY_API_KEY",
  "PARLEY_URL",
  "PARLEY_BUILD_ID",
  "PARLEY_TEST_CHROMIUM",
  "PARLEY_TEST_DATABASE_URL",
  "PARLEY_TEST_PYTHON",
  "PARLEY_TEST_SCREENSHOTS"
]

const isVariable = (name: string): boolean =>
  rows.has(name) || rows.get(name.replace(/_FILE$/, ""))?.secret === true || otherVariables.includes(name)

/** Settings of a page that don't exist. */
const unknownSettings = (page: Page): ReadonlyArray<string> =>
  [...page.blocks, ...page.code].flatMap((one) =>
    [...one.text.matchAll(/\bPARLEY_[A-Z0-9_]*[A-Z0-9]\b(?!_?\*|…)/g)]
      .map(([name]) => name)
      .filter((name) => !isVariable(name))
      .map((name) => `${place(page, one)}: there is no setting ${name} in src/settings/SettingsTable.ts`)
  )

/** Examples of settings that the service would refuse. What is in a file can't be known here. */
const refusedSettings = (page: Page): ReadonlyArray<string> =>
  page.blocks
    .filter(({ language }) => language === "dotenv")
    .flatMap((block) =>
      Object.entries(parseEnv(block.text)).flatMap(([name, value = ""]) => {
        if (!isVariable(name)) return [`${place(page, block)}: there is no setting ${name}`]
        const row = rows.get(name)
        if (row === undefined || value.startsWith("/") || Option.isSome(row.parse(value))) return []
        return [`${place(page, block)}: ${name} must be ${row.allowed}`]
      })
    )

const languages = [
  "",
  "sh",
  "dotenv",
  "json",
  "yaml",
  "sql",
  "ts",
  "js",
  "python",
  "ini",
  "toml",
  "nginx",
  "text",
  "markdown",
  "promql"
]

describe("the documentation", () => {
  it("the documentation names only settings that exist, with values that are allowed", () => {
    assert.deepStrictEqual(current.flatMap(unknownSettings), [])
    assert.deepStrictEqual(current.flatMap(refusedSettings), [])
  })

  it("the documentation names the language of its code, and has only JSON that can be read", () => {
    for (const page of current)
      for (const block of page.blocks) {
        assert.include(
          languages,
          block.language,
          `${place(page, block)}: commands are \`sh\`, settings \`dotenv\`, what is printed \`text\`; or add the language to this list`
        )
        if (block.language === "json") assert.doesNotThrow(() => JSON.parse(block.text), place(page, block))
        if (block.notRun !== null) assert.isAtLeast(block.notRun.length, 10, `${place(page, block)}: say why`)
      }
  })

  it.effect("the documentation names only commands and flags of `parley` that exist", () =>
    Effect.gen(function* () {
      const faults: Array<string> = []
      for (const page of current) {
        const calls = [
          ...page.code.flatMap((one) => {
            const call = /^(?:npx )?parley (.+)$/s.exec(one.text)?.[1]
            return call === undefined || call === "COMMAND" ? [] : [{ line: one.line, call }]
          }),
          ...page.blocks
            .filter((block) => block.language === "sh" && !isRun(block))
            .flatMap(({ line, text }) => parleyCalls(text).map((call) => ({ line, call })))
        ]
        for (const { call, line } of calls) {
          const fault = yield* usageFault(call)
          if (fault !== null) faults.push(`${page.path}:${line}: ${fault}`)
        }
      }
      assert.deepStrictEqual(faults, [])
    })
  )

  it("the documentation calls the command line by `npx parley`", () => {
    const faults = current.flatMap((page) =>
      [...page.blocks.filter(({ language }) => language !== "text"), ...page.code]
        .filter(({ text }) => text.includes("npm run parley"))
        .map((one) => `${place(page, one)}: write \`npx parley\``)
    )
    assert.deepStrictEqual(faults, [])
  })
})

describe("the check of commands", () => {
  it.effect("the check of commands refuses a command and a flag that do not exist", () =>
    Effect.gen(function* () {
      assert.isNull(yield* usageFault("key create EMAIL --name NAME [--expires-in 30d]"))
      assert.isNull(yield* usageFault("doctor"))
      assert.strictEqual(yield* usageFault("key list --usr EMAIL --json"), "`parley key list` has no --usr")
      assert.strictEqual(yield* usageFault("key remove ID"), "there is no command `parley key remove ID`")
      assert.strictEqual(yield* usageFault("nothing"), "there is no command `parley nothing`")
    })
  )

  it("the check of commands finds an unknown setting, a refused value, and the calls in a block", () => {
    const page = pageOf("a.md", "`PARLEY_NOTHING`\n\n```dotenv\nPORT=many\nHOSTT=a\n```\n")
    assert.deepStrictEqual(unknownSettings(page), [
      "a.md:1: there is no setting PARLEY_NOTHING in src/settings/SettingsTable.ts"
    ])
    assert.deepStrictEqual(refusedSettings(page), [
      "a.md:3: there is no setting HOSTT",
      "a.md:3: PORT must be a whole number from 0 to 65535"
    ])
    assert.deepStrictEqual(parleyCalls("x=$(npx parley key list \\\n  --json | tail -1) # npx parley no\n"), [
      "key list --json"
    ])
  })

  it("the check of commands reads the comments in front of a block", () => {
    const [first, second] = pageOf(
      "a.md",
      "<!-- before:\nA=1\nB=2\n-->\n\n```sh\necho A\n```\n\n<!-- not run: it needs a cluster -->\n\n```sh\nkubectl\n```\n"
    ).blocks
    assert.deepInclude(first, { before: "A=1\nB=2", notRun: null, line: 6 })
    assert.deepInclude(second, { before: "", notRun: "it needs a cluster" })
  })
})
