import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { AccountName, Email } from "../../src/domain/Account.ts"

const isName = Schema.is(AccountName)
const isEmail = Schema.is(Email)

describe("A name of an organization or a key", () => {
  it("a name has 1 to 100 characters of any language", () => {
    for (const name of ["a", "x".repeat(100), "Büro 3", "مفتاح", "鍵", "🔑 key"])
      assert.isTrue(isName(name), name)
    for (const name of ["", "x".repeat(101), " a", "a "]) assert.isFalse(isName(name), JSON.stringify(name))
  })

  it("a name has no character that can't be stored or printed, or that turns the text around it", () => {
    for (const character of ["\u0000", "\n", "\u0085", "\ud800", "\u202a", "\u202e", "\u2066", "\u2069"]) {
      assert.isFalse(isName(`a${character}b`), JSON.stringify(character))
      assert.isFalse(isEmail(`a${character}b@example.com`), JSON.stringify(character))
    }
  })
})
