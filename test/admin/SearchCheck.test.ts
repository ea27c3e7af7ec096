import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { searchCheck } from "../../src/admin/OutsideChecks.ts"
import type { Settings } from "../../src/settings/AppConfig.ts"
import { testConfig } from "../support/TestConfig.ts"

const checkOf = (tools: Partial<Settings["tools"]>) => searchCheck(testConfig({ tools }).tools)

describe("the check of the web search", () => {
  it("the check of the web search names the settings that turn the web search on", () => {
    const { detail, status } = checkOf({})
    assert.strictEqual(status, "ok")
    for (const name of ["PARLEY_SEARCH_PROVIDER", "PARLEY_SEARCH_URL", "PARLEY_SEARCH_API_KEY"]) {
      assert.include(detail, name)
    }
  })

  it("the check of the web search names the search provider, without its key", () => {
    const { detail, status } = checkOf({
      searchProvider: "searxng",
      searchUrl: "http://127.0.0.1:8888/searx",
      searchKey: Redacted.make("sesame-7")
    })
    assert.strictEqual(status, "ok")
    assert.include(detail, "searxng at http://127.0.0.1:8888 is asked")
    assert.notInclude(detail, "sesame")
    assert.include(checkOf({ searchProvider: "brave" }).detail, "brave is asked")
  })

  it("the check of the web search warns of a search provider that no tool uses", () => {
    const { detail, status } = checkOf({ searchProvider: "brave", enabled: ["calculator"] })
    assert.strictEqual(status, "warning")
    assert.include(detail, "PARLEY_TOOLS")
  })
})
