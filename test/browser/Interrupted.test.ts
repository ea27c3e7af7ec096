import { createServer } from "node:http"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { pagePaths } from "../../src/console/PagePaths.ts"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"
import { browserTests } from "./browserTests.ts"
import { title } from "./Pages.ts"
import { owner } from "./People.ts"
import { ServedApp } from "./ServedApp.ts"
import { browse } from "./Visit.ts"

/** No connection, or the answer of a service that has opened its port and still starts. */
const unreachable = [/net::ERR_/, /503 \(Service Unavailable\)/]

/** The jobs of a killed process are taken up when its lease has expired. */
const takenUpMillisMax = 30_000

const chunk = (delta: object) =>
  `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", model: "slow", choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`

/** A model server whose answer begins and never ends. */
const variables = Effect.gen(function* () {
  const server = createServer((request, response) => {
    request.resume()
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(JSON.stringify({ object: "list", data: [{ id: "slow", object: "model" }] }))
      return
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(chunk({ role: "assistant", content: "This begins" }))
  })
  return { OPENAI_BASE_URL: `http://127.0.0.1:${yield* serveOnLoopback(server)}/v1` }
})

const form = (page: Page) => page.getByRole("dialog", { name: "Create an API key" })
const save = (page: Page) => form(page).getByRole("button", { name: "Create key" }).click()

const fill = async (page: Page) => {
  await page.getByRole("button", { name: "Create key" }).click()
  await form(page).getByLabel("Name").fill("kept")
  await form(page).getByLabel("Valid for").selectOption("1 year")
  await form(page).getByText("Limits of this key").click()
  await form(page).getByLabel("Tokens per day").fill("12345")
}

const seeWhatIsKept = async (page: Page) => {
  assert.match(
    await form(page).getByRole("alert").innerText(),
    /can't be reached\. Check the connection, then try again\./
  )
  assert.strictEqual(await form(page).getByLabel("Name").inputValue(), "kept")
  assert.strictEqual(await form(page).getByLabel("Valid for").inputValue(), "365")
  assert.strictEqual(await form(page).getByLabel("Tokens per day").inputValue(), "12,345")
}

const seeTheKey = async (page: Page) => {
  await page.getByRole("button", { name: "I have saved the key" }).click()
  await page.getByRole("row", { name: "kept" }).getByText("0 of 12,345 tokens today").waitFor()
}

browserTests(
  "Where the service can't be reached,",
  (it) => {
    it.effect("a form keeps what was typed, and saves it when the connection is back", () =>
      Effect.gen(function* () {
        const { storageState } = yield* owner
        yield* browse(
          async (page) => {
            await fill(page)
            await page.context().setOffline(true)
            await save(page)
            await seeWhatIsKept(page)
            await page.context().setOffline(false)
            await save(page)
            await seeTheKey(page)
          },
          { path: pagePaths.apiKeys, storageState, expected: unreachable }
        )
      })
    )

    it.effect("an answer that breaks off says so, and can be asked for again once the service is back", () =>
      Effect.gen(function* () {
        const { storageState } = yield* owner
        const { kill, startAgain } = yield* ServedApp
        yield* browse(
          async (page) => {
            await page.getByRole("button", { name: "Ask" }).click()
            await page.getByText("This begins").waitFor()
            await Effect.runPromise(kill)
            await page.getByText(/connection is lost/i).waitFor()
            await page.getByText("This begins").waitFor()
            await Effect.runPromise(startAgain)
            await page.getByRole("button", { name: "Send again" }).click({ timeout: takenUpMillisMax })
            await page.getByText("This begins").waitFor()
          },
          { path: pagePaths.home, storageState, expected: unreachable }
        )
      })
    )

    it.effect("a page whose part can't be loaded says what to do, and its button loads it", () =>
      Effect.gen(function* () {
        const { storageState } = yield* owner
        const { kill, startAgain } = yield* ServedApp
        yield* browse(
          async (page) => {
            await title(page, "Account").waitFor()
            await Effect.runPromise(kill)
            await page.getByRole("link", { name: "Models" }).click()
            await page.getByRole("alert").getByText("can't be reached").waitFor()
            await Effect.runPromise(startAgain)
            await page.getByRole("button", { name: "Try again" }).click()
            await title(page, "Models").waitFor()
          },
          { path: pagePaths.account, storageState, expected: [...unreachable, /RequestFailed/] }
        )
      })
    )
  },
  variables
)
