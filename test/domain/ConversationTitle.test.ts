import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { isOneLine, titleOf } from "../../src/domain/ConversationTitle.ts"

describe("the title of a conversation", () => {
  it("titleOf returns the first message, if that is short, without its line breaks", () => {
    assert.strictEqual(titleOf("  Where is\n\nthe manual? "), "Where is the manual?")
    assert.strictEqual(titleOf(" \n "), null)
  })

  it("titleOf cuts after the last word that ends within 60 characters", () => {
    const words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    assert.strictEqual(titleOf(words), "one two three four five six seven eight nine ten eleven")
    const exact = `${"a".repeat(29)} ${"b".repeat(30)} more`
    assert.strictEqual(titleOf(exact), exact.slice(0, 60))
  })

  it("titleOf cuts a word that is longer than 60 characters, and no character in two", () => {
    assert.strictEqual(titleOf("x".repeat(100)), "x".repeat(60))
    assert.strictEqual(titleOf("😀".repeat(100)), "😀".repeat(60))
  })

  it("titleOf leaves out control characters, and what turns the direction of the text", () => {
    assert.strictEqual(titleOf("Read\u0000 the \u202etxt.exe\u0007"), "Read the txt.exe")
    assert.isNull(titleOf("\u202e\u0000"))
    assert.isTrue(isOneLine("\u05e9\u05dc\u05d5\u05dd \u200fabc"))
    for (const title of ["two\nlines", "a\u202eb", "a\u2066b", "a\u0000"]) assert.isFalse(isOneLine(title))
  })

  it.effect.prop(
    "titleOf returns at most 60 characters of the message, and never a blank text",
    [Schema.String],
    ([message]) =>
      Effect.sync(() => {
        const title = titleOf(message)
        if (title === null) return assert.match(message, /^[\s\p{Cc}\u202a-\u202e\u2066-\u2069]*$/u)
        assert.isTrue(isOneLine(title))
        assert.isAtMost([...title].length, 60)
        assert.strictEqual(title, title.trim())
        assert.isAbove(title.length, 0)
      })
  )
})
