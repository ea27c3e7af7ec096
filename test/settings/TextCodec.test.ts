import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import { headerList, origins, pairsIn, share } from "../../src/settings/TextCodec.ts"

const isHeaderList = Schema.is(headerList)

describe("a share", () => {
  for (const [text, value] of [
    ["0", 0],
    ["1", 1],
    ["0.05", 0.05],
    ["0%", 0],
    ["5%", 0.05],
    ["12.5%", 0.125],
    ["100%", 1]
  ] as const) {
    it(`a share is ${value} for ${text}`, () => {
      assert.deepStrictEqual(Schema.decodeOption(share)(text), Option.some(value))
    })
  }
})

describe("origins", () => {
  for (const [text, value] of [
    ["none", []],
    ["https://app.example.com", ["https://app.example.com"]],
    [
      " https://App.example.com:443/ , http://localhost:5173",
      ["https://app.example.com", "http://localhost:5173"]
    ],
    ["http://[::1]:80,http://[::1]", ["http://[::1]"]],
    ["https://b\u00fccher.example", ["https://xn--bcher-kva.example"]],
    ["chrome-extension://abc", ["chrome-extension://abc"]]
  ] as const) {
    it(`the origins are ${value.join(" and ") || "none"} for ${text}`, () => {
      assert.deepStrictEqual(Schema.decodeOption(origins)(text), Option.some(value))
    })
  }

  for (const text of [
    "*",
    "https://*.example.com",
    "null",
    "app.example.com",
    "https://app.example.com/path",
    "https://app.example.com?q",
    "https://user@app.example.com",
    "file:///tmp",
    "https://",
    "https://app.example.com, *",
    ","
  ]) {
    it(`the origins refuse ${text}`, () => {
      assert.isTrue(Option.isNone(Schema.decodeOption(origins)(text)))
    })
  }
})

describe("pairs", () => {
  it("pairs may have blanks around them, and an equals sign in a value", () => {
    assert.deepStrictEqual(
      pairsIn(" authorization = Bearer%20a%2Cb== , x-other=%C3%A9,,"),
      Option.some([
        ["authorization", "Bearer a,b=="],
        ["x-other", "é"]
      ])
    )
  })

  it.prop(
    "pairs are decoded as they were encoded",
    [Schema.Array(Schema.Tuple([Schema.NonEmptyString, Schema.String]))],
    ([pairs]) => {
      const isWhole = pairs.every((pair) => pair.every((text) => text.isWellFormed()))
      if (!isWhole) return
      const text = pairs.map((pair) => pair.map(encodeURIComponent).join("=")).join(",")
      assert.deepStrictEqual(pairsIn(text), Option.some(pairs))
    }
  )

  it("pairs with a line end are no headers", () => {
    assert.isFalse(isHeaderList("a=b%0d%0ac"))
    assert.isFalse(isHeaderList("a b=c"))
    assert.isTrue(isHeaderList("a=b%20c,d="))
  })
})
