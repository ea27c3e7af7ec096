import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import type { Exception } from "../scripts/architecture/Exceptions.ts"
import { functionLinesMax, layerLinesMax } from "../scripts/architecture/Lengths.ts"
import { sourceOf } from "../scripts/architecture/Source.ts"
import { checkSplinters, fileLinesMin } from "../scripts/architecture/Splinters.ts"
import { applyExceptions, checkProject, checkSource, violationText } from "../scripts/check-architecture.ts"
import { removeDirectory } from "./support/removeDirectory.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

/**
 * Runs oxlint with the rules of the project over these files, and returns the rules that each of them breaks.
 */
const lint = (files: ReadonlyMap<string, string>): ReadonlyMap<string, ReadonlyArray<string>> => {
  const directory = mkdtempSync(join(tmpdir(), "parley-lint-"))
  try {
    for (const [path, text] of files) {
      mkdirSync(dirname(join(directory, path)), { recursive: true })
      writeFileSync(join(directory, path), `${text}\n`)
    }
    const config = `export { default } from ${JSON.stringify(join(root, "oxlint.config.ts"))}\n`
    writeFileSync(join(directory, "oxlint.config.ts"), config)
    const oxlint = join(root, "node_modules/oxlint/bin/oxlint")
    const args = [oxlint, "-f", "unix"]
    const { stderr, stdout } = spawnSync(process.execPath, args, { cwd: directory, encoding: "utf8" })
    assert.strictEqual(stderr, "")
    const problems = [...stdout.matchAll(/^(.+?):\d+:\d+: .*\[Error\/\w+\(([\w-]+)\)\]$/gm)]
    return new Map(
      [...files.keys()].map((path) => [
        path,
        problems.filter(([, file]) => file === path).map(([, , rule]) => rule ?? "")
      ])
    )
  } finally {
    removeDirectory(directory)
  }
}

/** The rules that the text breaks as that file, and the lines. */
const broken = (path: string, text: string): ReadonlyArray<string> =>
  checkSource(sourceOf(path, text)).map(({ line, rule }) => `${rule}:${line}`)

it("the project has no violation of its architecture", () => {
  assert.deepStrictEqual(checkProject(root).map(violationText), [])
})

describe("oxlint", () => {
  interface Case {
    readonly path: string
    readonly text: string
    readonly rule: string
    readonly isBroken: boolean
  }
  const cases: Array<Case> = []
  /** A file of that room with a name of its own, unless the path names the file. */
  const add = (rule: string, isBroken: boolean, path: string, text: string) =>
    cases.push({ rule, isBroken, text, path: path.endsWith(".ts") ? path : `${path}/Case${cases.length}.ts` })

  const arrows: ReadonlyArray<readonly [from: string, to: string, isAllowed: boolean]> = [
    ["src/domain", "../domain/Ids.ts", true],
    ["src/domain", "../api/Api.ts", false],
    ["src/domain", "../settings/AppConfig.ts", false],
    ["src/api", "../domain/Conversation.ts", true],
    ["src/api", "../settings/AppConfig.ts", false],
    ["src/api", "../usage/Usage.ts", false],
    ["src/sdk", "../api/Api.ts", true],
    ["src/sdk", "../settings/AppConfig.ts", false],
    ["src/usage", "../sdk/ParleyClient.ts", false],
    ["src/settings", "../domain/Account.ts", true],
    ["src/settings", "../auth/ApiKeys.ts", false],
    ["src/sql", "../settings/AppConfig.ts", true],
    ["src/sql", "../auth/ApiKeys.ts", false],
    ["src/sql", "../../migrations/0001_a.ts", true],
    ["src/auth", "../sql/Database.ts", true],
    ["src/auth", "../plans/Policy.ts", true],
    ["src/auth", "../usage/Usage.ts", false],
    ["src/auth", "../api/Api.ts", false],
    ["src/usage", "../../migrations/0001_a.ts", false],
    ["src/routing", "../conversations/Conversations.ts", false],
    ["src/routing", "../providers/ModelServer.ts", true],
    ["src/providers", "../routing/Router.ts", false],
    ["src/plans", "../auth/Accounts.ts", false],
    ["src/postgres", "../sql/Database.ts", false],
    ["src/files", "../documents/Charset.ts", true],
    ["src/files/blobs", "../../retrieval/Retrieval.ts", false],
    ["src/retrieval/vectors", "../../usage/Usage.ts", false],
    ["src/retrieval", "../projects/Projects.ts", false],
    ["src/projects", "../retrieval/Retrieval.ts", true],
    ["src/projects", "../files/FileStore.ts", false],
    ["src/documents", "../sql/Database.ts", false],
    ["src/responses", "../routing/Router.ts", true],
    ["src/responses", "../http/Sse.ts", false],
    ["src/http", "../responses/Responses.ts", true],
    ["src/http", "../admin/AdminApi.ts", false],
    ["src/admin", "../http/ErrorBoundary.ts", true],
    ["src/admin", "../cli/AdminClient.ts", false],
    ["src/admin", "../App.ts", false],
    ["src/console", "../admin/AdminRoutes.ts", true],
    ["src/console", "./app/router.tsx", false],
    ["src/Service.ts", "./console/app/router.tsx", false],
    ["src/console/app/pages", "../../../admin/AdminApi.ts", true],
    ["src/console/app/pages", "../../SessionApi.ts", true],
    ["src/console/app/pages", "../../../auth/ApiKeys.ts", false],
    ["src/console/app/pages", "../../../http/Routes.ts", false],
    ["src/cli", "../admin/AdminApi.ts", true],
    ["src/App.ts", "./http/Sse.ts", true],
    ["src/main.ts", "../test/support/A.ts", false],
    ["src/settings/Build.ts", "../../package.json", true],
    ["src/cli", "../../package.json", false],
    ["src/usage", "../../package.json", false]
  ]
  for (const [from, to, isAllowed] of arrows) {
    add("no-restricted-imports", !isAllowed, from, `import { A } from "${to}"\nexport const a = A`)
  }
  for (const text of [
    'import type { A } from "../api/Api.ts"',
    'export { A } from "../api/Api.ts"',
    'export * from "../api/Api.ts"',
    'export const late = () => import("../api/Api.ts")'
  ]) {
    add("no-restricted-imports", true, "src/usage", text)
  }

  const confined: ReadonlyArray<readonly [text: string, allowed: string, refused: string]> = [
    ['import { HttpApi } from "effect/http-api"', "src/api", "src/responses"],
    ['import { HttpRouter } from "effect/http"', "src/http", "src/responses"],
    ['import { HttpServerResponse } from "effect/http"', "src/admin", "src/routing"],
    ['import * as Server from "effect/http/HttpServer"', "src/http", "src/api"],
    ['import { HttpClient } from "effect/http"', "src/providers", "src/http"],
    ['import { HttpClient as Client } from "effect/http"', "src/tools/Egress.ts", "src/usage"],
    ['import { FetchHttpClient } from "effect/http"', "src/cli", "src/admin"],
    ['import { NodeHttpServer } from "@effect/platform-node"', "src/http", "src/routing"],
    ['import { Undici } from "@effect/platform-node"', "src/providers", "src/http"],
    ['import { Undici } from "@effect/platform-node"', "src/retrieval/vectors", "src/retrieval"],
    ['import { SqlClient } from "effect/sql"', "src/usage", "src/responses"],
    ['import { PgClient } from "@effect/sql-pg"', "src/sql", "src/http"],
    ['import { join } from "node:path"', "src/settings", "src/responses"],
    ['import { createServer } from "node:http"', "src/http/Server.ts", "src/http"],
    ['import { CurrentUser } from "../domain/Account.ts"', "src/responses", "src/usage"],
    ['import { proveMembership } from "../domain/Project.ts"', "src/plans/Policy.ts", "src/responses"]
  ]
  for (const [text, allowed, refused] of confined) {
    add("no-restricted-imports", false, allowed, text)
    add("no-restricted-imports", true, refused, text)
  }
  add("no-restricted-imports", false, "src/usage", 'import type { CurrentUser } from "../domain/Account.ts"')
  add("no-restricted-imports", false, "src/responses", 'import { type SqlClient } from "effect/sql"')
  add("no-restricted-imports", true, "src/usage", 'import * as Http from "effect/http"')
  add("no-restricted-imports", true, "src/admin", 'import * as Project from "../domain/Project.ts"')

  for (const [rule, text] of [
    ["no-restricted-properties", "export const a = process.env"],
    ["no-restricted-properties", "export const a = globalThis.process.env"],
    ["no-restricted-properties", 'export const a = process.env["A"]'],
    ["no-restricted-properties", "export const a = Date.now()"],
    ["no-restricted-properties", "export const a = performance.now()"],
    ["no-restricted-properties", "export const a = Math.random()"],
    ["no-restricted-properties", 'export const a = JSON.parse("1")'],
    ["no-restricted-properties", "export const a = Effect.runPromise(b)"],
    ["no-restricted-globals", "setTimeout(f, 1)"],
    ["no-restricted-globals", "setInterval(f, 1)"],
    ["no-console", "console.log(1)"]
  ] as const) {
    add(rule, true, "src/usage", text)
    add(rule, false, "scripts/bench", text)
  }
  add("no-restricted-properties", false, "src/usage", '// Date.now()\nexport const a = "Math.random()"')
  add("no-restricted-properties", false, "src/usage", "export const a = [DateTime.now, JSON.stringify(1)]")
  add("no-restricted-properties", true, "test", 'it.effect.only("a", f)')
  add("no-restricted-properties", true, "test", 'describe.skip("a", f)')
  add("warn-todo", true, "test/a.test.ts", 'it.todo("a")')
  add("max-lines", true, "src/usage", "f()\n".repeat(400))

  const found = lint(new Map(cases.map(({ path, text }) => [path, text])))
  for (const { isBroken, path, rule, text } of cases) {
    it(`${rule} ${isBroken ? "rejects" : "accepts"} ${text.slice(0, 80)} in ${path}`, () => {
      assert.strictEqual(found.get(path)?.includes(rule), isBroken)
    })
  }
})

describe("the architecture check", () => {
  it("the check rejects the current date, try and catch in a generator, and state of a module", () => {
    const text = [
      "const a = new Date()",
      "const f = function* () { try { yield* a } catch { b() } }",
      "let b = 1",
      "export let c = 2"
    ].join("\n")
    assert.deepStrictEqual(broken("src/usage/Usage.ts", text), ["word:1", "word:2", "state:3", "state:4"])
    assert.deepStrictEqual(broken("scripts/bench/load.ts", text), [])
  })

  it("the check accepts other dates, try and finally in a generator, and state of a function", () => {
    const text = [
      "const a = new Date(0)",
      "const b = () => { try { return f() } catch { return null } }",
      "const c = function* () { try { yield* a } finally { b() } }",
      "const d = () => { let a = 1; return a }"
    ].join("\n")
    assert.deepStrictEqual(broken("src/usage/Usage.ts", text), [])
  })

  it("the check rejects packages that are no dependencies, and all but effect in domain", () => {
    for (const name of ["vitest", "effect-other", "effect/unstable/http", "@effect/platform"]) {
      assert.deepStrictEqual(broken("src/usage/Usage.ts", `import { A } from "${name}"`), ["package:1"], name)
    }
    assert.deepStrictEqual(broken("src/usage/Usage.ts", 'import { A } from "effect/Schema"'), [])
    assert.deepStrictEqual(broken("src/domain/Tokens.ts", 'import { A } from "effect/Schema"'), [])
    assert.deepStrictEqual(broken("src/domain/Tokens.ts", 'import { encode } from "gpt-tokenizer"'), [
      "package:1"
    ])
    assert.deepStrictEqual(broken("src/usage/Usage.ts", 'import { useState } from "react"'), ["package:1"])
    assert.deepStrictEqual(broken("src/console/app/App.tsx", 'import { useState } from "react"'), [])
    assert.deepStrictEqual(broken("src/console/app/App.tsx", 'import { join } from "node:path"'), [
      "package:1"
    ])
  })

  it("the check rejects imports of the browser's part that are no contracts", () => {
    const path = "src/console/app/pages/HomePage.tsx"
    for (const module of [
      "../../SessionApi.ts",
      "../../PagePaths.ts",
      "../../../admin/AdminApi.ts",
      "../ui/Page.tsx"
    ]) {
      assert.deepStrictEqual(broken(path, `import { A } from "${module}"`), [], module)
    }
    for (const module of [
      "../../SameOriginRule.ts",
      "../../../admin/AdminRoutes.ts",
      "../../../auth/ApiKeys.ts"
    ]) {
      assert.deepStrictEqual(broken(path, `export { A } from "${module}"`), ["browser:1"], module)
    }
  })

  it("the check rejects keys of services that don't name their folder and themselves", () => {
    const service = (key: string) => `export class Usage extends Context.Service<Usage, {}>()("${key}") {}`
    const reference = (key: string) => `export const Network = Context.Reference<Usage>("${key}", {})`
    for (const key of ["parley/Usage", "parley/files/Usage", "parley/usage/Usages"]) {
      assert.deepStrictEqual(broken("src/usage/Usage.ts", service(key)), ["service key:1"], key)
    }
    assert.deepStrictEqual(broken("src/usage/Usage.ts", service("parley/usage/Usage")), [])
    assert.deepStrictEqual(broken("src/tools/egress/Net.ts", reference("parley/tools/Network")), [
      "service key:1"
    ])
    assert.deepStrictEqual(broken("src/tools/egress/Net.ts", reference("parley/tools/egress/Network")), [])
    assert.deepStrictEqual(broken("src/usage/Usage.ts", 'export const a = f("parley/api")'), [])
  })

  it("the check rejects names of files that say nothing", () => {
    for (const name of ["index", "utils", "util", "common", "helpers", "misc", "UserManager", "UsageLive"]) {
      assert.deepStrictEqual(broken(`src/usage/${name}.ts`, ""), ["name:1"], name)
    }
    assert.deepStrictEqual(broken("src/usage/Usage.ts", ""), [])
  })
})

describe("the length rule", () => {
  const lines = (count: number, line = "a()") => Array.from({ length: count }, () => line).join("\n")
  const functionOf = (count: number) => `const f = () => {\n${lines(count - 2)}\n}`

  it(`the length rule allows a function at most ${functionLinesMax} lines`, () => {
    assert.deepStrictEqual(broken("src/usage/Usage.ts", functionOf(functionLinesMax)), [])
    assert.deepStrictEqual(broken("src/usage/Usage.ts", functionOf(functionLinesMax + 1)), [
      "function length:1"
    ])
  })

  it("the length rule counts a function with all that is inside of it", () => {
    const inner = functionOf(functionLinesMax - 1)
    const outer = `const outer = () => {\n${inner}\nreturn 1\n}`
    assert.deepStrictEqual(broken("src/usage/Usage.ts", outer), ["function length:1"])
  })

  it(`the length rule allows a layer at most ${layerLinesMax} lines`, () => {
    const layerOf = (inner: string) =>
      `const layer = Layer.effect(Usage, Effect.gen(function* () {\n${inner}\n}))`
    assert.deepStrictEqual(broken("src/usage/Usage.ts", layerOf(lines(layerLinesMax - 2))), [])
    assert.deepStrictEqual(broken("src/usage/Usage.ts", layerOf(lines(layerLinesMax - 1))), [
      "function length:1"
    ])
    assert.deepStrictEqual(broken("src/usage/Usage.ts", layerOf(functionOf(functionLinesMax + 1))), [
      "function length:2"
    ])
  })

  it(`the length rule allows the generator of an exported make… at most ${layerLinesMax} lines`, () => {
    const constructorOf = (name: string, count: number) =>
      `export const ${name} = Effect.gen(function* () {\n${lines(count - 2)}\n})`
    assert.deepStrictEqual(broken("src/usage/Usage.ts", constructorOf("makeTable", layerLinesMax)), [])
    assert.deepStrictEqual(broken("src/usage/Usage.ts", constructorOf("makeTable", layerLinesMax + 1)), [
      "function length:1"
    ])
    assert.deepStrictEqual(broken("src/usage/Usage.ts", constructorOf("readTable", functionLinesMax + 1)), [
      "function length:1"
    ])
    assert.deepStrictEqual(broken("src/usage/Usage.ts", `export const make = ${functionOf(80).slice(10)}`), [
      "function length:1"
    ])
  })
})

describe("the rule about splinters", () => {
  const short = "export const a = 1\n"
  const long = "a()\n".repeat(fileLinesMin)
  const importer = 'import { a } from "./Window.ts"\n'
  const splinters = (files: Readonly<Record<string, string>>) =>
    checkSplinters(Object.entries(files).map(([path, text]) => sourceOf(path, text))).map(({ path }) => path)

  it("the check rejects a short file that one file of its room imports", () => {
    const files = { "src/usage/Usage.ts": importer, "src/usage/Window.ts": short }
    assert.deepStrictEqual(splinters(files), ["src/usage/Window.ts"])
  })

  it("the check accepts a short file that another room, two files or no file imports", () => {
    const outside = 'import { a } from "../usage/Window.ts"\n'
    const shared = { "src/usage/Usage.ts": importer, "src/usage/KeyRates.ts": importer }
    assert.deepStrictEqual(splinters({ "src/http/Sse.ts": outside, "src/usage/Window.ts": short }), [])
    assert.deepStrictEqual(splinters({ ...shared, "src/usage/Window.ts": short }), [])
    assert.deepStrictEqual(splinters({ "src/usage/Window.ts": short }), [])
  })

  it(`the check accepts a file of ${fileLinesMin} lines, and short pages of the web application`, () => {
    assert.deepStrictEqual(splinters({ "src/usage/Usage.ts": importer, "src/usage/Window.ts": long }), [])
    const app = { "src/console/app/Home.ts": importer, "src/console/app/Window.ts": short }
    assert.deepStrictEqual(splinters(app), [])
  })
})

describe("exceptions", () => {
  const exception: Exception = { path: "src/a.ts", about: "Date.now", reason: "a test" }
  const violation = { path: "src/a.ts", line: 3, rule: "word", message: "Date.now is not used here" }

  it("the exceptions cover the violations that they name, and no others", () => {
    assert.deepStrictEqual(applyExceptions([violation], [exception]), [])
    for (const other of [
      { ...violation, path: "src/b.ts" },
      { ...violation, message: "console.log is not used here" }
    ]) {
      assert.include(applyExceptions([violation, other], [exception]), other)
    }
  })

  it("exceptions are violations when nothing needs them", () => {
    assert.deepStrictEqual(
      applyExceptions([], [exception]).map(({ rule }) => rule),
      ["exception"]
    )
  })
})
