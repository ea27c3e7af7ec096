import { assert, describe, it } from "@effect/vitest"
import { makeBlocksOf } from "../../../../src/console/app/pages/conversations/markdown/blocks.ts"

const html = (text: string): string =>
  makeBlocksOf()(text)
    .map(({ block }) => (block.kind === "html" ? block.html : `CODE ${block.language}: ${block.text}`))
    .join("")
    .trim()

describe("The Markdown of an answer", () => {
  it("the Markdown of an answer has blocks of code of their own, also while they are open", () => {
    assert.strictEqual(html("a\n\n```ts title=x\nlet a = 1\n```"), "<p>a</p>\nCODE ts: let a = 1")
    assert.strictEqual(html("```py\nprint("), "CODE py: print(")
  })

  it("the Markdown of an answer shows markup as text", () => {
    assert.notMatch(
      html('<script>alert(1)</script>\n\n<img src=x onerror="a()"> <b>x</b>'),
      /<(script|img|b)\b/
    )
    assert.include(html("<b>x</b>"), "&lt;b&gt;")
  })

  it("the Markdown of an answer shows where a link leads, and loads no image", () => {
    const link = html("[bank.com](https://evil.example/a)")
    assert.include(link, 'rel="noopener noreferrer nofollow"')
    assert.include(link, "(evil.example)")
    assert.notInclude(html("[evil.example](https://evil.example/a)"), "data-host")
    assert.strictEqual(html("[x](javascript:alert(1))"), "<p>x</p>")
    assert.strictEqual(html("[x](data:text/html,hi)"), "<p>x</p>")
    const image = html("![a cat](https://evil.example/cat.png)")
    assert.notInclude(image, "<img")
    assert.include(image, "a cat")
  })

  it("the Markdown of an answer marks citations, except in code and in links", () => {
    assert.include(html("So it is [1]."), '<span data-citations="1">[1]</span>')
    assert.include(html("So it is [2, 3]."), 'data-citations="2, 3"')
    for (const text of ["`a[1]`", "[1](https://a.example)", "    a[1]"]) {
      assert.notInclude(html(text), "data-citations")
    }
  })

  it("the Markdown of an answer marks a citation right behind an address, which is no part of it", () => {
    const shown = html("See https://a.example/b[1]. More.")
    assert.include(shown, 'href="https://a.example/b"')
    assert.include(shown, '<span data-citations="1">[1]</span>. More.')
    assert.notInclude(html("https://a.example/?b[1]=2"), "data-citations")
  })

  it("the Markdown of an answer marks mathematics, and leaves prices as they are", () => {
    assert.include(html("Let $x^2 < 1$ be."), 'data-tex="x^2 &lt; 1"')
    assert.include(html("$$\n\\int_0^1 x\n$$"), 'data-math="display"')
    assert.include(html("\\(a\\) and \\[b\\]"), 'data-tex="a"')
    assert.notInclude(html("It costs $5 or $6."), "data-math")
    assert.notInclude(html("`$x$`"), "data-math")
  })

  it("the Markdown of an answer keeps the blocks before the end of a text that grows", () => {
    const blocksOf = makeBlocksOf()
    const [before] = blocksOf("# One\n\ntwo")
    const [after, last] = blocksOf("# One\n\ntwo three")
    assert.strictEqual(after?.block, before?.block)
    assert.strictEqual(after?.key, before?.key)
    assert.deepInclude(last?.block, { html: "<p>two three</p>\n" })
  })
})
