import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { grouped, summaryOf } from "../../../../src/console/app/pages/administration/health/checks.ts"
import {
  isChanged,
  isSecret,
  settingsFor
} from "../../../../src/console/app/pages/administration/health/settings.ts"
import { describeSettings } from "../../../../src/settings/AppConfig.ts"
import { testConfig } from "../../../support/TestConfig.ts"

const check = (name: string, status: "ok" | "warning" | "failed") => ({ name, status, detail: "" })

describe("the checks of an installation", () => {
  it("the checks of an installation are grouped by their outcome, the worst first", () => {
    const groups = grouped([check("a", "ok"), check("b", "failed"), check("c", "ok"), check("d", "warning")])
    assert.deepStrictEqual(
      groups.map(({ checks, status }) => [status, ...checks.map(({ name }) => name)]),
      [
        ["failed", "b"],
        ["warning", "d"],
        ["ok", "a", "c"]
      ]
    )
    assert.deepStrictEqual(grouped([]), [])
  })

  it("the checks of an installation are summed up in a sentence", () => {
    assert.strictEqual(summaryOf([check("a", "ok")]), "Everything is in order.")
    assert.strictEqual(summaryOf([check("a", "warning")]), "Nothing failed. There is 1 warning.")
    assert.strictEqual(
      summaryOf([check("a", "failed"), check("b", "warning"), check("c", "warning")]),
      "1 of 3 checks failed. There are 2 warnings."
    )
  })
})

const setting = (name: string, value: string | null, byDefault: string | null, description = "") => ({
  name,
  value,
  default: byDefault,
  description
})

describe("the list of settings", () => {
  it("the list of settings is searched by words of names and descriptions, in any order and case", () => {
    const port = setting("PORT", "3000", "3000", "The port to listen on.")
    const host = setting("HOST", "0.0.0.0", "127.0.0.1", "The address to listen on.")
    const all = [port, host]
    assert.deepStrictEqual(settingsFor(all, { text: "", isChangedOnly: false }), all)
    assert.deepStrictEqual(settingsFor(all, { text: "Listen PORT", isChangedOnly: false }), [port])
    assert.deepStrictEqual(settingsFor(all, { text: "listen", isChangedOnly: true }), [host])
    assert.deepStrictEqual(settingsFor(all, { text: "  nothing ", isChangedOnly: false }), [])
  })

  it("isSecret recognizes a setting whose value the service has redacted", () => {
    const settings = describeSettings(testConfig({ models: { openaiApiKey: Redacted.make("sk-secret") } }))
    const key = settings.find(({ name }) => name === "OPENAI_API_KEY")
    assert.isTrue(key !== undefined && isSecret(key) && isChanged(key))
    assert.isFalse(isSecret(setting("PORT", "3000", "3000")))
  })
})
