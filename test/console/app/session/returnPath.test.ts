import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { placeOf, returnPath } from "../../../../src/console/app/session/returnPath.ts"

const origin = "https://parley.example.com"

/** The characters by which an address comes to have another host. */
const tricky = Schema.Array(
  Schema.Literals(["/", "\\", "\t", "\n", "\r", "@", ":", "a", ".", "?", "#", "javascript:", " "])
)

describe("the path to return to after signing in", () => {
  it("returnPath returns a path of this application with its search", () => {
    for (const path of ["/", "/usage", "/usage?by=model#day", "/settings/api-keys"]) {
      assert.strictEqual(returnPath(path), path)
    }
  })

  it("returnPath returns nothing that names another host or scheme", () => {
    for (const path of [
      "//example.com",
      "/\\example.com",
      "/.//example.com",
      "/usage/..//example.com",
      "https://example.com",
      "javascript:alert(1)",
      "",
      "usage",
      "/\t/example.com",
      null,
      1,
      ["/"]
    ]) {
      assert.isUndefined(returnPath(path), String(path))
    }
  })

  it("placeOf keeps the search and the place in the page", () => {
    assert.deepStrictEqual(placeOf("/usage?by=model&days=7#day"), {
      to: "/usage",
      search: { by: "model", days: 7 },
      hash: "day"
    })
  })

  it.prop("returnPath never leads to another origin", [tricky], ([parts]) => {
    const path = returnPath(parts.join(""))
    if (path === undefined) return
    assert.strictEqual(new URL(path, origin).origin, origin)
    assert.strictEqual(new URL(placeOf(path).to, origin).origin, origin)
  })
})
