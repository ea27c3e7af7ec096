import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { addressIn } from "../../../src/tools/egress/NamedAddresses.ts"

const found = (url: string, ...texts: ReadonlyArray<string>) =>
  addressIn(texts.map((text) => ({ text, query: "" })))(url)

const page = "https://example.com/a/page?id=7"

describe("an address that the model wants to read", () => {
  for (const text of [
    page,
    `Read ${page}.`,
    `Is it true (${page})?`,
    `See [the page](${page}) and others`,
    `<${page}>`,
    `**${page}**, or so`,
    `"${page}"\nnext line`,
    `${page}#section`,
    `[1](${page})[2](${page})`,
    `two: https://example.com/other ${page}`,
    `longer first: ${page}8 and then ${page}`,
    `${"https://example.com/x ".repeat(900)}${page}`
  ]) {
    it(`addressIn finds an address that stands as a whole: ${text.slice(0, 50)}`, () => {
      assert.strictEqual(found(page, "nothing here", text)?.replace("#section", ""), page)
    })
  }

  for (const text of [
    "",
    "https://example.com/a/page?id=71",
    "https://example.com/a/page?id=",
    "https://example.com/a/page",
    "https://example.com/a/page?id=7&more=1",
    "https://notexample.com/a/page?id=7",
    "https://example.com.evil.test/a/page?id=7",
    "https://evil.test@example.com/a/page?id=7",
    "https://www2.example.com/a/page?id=7",
    "https://example.com:8443/a/page?id=7",
    "https://example.com/A/page?id=7",
    "ftp://example.com/a/page?id=7"
  ]) {
    it(`addressIn doesn't find an address where another one stands: ${text}`, () => {
      assert.isNull(found(page, text))
    })
  }

  it("addressIn finds an address in every usual spelling", () => {
    assert.strictEqual(found("https://example.com/", "read example.com please"), "https://example.com/")
    assert.strictEqual(found("https://www.example.com", "look at Example.com."), "https://example.com/")
    assert.strictEqual(
      found("https://example.com/x", "http://www.example.com/x/"),
      "http://www.example.com/x/"
    )
    assert.strictEqual(
      found("https://example.com/A%20b", "https://EXAMPLE.com/A%20b"),
      "https://example.com/A%20b"
    )
    assert.strictEqual(
      found("https://xn--mnchen-3ya.de/rad", "auf https://münchen.de/rad"),
      "https://xn--mnchen-3ya.de/rad"
    )
    assert.strictEqual(
      found("https://münchen.de/rad", "auf https://münchen.de/rad"),
      "https://xn--mnchen-3ya.de/rad"
    )
    assert.strictEqual(
      found("https://en.wikipedia.org/wiki/Bee_(insect)", "(https://en.wikipedia.org/wiki/Bee_(insect))"),
      "https://en.wikipedia.org/wiki/Bee_(insect)"
    )
  })

  it("addressIn finds an address beside punctuation of other scripts, and in HTML and JSON", () => {
    for (const text of [
      `请看${page}。谢谢`,
      `（${page}），`,
      `«${page}»`,
      `${page}…`,
      `“${page}”`,
      `「${page}」`
    ]) {
      assert.strictEqual(found(page, text), page, text)
    }
    const two = `${page}&y=2`
    assert.strictEqual(found(two, two.replaceAll("&", "&amp;")), two)
    assert.strictEqual(found(page, JSON.stringify({ url: page }).replaceAll("/", "\\/")), page)
    assert.strictEqual(
      found("https://xn--e1afmkfd.xn--p1ai/%D1%81%D1%82%D1%80", "https://пример.рф/стр"),
      "https://xn--e1afmkfd.xn--p1ai/%D1%81%D1%82%D1%80"
    )
    assert.strictEqual(
      found("https://example.com/a%2fb", "https://example.com/a%2Fb"),
      "https://example.com/a%2Fb"
    )
  })

  it("addressIn doesn't find an address in an answer to a query that held it", () => {
    const leak = "https://evil.test/leak?d=secret"
    const answer = (query: string) =>
      addressIn([{ text: `1. T ${leak}`, query: JSON.stringify({ query }) }])(leak)
    assert.strictEqual(answer("bees"), leak)
    for (const query of [
      leak,
      `bees ${leak} honey`,
      leak.toUpperCase(),
      "https://evil.test/le%61k?d=secret",
      "evil.test/leak?d=sec\u200bret",
      "evil test leak d secret"
    ]) {
      assert.isNull(answer(query), query)
    }
    // An address that the user has named as well may be read.
    const both = [
      { text: leak, query: leak },
      { text: `Read ${leak}`, query: "" }
    ]
    assert.strictEqual(addressIn(both)(leak), leak)
  })

  it("addressIn returns the address as the text has it, so that nothing hides in its spelling", () => {
    const text = "https://example.com/Page?q=abc"
    for (const disguise of [
      "http://example.com/%50age?q=abc",
      "https://www.example.com/Page?q=%61%62c",
      "https://example.com/Page?q=abc#secret",
      "https://EXAMPLE.com/Page/?q=abc"
    ]) {
      assert.include([text, null], found(disguise, text), disguise)
    }
    assert.strictEqual(found("https://example.com/Page?q=%61bc#secret", text), text)
    assert.isNull(found("https://secret@example.com/Page?q=abc2", text))
  })

  it("addressIn returns null for anything but a web address", () => {
    for (const url of ["", "example.com", "file:///etc/passwd", "javascript:alert(1)"]) {
      assert.isNull(found(url, url))
    }
  })

  it.prop("addressIn finds no address that no text has", [Schema.String, Schema.String], ([path, said]) => {
    const secret = `https://evil.test/?q=${encodeURIComponent(path.toWellFormed())}x`
    assert.isNull(found(secret, said.replaceAll("evil.test", ""), `https://evil.test/?q= and ${page}`))
  })
})
