import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { Page } from "playwright-core"
import { inject } from "vitest"
import { makeMockModelServer, type MockModelServer } from "../support/MockModelServer.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { onServer } from "../support/TestServer.ts"
import { browserTests } from "./browserTests.ts"
import { assertAccessible } from "./Checks.ts"
import { join, owner } from "./People.ts"
import { ServedApp } from "./ServedApp.ts"
import { browse, browseBoth, type VisitOptions } from "./Visit.ts"

let model: MockModelServer

const variables = Effect.gen(function* () {
  model = yield* makeMockModelServer
  return { OPENAI_BASE_URL: model.url, PARLEY_TURN_LEASE_SECONDS: "5" }
})

const path = "/conversations"

const visiting = <A>(use: (page: Page) => Promise<A>, options: VisitOptions = {}) =>
  Effect.gen(function* () {
    const { storageState } = yield* owner
    return yield* browse(use, { path, storageState, ...options })
  })

const send = async (page: Page, text: string) => {
  await page.getByLabel("Message").fill(text)
  // Not while an answer is being written.
  await page.getByRole("button", { name: "Send", exact: true }).waitFor()
  await page.keyboard.press("Enter")
}

const answered = (page: Page, text: string) => page.locator("article").getByText(text).first().waitFor()
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).last()
/** Asks, and waits until the answer is stored. */
const converse = async (page: Page, question: string, answer: string) => {
  await send(page, question)
  await answered(page, answer)
  await button(page, "Retry").waitFor()
}

const shownText = (page: Page) => page.locator("main").innerText()

/** The messages of the last request to the model. */
const lastPrompt = () => JSON.stringify(model.requests.at(-1)?.body["messages"])

/** The first POST never arrives. The promise resolves when it was sent. */
const holdFirst = async (page: Page, isHeld: (url: URL) => boolean) => {
  const held = Promise.withResolvers<void>()
  let isFirst = true
  await page.route(isHeld, async (route) => {
    if (route.request().method() !== "POST" || !isFirst) return route.fallback()
    isFirst = false
    held.resolve()
  })
  return held
}

/** The database refuses connections, as when it is away. */
const allowConnections = (isAllowed: boolean) =>
  Effect.gen(function* () {
    const { url } = yield* TestDatabase
    const { url: server } = inject("testServer")
    const name = new URL(Redacted.value(url)).pathname.slice(1)
    yield* onServer(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS ${isAllowed}`)
    if (!isAllowed)
      yield* onServer(
        server,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`
      )
  }).pipe(Effect.orDie)

browserTests(
  "A conversation",
  (it) => {
    it.effect(
      "a conversation shows the rest of an allowance, and keeps a refused question until it is reset",
      () =>
        Effect.gen(function* () {
          const by = yield* owner
          const run = Effect.runPromiseWith(yield* Effect.context<ServedApp>())
          const user = { email: "limited@example.com", organization: "default", role: "member" } as const
          const { storageState } = yield* join(by, user)
          yield* by.ask("/admin/limits", { email: user.email, daily: 5_000, monthly: null })
          const used = (total: number) => ({
            prompt_tokens: total - 10,
            completion_tokens: 10,
            total_tokens: total
          })
          yield* model.script(
            { deltas: ["First."], usage: used(4_500) },
            { deltas: ["Second."], usage: used(500) },
            { deltas: ["Third."] }
          )
          yield* browse(
            async (page) => {
              await page.getByText("5,000 tokens are left today").waitFor()
              await send(page, "One")
              await answered(page, "First.")
              await page.getByText("500 tokens are left today; reset in").waitFor()
              await send(page, "Two")
              await answered(page, "Second.")
              await page.getByText("No tokens are left today; reset in").waitFor()
              await send(page, "Three, which is too much")
              await page.getByRole("alert").getByText("Your tokens of today are used up.").waitFor()
              // The question is there, to be sent again.
              await page.getByText("Three, which is too much").first().waitFor()
              await assertAccessible(page)
              await page.reload()
              await page.getByText("Three, which is too much").first().waitFor()
              await run(by.ask("/admin/limits", { email: user.email, daily: 50_000, monthly: null }))
              await button(page, "Send again").click()
              await answered(page, "Third.")
            },
            { path, storageState, expected: [/status of 429/] }
          )
        })
    )

    it.effect(
      "a stopped question stays in its conversation, and the model sees it only once it is sent again",
      () =>
        Effect.gen(function* () {
          yield* model.script(
            { deltas: ["One."] },
            { deltas: ["A secret. "], endless: true, gapMillis: 20 },
            { deltas: ["Three."] },
            { deltas: ["Two."] }
          )
          yield* visiting(async (page) => {
            await send(page, "Question one")
            await answered(page, "One.")
            await send(page, "Question two")
            await answered(page, "A secret.")
            await button(page, "Stop").click()
            await page.getByText("You stopped the answer.").waitFor()
            await send(page, "Question three")
            await answered(page, "Three.")
            // It stays where it was asked, also when the page is loaded again.
            await page.reload()
            await answered(page, "Three.")
            assert.match(
              await shownText(page),
              /Question one[^]*Question two[^]*You stopped[^]*Question three/
            )
            assert.include(lastPrompt(), "Question one")
            assert.notInclude(lastPrompt(), "Question two")
            await button(page, "Send again").click()
            await answered(page, "Two.")
            await button(page, "Retry").waitFor()
            assert.match(await shownText(page), /Question one[^]*Question three[^]*Question two[^]*Two\./)
            assert.strictEqual(await button(page, "Send again").count(), 0)
          })
          assert.notInclude(lastPrompt(), "A secret.")
        })
    )

    it.effect("a second tab shows the questions, answers and stops of the first", () =>
      Effect.gen(function* () {
        yield* model.script({ deltas: ["One."] }, { deltas: ["Two. "], endless: true, gapMillis: 20 })
        yield* visiting(async (page) => {
          await converse(page, "Question one", "One.")
          const other = await page.context().newPage()
          await other.goto(page.url())
          await answered(other, "One.")
          await send(page, "Question two")
          await answered(other, "Question two")
          await answered(other, "Two.")
          await button(other, "Stop").click()
          for (const tab of [page, other]) await tab.getByText("You stopped the answer.").waitFor()
        })
      })
    )

    it.effect("a message that another browser has replaced can't be replaced, and the page shows that", () =>
      Effect.gen(function* () {
        yield* model.script({ deltas: ["First."] }, { deltas: ["Second."] }, { deltas: ["Third."] })
        const { storageState } = yield* owner
        const visit = { path, storageState }
        yield* browseBoth(visit, { ...visit, expected: [/status of 409/] }, async (one, other) => {
          await send(one, "Which?")
          await answered(one, "First.")
          await button(one, "Retry").waitFor()
          await other.goto(one.url())
          await button(other, "Edit").click()
          await button(one, "Retry").click()
          await answered(one, "Second.")
          await button(one, "Retry").waitFor()
          await send(other, "Which one?")
          await other.getByRole("alert").getByText("has gone on since").waitFor()
          await answered(other, "Second.")
          // The typed text is kept, and becomes a message of its own.
          assert.strictEqual(await other.getByLabel("Message").inputValue(), "Which one?")
          await button(other, "Send").click()
          await answered(other, "Third.")
          await answered(other, "Second.")
        })
      })
    )

    it.effect(
      "a message can't be replaced after a question in another tab, and the typed text stays where it is",
      () =>
        Effect.gen(function* () {
          yield* model.script({ deltas: ["First."] }, { deltas: ["Second."] }, { deltas: ["Third."] })
          yield* visiting(
            async (page) => {
              await converse(page, "Which?", "First.")
              const other = await page.context().newPage()
              await other.goto(page.url())
              await button(other, "Edit").click()
              await other.getByLabel("Message").fill("Which one, edited?")
              await send(page, "And then?")
              await answered(page, "Second.")
              await answered(other, "Second.")
              await other.getByText("isn't the last one any more").waitFor()
              await button(other, "Send").click()
              await other.getByRole("alert").getByText("has gone on since").waitFor()
              assert.strictEqual(await other.getByLabel("Message").inputValue(), "Which one, edited?")
              assert.notInclude(lastPrompt(), "edited")
              await button(other, "Send").click()
              await answered(other, "Third.")
              for (const text of ["First.", "Second."]) await answered(other, text)
            },
            { expected: [/status of 409/] }
          )
        })
    )

    it.effect("a question whose request was lost by a reload is sent once", () =>
      Effect.gen(function* () {
        yield* model.script({ deltas: ["First."] }, { deltas: ["Second."] }, { deltas: ["Third."] })
        yield* visiting(
          async (page) => {
            await converse(page, "Question one", "First.")
            // The request never arrives.
            const isQuestion = (url: URL) => url.pathname.endsWith("/responses")
            const held = await holdFirst(page, isQuestion)
            await send(page, "Question two, at once")
            await held.promise
            await page.reload()
            await answered(page, "Second.")
            await button(page, "Retry").waitFor()
            await page.reload()
            await answered(page, "Second.")
            assert.strictEqual((await shownText(page)).split("Question two, at once").length, 2)
            // The request arrives, and the page never learns of it.
            const arrived = Promise.withResolvers<void>()
            await page.route(isQuestion, (route) => route.fetch().then(() => arrived.resolve()))
            await send(page, "Question three, at once")
            await arrived.promise
            await page.unroute(isQuestion)
            await page.reload()
            await answered(page, "Third.")
            await button(page, "Retry").waitFor()
            assert.strictEqual((await shownText(page)).split("Question three, at once").length, 2)
          },
          { expected: [/ERR_FAILED/, /ERR_ABORTED/] }
        )
      })
    )

    it.effect("an answer stays if its replacement is stopped, and the page says so", () =>
      Effect.gen(function* () {
        yield* model.script({ deltas: ["First."] }, { deltas: ["Other. "], endless: true, gapMillis: 20 })
        yield* visiting(async (page) => {
          await send(page, "Which one stands?")
          await answered(page, "First.")
          await button(page, "Retry").click()
          await answered(page, "Other.")
          await button(page, "Stop").click()
          await page.getByText("Your last message and its answer stay as they are above").waitFor()
          await answered(page, "First.")
        })
      })
    )

    it.effect("a new conversation keeps its first message over a reload", () =>
      Effect.gen(function* () {
        yield* model.script({ deltas: ["Here."] })
        yield* visiting(async (page) => {
          const held = await holdFirst(page, (url) => url.pathname.endsWith("/console/conversations"))
          await send(page, "The very first")
          await held.promise
          await page.reload()
          await button(page, "Send").waitFor()
          assert.strictEqual(await page.getByLabel("Message").inputValue(), "The very first")
          await button(page, "Send").click()
          await answered(page, "Here.")
        })
      })
    )

    it.effect("typed text stays while a message is edited and another conversation is open", () =>
      Effect.gen(function* () {
        yield* model.script({ deltas: ["One."] })
        yield* visiting(
          async (page) => {
            const message = page.getByLabel("Message")
            await converse(page, "An open question", "One.")
            await message.fill("Half a thought")
            await button(page, "Edit").click()
            assert.strictEqual(await message.inputValue(), "An open question")
            await button(page, "Cancel").click()
            assert.strictEqual(await message.inputValue(), "Half a thought")
            await page.getByRole("link", { name: "New conversation" }).first().click()
            await page.getByRole("heading", { name: "What would you like to know?" }).waitFor()
            assert.strictEqual(await message.inputValue(), "")
            await message.fill("Another one")
            await page.getByRole("link", { name: "An open question" }).click()
            await answered(page, "One.")
            assert.strictEqual(await message.inputValue(), "Half a thought")
            await page.reload()
            await answered(page, "One.")
            assert.strictEqual(await message.inputValue(), "Half a thought")
            await page.getByRole("link", { name: "New conversation" }).first().click()
            await page.getByRole("heading", { name: "What would you like to know?" }).waitFor()
            assert.strictEqual(await message.inputValue(), "Another one")
          },
          { width: 1440 }
        )
      })
    )

    it.effect("the text field gets the focus when a pressed button disappears", () =>
      Effect.gen(function* () {
        yield* model.script(
          { deltas: ["One. "], endless: true, gapMillis: 20 },
          { deltas: ["Two. "], endless: true, gapMillis: 20 },
          { deltas: ["Three."] },
          { deltas: ["Four."] }
        )
        yield* visiting(async (page) => {
          const pressed = async (name: string) => {
            await button(page, name).click()
            const focused = await page.evaluate("document.activeElement.getAttribute('aria-label')")
            assert.strictEqual(focused, "Message", name)
          }
          await send(page, "Question one")
          await answered(page, "One.")
          await pressed("Stop")
          await button(page, "Send again").waitFor()
          await pressed("Send again")
          await answered(page, "Two.")
          await pressed("Stop")
          await button(page, "Discard").waitFor()
          await pressed("Discard")
          await page.locator("article").waitFor({ state: "detached" })
          await converse(page, "Question two", "Three.")
          await pressed("Edit")
          await pressed("Cancel")
          await pressed("Retry")
          await answered(page, "Four.")
        })
      })
    )

    it.effect("a conversation that is deleted in one tab is reported as deleted in the other", () =>
      Effect.gen(function* () {
        yield* model.script({ deltas: ["Endless. "], endless: true, gapMillis: 20 })
        yield* visiting(
          async (page) => {
            await send(page, "Delete me, please")
            await answered(page, "Endless.")
            const other = await page.context().newPage()
            await other.goto(page.url())
            await answered(other, "Endless.")
            await other.getByRole("button", { name: "Actions for Delete me, please" }).click()
            await other.getByRole("menuitem", { name: "Delete…" }).click()
            await other.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click()
            await other.getByRole("heading", { name: "What would you like to know?" }).waitFor()
            await page.getByText("This conversation was deleted").waitFor()
            await page.getByRole("link", { name: "Delete me, please" }).waitFor({ state: "detached" })
          },
          { width: 1440, expected: [/status of 404/] }
        )
      })
    )

    it.effect(
      "a question stays during an outage of the database, and can be answered afterwards",
      () =>
        Effect.gen(function* () {
          const run = Effect.runPromiseWith(yield* Effect.context<TestDatabase>())
          yield* model.script(
            { deltas: ["One."] },
            { deltas: Array.from({ length: 100 }, (_, n) => `word${n} `), gapMillis: 30 },
            { deltas: ["Here again."] }
          )
          yield* visiting(
            async (page) => {
              await send(page, "Question one")
              await answered(page, "One.")
              await send(page, "Question two")
              await answered(page, "word3")
              await run(allowConnections(false))
              try {
                await page.getByText("The connection is lost.").waitFor({ timeout: 30_000 })
              } finally {
                await run(allowConnections(true))
              }
              await page.getByText("Question two").first().waitFor()
              await button(page, "Send again").waitFor({ timeout: 60_000 })
              await button(page, "Send again").click()
              await page.locator("article").getByText("Here again.").waitFor({ timeout: 60_000 })
            },
            { expected: [/status of 5\d\d/, /ERR_/] }
          )
        }),
      120_000
    )
  },
  variables
)
