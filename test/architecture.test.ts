import { assert, describe, it } from "@effect/vitest"
import { fileURLToPath } from "node:url"
import type { Exception } from "../scripts/architecture/Exceptions.ts"
import { fileLinesMax, functionLinesMax } from "../scripts/architecture/Lengths.ts"
import { sourceOf } from "../scripts/architecture/Source.ts"
import { applyExceptions, checkProject, checkSource, violationText } from "../scripts/check-architecture.ts"

const dependencies = ["effect", "@effect/platform-node", "@effect/sql-pg", "gpt-tokenizer"]

/** The rules that the text breaks as that file, and the lines. */
const broken = (path: string, text: string): ReadonlyArray<string> =>
  checkSource(sourceOf(path, text), dependencies).map(({ line, rule }) => `${rule}:${line}`)

it("the project keeps its architecture", () => {
  const root = fileURLToPath(new URL("..", import.meta.url))
  assert.deepStrictEqual(checkProject(root).map(violationText), [])
})

describe("arrows", () => {
  const floors: ReadonlyArray<readonly [from: string, to: string, isAllowed: boolean]> = [
    ["domain/Item", "domain/Ids", true],
    ["domain/Item", "api/Api", false],
    ["domain/Item", "settings/AppConfig", false],
    ["api/Api", "domain/Item", true],
    ["api/Api", "settings/AppConfig", false],
    ["api/Api", "usage/Usage", false],
    ["settings/AppConfig", "domain/Account", true],
    ["settings/AppConfig", "auth/ApiKeys", false],
    ["sql/Database", "settings/AppConfig", true],
    ["sql/Database", "auth/ApiKeys", false],
    ["auth/ApiKeys", "sql/Database", true],
    ["auth/ApiKeys", "usage/Usage", false],
    ["auth/ApiKeys", "api/Api", false],
    ["routing/Router", "conversations/Conversations", false],
    ["routing/Router", "providers/ModelServer", true],
    ["providers/ModelServer", "routing/Router", false],
    ["plans/Policy", "auth/Accounts", false],
    ["postgres/PostgresHome", "sql/Database", false],
    ["files/FileStore", "documents/Charset", true],
    ["documents/Charset", "sql/Database", false],
    ["documents/Charset", "files/FileStore", false],
    ["responses/Responses", "routing/Router", true],
    ["responses/Responses", "http/Sse", false],
    ["http/Sse", "responses/Responses", true],
    ["http/Sse", "admin/AdminApi", false],
    ["admin/AdminApi", "http/ErrorBoundary", true],
    ["admin/AdminApi", "cli/AdminClient", false],
    ["cli/AdminClient", "admin/AdminApi", true],
    ["admin/AdminApi", "App", false],
    ["App", "http/Sse", true],
    ["main", "App", true]
  ]
  for (const [from, to, isAllowed] of floors) {
    it(`${from} ${isAllowed ? "may" : "must not"} import ${to}`, () => {
      const up = from.includes("/") ? "../" : "./"
      assert.deepStrictEqual(
        broken(`src/${from}.ts`, `\nimport { A } from "${up}${to}.ts"`),
        isAllowed ? [] : ["arrow:2"]
      )
    })
  }

  it("hold for types, exports and late imports as well", () => {
    for (const text of [
      'import type { A } from "../api/Api.ts"',
      'export { A } from "../api/Api.ts"',
      'export * from "../api/Api.ts"',
      'const late = () => import("../api/Api.ts")'
    ]) {
      assert.deepStrictEqual(broken("src/usage/Usage.ts", text), ["arrow:1"])
    }
  })

  it("end at src", () => {
    assert.deepStrictEqual(
      broken("src/sql/Database.ts", 'import { A } from "../../migrations/0001_a.ts"'),
      []
    )
    assert.deepStrictEqual(broken("src/usage/Usage.ts", 'import { A } from "../../migrations/0001_a.ts"'), [
      "arrow:1"
    ])
    assert.deepStrictEqual(broken("src/main.ts", 'import { A } from "../test/support/A.ts"'), ["arrow:1"])
    assert.deepStrictEqual(
      broken("src/main.ts", 'import about from "../package.json" with { type: "json" }'),
      []
    )
  })
})

describe("confined modules", () => {
  const modules: ReadonlyArray<readonly [text: string, allowed: string, refused: string]> = [
    ['import { HttpApi } from "effect/http-api"', "src/api/Api.ts", "src/responses/Responses.ts"],
    ['import { HttpRouter } from "effect/http"', "src/http/Server.ts", "src/responses/Responses.ts"],
    ['import { HttpServerResponse } from "effect/http"', "src/admin/AdminApi.ts", "src/routing/Router.ts"],
    ['import * as Server from "effect/http/HttpServer"', "src/App.ts", "src/api/Api.ts"],
    ['import { HttpClient } from "effect/http"', "src/providers/OpenAiChat.ts", "src/http/Server.ts"],
    ['import { HttpClient as Client } from "effect/http"', "src/tools/Egress.ts", "src/usage/Usage.ts"],
    ['import { FetchHttpClient } from "effect/http"', "src/cli/AdminClient.ts", "src/admin/AdminApi.ts"],
    ['import { NodeHttpServer } from "@effect/platform-node"', "src/http/Server.ts", "src/routing/Router.ts"],
    ['import { Undici } from "@effect/platform-node"', "src/providers/Upstream.ts", "src/http/Server.ts"],
    [
      'import { Undici } from "@effect/platform-node"',
      "src/retrieval/vectors/Embeddings.ts",
      "src/retrieval/Retrieval.ts"
    ],
    ['import { SqlClient } from "effect/sql"', "src/usage/Usage.ts", "src/responses/Responses.ts"],
    ['import { PgClient } from "@effect/sql-pg"', "src/sql/Database.ts", "src/http/Server.ts"],
    ['import { join } from "node:path"', "src/settings/AppConfig.ts", "src/responses/Responses.ts"],
    ['import { createServer } from "node:http"', "src/http/Server.ts", "src/http/Sse.ts"],
    [
      'import { CurrentUser } from "../domain/Account.ts"',
      "src/responses/Responses.ts",
      "src/usage/Usage.ts"
    ],
    [
      'import { proveMembership } from "../domain/Project.ts"',
      "src/plans/Policy.ts",
      "src/responses/Responses.ts"
    ],
    ['import * as Project from "../domain/Project.ts"', "src/plans/Policy.ts", "src/admin/AdminApi.ts"],
    ['import { encode } from "gpt-tokenizer"', "src/providers/Tokenizer.ts", "src/domain/Tokens.ts"]
  ]
  for (const [text, allowed, refused] of modules) {
    it(`${text} is for ${allowed}, not for ${refused}`, () => {
      assert.deepStrictEqual(broken(allowed, text), [])
      assert.deepStrictEqual(broken(refused, text), ["confined:1"])
    })
  }

  it("may be named by a type", () => {
    const text =
      'import type { CurrentUser } from "../domain/Account.ts"\nimport { type SqlClient } from "effect/sql"'
    assert.deepStrictEqual(broken("src/usage/Usage.ts", text), [])
  })

  it("are not imported as a whole with others", () => {
    assert.deepStrictEqual(broken("src/usage/Usage.ts", 'import * as Http from "effect/http"'), [
      "confined:1"
    ])
    assert.deepStrictEqual(broken("src/usage/Usage.ts", 'export * from "@effect/platform-node"'), [
      "confined:1"
    ])
  })
})

describe("packages", () => {
  it("are dependencies, and of this version of Effect", () => {
    for (const name of [
      "vitest",
      "effect-other",
      "effect/unstable/http",
      "@effect/platform",
      "@effect/schema/Schema"
    ]) {
      assert.deepStrictEqual(broken("src/usage/Usage.ts", `import { A } from "${name}"`), ["package:1"], name)
    }
    assert.deepStrictEqual(broken("src/usage/Usage.ts", 'import { A } from "effect/Schema"'), [])
  })
})

describe("words", () => {
  for (const text of [
    "const a = process.env",
    "const a = globalThis.process.env",
    'const a = process.env["A"]',
    "console.log(1)",
    "const a = Date.now()",
    "const a = new Date()",
    "const a = performance.now()",
    "const a = Math.random()",
    "setTimeout(f, 1)",
    "setInterval(f, 1)",
    'const a = JSON.parse("1")',
    "Effect.runPromise(a)",
    "const f = function* () { try { yield* a } catch { b() } }"
  ]) {
    it(`${text} is not for src`, () => {
      assert.deepStrictEqual(broken("src/usage/Usage.ts", `\n${text}`), ["word:2"])
      assert.deepStrictEqual(broken("scripts/bench/load.ts", `\n${text}`), [])
    })
  }

  it("are not found in comments, texts and other names", () => {
    const text = [
      "// console.log and Date.now()",
      'const a = "Math.random() process.env"',
      "const b = DateTime.now",
      "const c = JSON.stringify(1)",
      "const d = new Date(0)",
      "const e = () => { try { return f() } catch { return null } }",
      "const g = function* () { try { yield* a } finally { b() } }"
    ]
    assert.deepStrictEqual(broken("src/usage/Usage.ts", text.join("\n")), [])
  })

  it("include state of a module", () => {
    assert.deepStrictEqual(broken("src/usage/Usage.ts", "let a = 1\nexport let b = 2"), [
      "state:1",
      "state:2"
    ])
    assert.deepStrictEqual(broken("src/usage/Usage.ts", "const f = () => { let a = 1; return a }"), [])
  })

  it("include tests that are left out", () => {
    for (const word of ["it.only", "it.effect.skip", "describe.skip", "it.todo"]) {
      assert.deepStrictEqual(broken("test/a.test.ts", `${word}("a", f)`), ["test:1"], word)
    }
    assert.deepStrictEqual(broken("test/a.test.ts", 'it.effect("a", f)'), [])
  })
})

describe("names of files", () => {
  it("say what is inside", () => {
    for (const name of ["index", "utils", "util", "common", "helpers", "misc", "UserManager", "UsageLive"]) {
      assert.deepStrictEqual(broken(`src/usage/${name}.ts`, ""), ["name:1"], name)
    }
    assert.deepStrictEqual(broken("src/usage/Usage.ts", ""), [])
  })
})

describe("lengths", () => {
  const lines = (count: number, line = "a()") => Array.from({ length: count }, () => line).join("\n")
  const functionOf = (count: number) => `const f = () => {\n${lines(count - 2)}\n}`

  it(`are at most ${fileLinesMax} lines for a file`, () => {
    assert.deepStrictEqual(broken("src/usage/Usage.ts", `${lines(fileLinesMax)}\n`), [])
    assert.deepStrictEqual(broken("src/usage/Usage.ts", lines(fileLinesMax + 1)), [
      `file length:${fileLinesMax + 1}`
    ])
  })

  it(`are at most ${functionLinesMax} lines for a function`, () => {
    assert.deepStrictEqual(broken("src/usage/Usage.ts", functionOf(functionLinesMax)), [])
    assert.deepStrictEqual(broken("src/usage/Usage.ts", functionOf(functionLinesMax + 1)), [
      "function length:1"
    ])
  })

  it("count a function with a name for itself, not for what is around it", () => {
    const service = (inner: string) => `const layer = make(function* () {\n${inner}\nreturn 1\n})`
    const methods = service(`${functionOf(60)}\n${functionOf(60)}`)
    assert.deepStrictEqual(broken("src/usage/Usage.ts", methods), [])
    assert.deepStrictEqual(broken("src/usage/Usage.ts", service(functionOf(71))), ["function length:2"])
    assert.deepStrictEqual(broken("src/usage/Usage.ts", service(lines(70, "g(() => 1)"))), [
      "function length:1"
    ])
  })
})

describe("exceptions", () => {
  const exception: Exception = { path: "src/a.ts", rule: "word", about: "Date.now", reason: "a test" }
  const violation = { path: "src/a.ts", line: 3, rule: "word", message: "Date.now is not used here" }

  it("cover what they are about, and nothing else", () => {
    assert.deepStrictEqual(applyExceptions([violation], [exception]), [])
    for (const other of [
      { ...violation, path: "src/b.ts" },
      { ...violation, rule: "state" },
      { ...violation, message: "console.log is not used here" }
    ]) {
      assert.include(applyExceptions([violation, other], [exception]), other)
    }
  })

  it("are a violation when nothing needs them", () => {
    assert.deepStrictEqual(
      applyExceptions([], [exception]).map(({ rule }) => rule),
      ["exception"]
    )
  })
})
