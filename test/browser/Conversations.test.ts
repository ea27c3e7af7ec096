import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { makeMockModelServer, type MockModelServer } from "../support/MockModelServer.ts"
import { browserTests } from "./browserTests.ts"
import { assertAccessible, assertFits, saveScreenshot } from "./Checks.ts"
import { owner } from "./People.ts"
import { ServedApp } from "./ServedApp.ts"
import { browse, type VisitOptions } from "./Visit.ts"

let model: MockModelServer

const variables = Effect.gen(function* () {
  model = yield* makeMockModelServer
  return { OPENAI_BASE_URL: model.url }
})

const start = "/conversations"

/** A page of the signed-in owner. */
const visiting = <A>(use: (page: Page) => Promise<A>, options: VisitOptions = {}) =>
  Effect.gen(function* () {
    const { storageState } = yield* owner
    return yield* browse(use, { path: start, storageState, ...options })
  })

const send = async (page: Page, text: string) => {
  await page.getByLabel("Message").fill(text)
  await page.keyboard.press("Enter")
}

const answered = (page: Page, text: string) => page.locator("article").getByText(text).first().waitFor()

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).last()

/** All that the Markdown of an answer may have. */
const rich = [
  "# A title\n\nSome **bold** text with `code`, a [link](https://example.com/page) and $x^2$.\n\n",
  "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
  "```python\ndef one():\n    return 1  # a comment\n```\n\n",
  "$$\\int_0^1 x^2\\,dx = \\tfrac13$$\n\n- one\n- two\n"
]

browserTests(
  "Conversations",
  (it) => {
    it.effect("a conversation begins with a message, and shows the answer's forms while it is written", () =>
      Effect.gen(function* () {
        for (const { colorScheme, width } of [
          { colorScheme: "light", width: 1440 },
          { colorScheme: "dark", width: 360 }
        ] as const) {
          yield* model.script({ deltas: rich })
          yield* visiting(
            async (page) => {
              await send(page, "Show me everything")
              await page.waitForURL(/\/conversations\/[0-9a-f-]{36}$/)
              await answered(page, "A title")
              await button(page, "Copy answer").waitFor()
              await page.locator("article math").nth(1).waitFor()
              await page.locator("article pre .hljs-keyword").first().waitFor()
              assert.strictEqual(await page.locator("article table td").count(), 2)
              const link = page.getByRole("link", { name: "link", exact: true })
              assert.strictEqual(await link.getAttribute("rel"), "noopener noreferrer nofollow")
              await page.getByText("(example.com)").waitFor()
              await assertFits(page)
              await assertAccessible(page)
              await saveScreenshot(page, `conversation-${width}`)
            },
            { colorScheme, width }
          )
        }
      })
    )

    it.effect("a conversation keeps its instructions, is listed, found, renamed and deleted", () =>
      Effect.gen(function* () {
        yield* model.script({ deltas: ["Bonjour."] })
        yield* visiting(
          async (page) => {
            await page.getByText("Instructions for this conversation").click()
            await page.getByLabel("Instructions", { exact: true }).fill("Answer in French.")
            await send(page, "Good morning, pangolin")
            await answered(page, "Bonjour.")
            const row = page.getByRole("link", { name: "Good morning, pangolin" })
            await row.waitFor()
            await page.getByText("Today").waitFor()
            await page.getByLabel("Search conversations").fill("nothing like it")
            await page.getByText("No conversation has these words.").waitFor()
            await page.getByLabel("Search conversations").fill("pangolin")
            await row.waitFor()
            await page.getByRole("button", { name: "Actions for Good morning, pangolin" }).click()
            await page.getByRole("menuitem", { name: "Rename…" }).click()
            await page.getByLabel("Title").fill("Animals")
            await page.getByRole("button", { name: "Rename", exact: true }).click()
            await page.getByLabel("Search conversations").fill("")
            await page.getByRole("link", { name: "Animals" }).waitFor()
            await page.getByRole("button", { name: "Actions for Animals" }).click()
            await page.getByRole("menuitem", { name: "Delete…" }).click()
            await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click()
            await page.getByRole("heading", { name: "What would you like to know?" }).waitFor()
            await page.getByRole("link", { name: "Animals" }).waitFor({ state: "detached" })
          },
          { width: 1440 }
        )
        const sent = JSON.stringify(model.requests.at(-1)?.body["messages"])
        assert.include(sent, "Answer in French.")
      })
    )

    it.effect("a stopped answer leaves its question, which can be sent again", () =>
      Effect.gen(function* () {
        yield* model.script(
          { deltas: ["Once upon a time. "], endless: true, gapMillis: 20 },
          { deltas: ["The end."] }
        )
        yield* visiting(async (page) => {
          await send(page, "Tell me a story")
          await answered(page, "Once upon a time.")
          await button(page, "Stop").click()
          await page.getByText("You stopped the answer.").waitFor()
          await page.reload()
          await page.getByText("You stopped the answer.").waitFor()
          await assertAccessible(page)
          await button(page, "Send again").click()
          await answered(page, "The end.")
          await page.getByText("You stopped the answer.").waitFor({ state: "detached" })
        })
      })
    )

    it.effect("the last message can be answered again, and edited", () =>
      Effect.gen(function* () {
        yield* model.script({ deltas: ["First."] }, { deltas: ["Second."] }, { deltas: ["Third."] })
        yield* visiting(async (page) => {
          await send(page, "Which?")
          await answered(page, "First.")
          await button(page, "Retry").click()
          await answered(page, "Second.")
          await page.getByText("First.").waitFor({ state: "detached" })
          await button(page, "Edit").click()
          assert.strictEqual(await page.getByLabel("Message").inputValue(), "Which?")
          await send(page, "Which one?")
          await answered(page, "Third.")
          await page.reload()
          await answered(page, "Third.")
          assert.strictEqual(await page.locator("article").count(), 1)
        })
      })
    )

    it.effect("a running answer continues after a reload, and in a second tab", () =>
      Effect.gen(function* () {
        const words = Array.from({ length: 60 }, (_, index) => `word${index} `)
        yield* model.script({ deltas: words, gapMillis: 50 })
        yield* visiting(async (page) => {
          await send(page, "Count")
          await answered(page, "word3")
          await page.reload()
          const other = await page.context().newPage()
          await other.goto(page.url())
          await answered(page, "word59")
          await answered(other, "word0 word1")
          await answered(other, "word59")
        })
      })
    )

    it.effect("a question stays when the service is killed during the answer, and can be sent again", () =>
      Effect.gen(function* () {
        const app = yield* ServedApp
        yield* model.script(
          { deltas: ["Never ends. "], endless: true, gapMillis: 20 },
          { deltas: ["Now it does."] }
        )
        const killed = Effect.runSync(Effect.sync(() => ({ at: "" })))
        const { storageState } = yield* owner
        yield* browse(
          async (page) => {
            await send(page, "Will it end?")
            await answered(page, "Never ends.")
            killed.at = page.url()
            await Effect.runPromise(app.kill)
            await page.getByText("The connection is lost.").waitFor()
            await Effect.runPromise(app.startAgain)
            await button(page, "Send again").waitFor({ timeout: 60_000 })
            await button(page, "Send again").click()
            await answered(page, "Now it does.")
          },
          { path: start, storageState, expected: [/ERR_|status of 5|Failed to load/] }
        )
        assert.include(killed.at, "/conversations/")
      })
    )

    it.effect("a question can be viewed as an API request", () =>
      Effect.gen(function* () {
        yield* model.script({ deltas: ["Yes."] })
        yield* visiting(async (page) => {
          await send(page, 'Is "this" it?')
          await answered(page, "Yes.")
          await button(page, "View as API request").click()
          const dialog = page.getByRole("dialog", { name: "As an API request" })
          await dialog.getByText("/v1/responses").waitFor()
          await dialog.getByText("Without the messages before it").waitFor()
          await assertAccessible(page)
          await dialog.getByRole("tab", { name: "Python" }).click()
          await dialog.getByText("responses.create").waitFor()
        })
      })
    )

    it.effect("a hostile answer runs no script, loads nothing and is shown as text", () =>
      Effect.gen(function* () {
        const hostile = [
          "<script>window.xss=1</script>",
          '<img src=x onerror="window.xss=1">',
          "<svg onload=window.xss=1><a xlink:href=javascript:window.xss=1>x</a></svg>",
          '<iframe srcdoc="<script>parent.xss=1</script>"></iframe>',
          "<style>@import url(https://evil.example/x.css)</style>",
          '<form action="https://evil.example"><button>Sign in</button></form>',
          "[click](javascript:window.xss=1) [data](data:text/html,<script>window.xss=1</script>)",
          "![pixel](https://evil.example/pixel.png)",
          "<https://evil.example/auto>",
          "$$\\href{javascript:window.xss=1}{x} \\includegraphics{https://evil.example/a.png} \\style{color:red}{y}$$",
          "$\\htmlData{onclick=window.xss=1}{z}$",
          '```html"><img src=x onerror=window.xss=1>\n<script>window.xss=1</script>\n```',
          '| <img src=x onerror=window.xss=1> |\n|---|\n| "onmouseover="window.xss=1 |',
          '<math><mtext><table><mglyph><style><img src=x onerror="window.xss=1"></style></mglyph></table></mtext></math>',
          "[1] [999] [<b>](https://example.com)"
        ]
        yield* model.script({ deltas: hostile.map((one) => `${one}\n\n`) }, { deltas: ["Fine."] })
        yield* visiting(async (page) => {
          await send(page, `<img src=x onerror="window.xss=1">`)
          await button(page, "Copy answer").waitFor()
          await page.reload()
          await button(page, "Copy answer").waitFor()
          assert.isFalse(await page.evaluate<boolean>("window.xss !== undefined"))
          const found = await page
            .locator(
              "article :is(script, img, iframe, style, form, object, embed, svg a, [onerror], [onclick], [style])"
            )
            .count()
          assert.strictEqual(found, 0)
          assert.strictEqual(await page.locator("article a:not([href^='https://'])").count(), 0)
          assert.isAbove(await page.locator("article a").count(), 0)
        })
      })
    )
  },
  variables
)
