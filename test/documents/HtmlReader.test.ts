import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { type HtmlOptions, readHtml } from "../../src/documents/HtmlReader.ts"

const options: HtmlOptions = { charactersMax: 1_000_000, base: null, isXhtml: false }
const textOf = (html: string, more: Partial<HtmlOptions> = {}) => readHtml(html, { ...options, ...more }).text

describe("readHtml", () => {
  const cases: ReadonlyArray<readonly [name: string, html: string, text: string]> = [
    ["headings", "<h1>One</h1>text<h3>Three <b>bold</b></h3>", "# One\n\ntext\n\n### Three bold"],
    ["paragraphs", "<p>a  b\n c<p>d<div>e</div>f", "a b c\n\nd\n\ne\n\nf"],
    ["line breaks", "a<br>b<br/>c</br>d", "a\nb\nc\nd"],
    ["inline elements", "a<b>b</b> <i>c</i>d <span> e</span>", "ab cd e"],
    ["entities", "&lt;p&gt; &amp;amp; &copy; &#x41; a&nbsp;b", "<p> &amp; © A a b"],
    ["lists", "<ul><li>a<li>b<ol start=3><li>c</li><li>d</ol></ul>e", "- a\n- b\n  3. c\n  4. d\n\ne"],
    ["blocks in items", "<ul><li><p>a</p><p>b</p></li><li>c</ul>", "- a\n\n  b\n\n- c"],
    ["quotes", "<blockquote>a<p>b</blockquote>c", "> a\n>\n> b\n\nc"],
    [
      "code",
      "<p>run <code>x &lt; y</code></p><pre>\n  a\n\n  b</pre>",
      "run `x < y`\n\n```\n  a\n\n  b\n```"
    ],
    [
      "tables",
      "<table><thead><tr><th>a<th>b|c<tbody><tr><td>1<td><p>2</p><p>3</p></table>d",
      "| a | b\\|c |\n| --- | --- |\n| 1 | 2 3 |\n\nd"
    ],
    [
      "tables for layout",
      "<table><tr><td><h2>a</h2>b<p>c</td><td>d</td></tr></table>",
      "## a\n\nb\n\nc\n\nd"
    ],
    ["tables in tables", "<table><tr><td><table><tr><td>a<td>b</table></table>", "| a | b |\n| --- | --- |"],
    [
      "links",
      "<a href='https://x.example/a (b)'>l <b>m</b></a> <a href='/r'>r</a>",
      "[l m](https://x.example/a%20%28b%29) r"
    ],
    [
      "links that lead nowhere",
      "<a href='javascript:x()'>a</a><a href='#b'>b</a><a href='data:x'>c</a>",
      "abc"
    ],
    ["links around blocks", "<a href='https://x.example'><h2>a</h2><p>b</p></a>", "## a\n\nb"],
    ["links without text", "a<a href='https://x.example'><img></a>b", "a b"],
    ["links at the start of items", "<li><a href='https://x.example'>a</a> b", "- [a](https://x.example/) b"],
    ["pictures", "a<img alt='a cat' src=x>b", "a a cat b"],
    [
      "what isn't text",
      "a<script>s</script><style>t</style><nav>n<nav>m</nav>o</nav><svg><title>v</title></svg><!-- c -->b",
      "ab"
    ],
    [
      "what is hidden",
      "a<p hidden>b</p><p aria-hidden=true>c</p><div style='display: none'>d<div>e</div></div>f",
      "af"
    ],
    [
      "footers of the site, not of an article",
      "<article>a<footer>b</footer></article><footer>c</footer>",
      "a\n\nb"
    ],
    ["ends that nothing began", "</div></table></td>a</b></li>", "a"],
    ["cells outside of tables", "<td>a<td>b", "a\n\nb"]
  ]
  for (const [name, html, text] of cases) {
    it(`readHtml reads ${name}`, () => {
      assert.strictEqual(textOf(html), text)
    })
  }

  it("readHtml returns the title apart from the text", () => {
    const { text, title } = readHtml("<title>A &amp;\n B</title><p>c<title>d</title>", options)
    assert.deepStrictEqual({ text, title }, { text: "c", title: "A & Bd" })
  })

  it("readHtml resolves links against the address of the page", () => {
    assert.strictEqual(
      textOf("<a href='../b?c'>d</a>", { base: "https://x.example/a/e" }),
      "[d](https://x.example/b?c)"
    )
  })

  it("readHtml reads self-closing elements in XHTML", () => {
    assert.strictEqual(textOf("<title/><script/>a<a id='b'/>c", { isXhtml: true }), "ac")
  })

  it("readHtml cuts the text at its limit", () => {
    const { text, truncated } = readHtml("<p>word</p>".repeat(1000), { ...options, charactersMax: 100 })
    assert.isTrue(truncated)
    assert.isAtMost(text.length, 100)
    assert.isTrue(text.startsWith("word\n\nword"))
  })

  describe("takes time in proportion to the length, whatever is nested or left open", () => {
    const bytes = 1_000_000
    const units = [
      "<div>",
      "<b>",
      "<ul><li>",
      "<table><tr><td>",
      "<blockquote>x",
      "<a href='http://x.example/'>x",
      "<code>x",
      "<pre>x\n",
      "<h1>x",
      "</b></li>",
      "<",
      "<a ",
      "&",
      "<!--",
      "<svg>",
      "<nav>",
      "<td>x",
      "<title>",
      "<p a='",
      "&amp"
    ]
    for (const unit of units) {
      it(`${unit}`, () => {
        // A reader whose time grows with the square takes minutes.
        const html = unit.repeat(bytes / unit.length)
        const before = process.cpuUsage()
        assert.isAtMost(textOf(html).length, options.charactersMax)
        assert.isBelow(process.cpuUsage(before).user, 10_000_000)
      })
    }
  })

  const piece = Schema.Literals([
    "<p>",
    "</p>",
    "<ul>",
    "<li>",
    "</ul>",
    "<table>",
    "<tr>",
    "<td>",
    "</td>",
    "</table>",
    "<a href='http://x.example'>",
    "</a>",
    "<h1>",
    "</h1>",
    "<pre>",
    "</pre>",
    "<code>",
    "</code>",
    "<blockquote>",
    "</blockquote>",
    "<nav>",
    "</nav>",
    "<br>",
    "word",
    " two words ",
    "\n",
    "<script>",
    "</script>",
    "<b>",
    "</b>",
    "<ol>",
    "</ol>",
    "|",
    "`"
  ])

  it.prop(
    "readHtml never loses a word, however the elements around it are mixed",
    [Schema.Array(piece)],
    ([pieces]) => {
      const html = pieces.join("").replaceAll("<script>", "").replaceAll("<nav>", "")
      const words = html.replace(/<[^>]*>/g, " ").match(/word/g)?.length ?? 0
      assert.strictEqual(textOf(html).match(/word/g)?.length ?? 0, words)
    }
  )
})

describe("the base of a page", () => {
  it("the base of a page is the first web address that it declares", () => {
    const link = "<a href='b'>l</a>"
    const base = "https://x.example/a/"
    const said = (...hrefs: ReadonlyArray<string>) =>
      textOf(hrefs.map((href) => `<base href="${href}">`).join("") + link, { base })
    assert.strictEqual(said(), "[l](https://x.example/a/b)")
    assert.strictEqual(said("/c/"), "[l](https://x.example/c/b)")
    assert.strictEqual(said("//y.example", "/z/"), "[l](https://y.example/b)")
    assert.strictEqual(said("data:text/html,x"), "[l](https://x.example/a/b)")
    assert.strictEqual(textOf(`<base href="https://y.example/">${link}`), "l")
  })
})
