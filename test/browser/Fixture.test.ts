import { createServer } from "node:http"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"
import { browserTests } from "./browserTests.ts"
import { accessibilityProblems, overflowOf } from "./Checks.ts"
import { browse, visit } from "./Visit.ts"

/**
 * Serves one page with a policy that allows scripts of its own origin, and says what the page does that no
 * page may.
 */
const faultsOf = Effect.fnUntraced(function* (body: string, expected: ReadonlyArray<RegExp> = []) {
  const server = createServer((request, response) => {
    const isScript = request.url === "/script.js"
    response.writeHead(request.url === "/missing" ? 404 : 200, {
      "content-type": isScript ? "text/javascript" : "text/html",
      "content-security-policy": "script-src 'self'"
    })
    response.end(isScript ? "console.error('logged'); throw new Error('thrown')" : body)
  })
  const origin = `http://127.0.0.1:${yield* serveOnLoopback(server)}`
  const { faults } = yield* visit(origin, { path: "/", expected }, (page) => page.evaluate("0"))
  return faults.map((fault) => fault.replaceAll(origin, ""))
})

const page = (body: string) =>
  `<!doctype html><html lang="en"><title>Test</title><link rel="icon" href="/script.js">${body}`

browserTests("A visit of a page", (it) => {
  it.effect("the fixture reports what the policy refuses, errors, and requests to other origins", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* faultsOf(page("<h1>Fine</h1>")), [])
      const inline = yield* faultsOf(page("<script>document.title = 'x'</script>"))
      assert.lengthOf(inline, 1)
      assert.match(inline[0] ?? "", /^console: .*Content Security Policy/)
      const failing = yield* faultsOf(page('<script src="/script.js"></script>'))
      assert.lengthOf(failing, 2)
      assert.match(failing.toSorted().join("\n"), /^console: logged .*\nscript: Error: thrown/)
      const other = yield* faultsOf(page('<img alt="" src="http://127.0.0.1:9/image">'), [/^console/])
      assert.deepStrictEqual(other, ["request to another origin: http://127.0.0.1:9/image"])
      const missing = page('<img alt="" src="/missing">')
      assert.lengthOf(yield* faultsOf(missing), 1)
      assert.deepStrictEqual(yield* faultsOf(missing, [/status of 404/]), [])
    })
  )

  it.effect("the fixture finds barriers and pages that are wider than the window", () =>
    Effect.gen(function* () {
      const [problems, overflow] = yield* browse(
        async (page) => {
          await page.goto("about:blank")
          await page.setContent(
            '<html lang="en"><title>x</title><main style="width: 400px"><img src="data:,"></main>'
          )
          return [await accessibilityProblems(page), await overflowOf(page)] as const
        },
        { width: 360, expected: [/./] }
      )
      assert.lengthOf(problems, 1)
      assert.match(problems[0] ?? "", /^image-alt: /)
      assert.isAbove(overflow, 0)
    })
  )

  it.effect("the fixture has the color scheme and the width that are asked for", () =>
    Effect.gen(function* () {
      for (const colorScheme of ["light", "dark"] as const) {
        const seen = yield* browse(
          (page) =>
            page.evaluate<[boolean, number]>(
              `[matchMedia("(prefers-color-scheme: ${colorScheme})").matches, window.innerWidth]`
            ),
          { width: 360, colorScheme, expected: [/./] }
        )
        assert.deepStrictEqual(seen, [true, 360])
      }
    })
  )
})
