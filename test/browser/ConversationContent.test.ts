import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { makeMockModelServer, type MockModelServer } from "../support/MockModelServer.ts"
import { until } from "../support/until.ts"
import { call } from "../support/Wire.ts"
import { browserTests } from "./browserTests.ts"
import { assertAccessible } from "./Checks.ts"
import { owner, type Person } from "./People.ts"
import { ServedApp } from "./ServedApp.ts"
import { browse } from "./Visit.ts"

let model: MockModelServer

const variables = Effect.gen(function* () {
  model = yield* makeMockModelServer
  return { OPENAI_BASE_URL: model.url }
})

const hostile = `"'><img src=x onerror=window.xss=1><svg onload=window.xss=1><script>window.xss=1</script>`

const send = async (page: Page, text: string) => {
  await page.getByLabel("Message").fill(text)
  await page.keyboard.press("Enter")
}

/** Nothing ran, and nothing of it is an element. */
const assertHarmless = async (page: Page) => {
  assert.isFalse(await page.evaluate<boolean>("window.xss !== undefined"))
  const elements = page.locator(":is(main, [role=dialog]) :is(img, script, iframe, [onload], [onerror])")
  assert.strictEqual(await elements.count(), 0)
}

const keyOf = (by: Person) =>
  Effect.map(
    by.ask("/me/keys", {
      name: "content",
      expires_in_seconds: null,
      daily_tokens: null,
      monthly_tokens: null,
      requests_per_minute: null
    }),
    ({ key }) => String(key)
  )

const upload = Effect.fnUntraced(function* (key: string, filename: string, text: string) {
  const { url } = yield* ServedApp
  return yield* Effect.promise(async () => {
    const body = new FormData()
    body.append("file", new Blob([text]), filename)
    const init = { method: "POST", headers: { authorization: `Bearer ${key}` }, body }
    const { id } = (await (await fetch(`${url}/v1/files`, init)).json()) as { readonly id: string }
    return id
  })
})

browserTests(
  "In a conversation",
  (it) => {
    it.effect("a call of a tool is one line, which opens to its arguments and its result", () =>
      Effect.gen(function* () {
        const { storageState } = yield* owner
        const call = (id: string, expression: string) => ({
          calls: [{ id, name: "calculator", arguments: JSON.stringify({ expression }) }]
        })
        yield* model.script(call("one", "6 * 7"), call("two", hostile), { deltas: ["It is 42."] })
        yield* browse(
          async (page) => {
            await send(page, "what is six times seven?")
            await page.getByText("It is 42.").waitFor()
            await page.getByRole("button", { name: "Copy answer" }).waitFor()
            const result = page.getByRole("region", { name: "Result", exact: true })
            assert.isFalse(await result.first().isVisible())
            await page.getByText("Calculated", { exact: true }).click()
            assert.include(await result.first().innerText(), "42")
            const given = page.getByRole("region", { name: "Arguments", exact: true })
            assert.include(await given.first().innerText(), "6 * 7")
            // The other one failed, and says why.
            const failed = page.getByText("Calculated: it failed")
            await failed.focus()
            await page.keyboard.press("Enter")
            assert.include(await given.last().innerText(), "onerror")
            await page.getByRole("region", { name: "Error", exact: true }).waitFor()
            await assertHarmless(page)
            await assertAccessible(page)
          },
          { path: "/conversations", storageState }
        )
      })
    )

    it.effect("a citation opens its passage in the text of its file, whatever that says", () =>
      Effect.gen(function* () {
        const by = yield* owner
        const filename = `<img src=x onerror=window.xss=1>.txt`
        const text = `Pangolins eat ants. ${hostile} [a](javascript:window.xss=1)`
        const { id: project } = yield* by.ask("/projects", { name: "Animals" })
        const file_id = yield* upload(yield* keyOf(by), filename, text)
        yield* by.ask(`/projects/${project}/files`, { file_id })
        yield* until(
          Effect.map(by.ask(`/projects/${project}/files`), ({ data }) =>
            data.every(({ status }: { readonly status: string }) => status === "indexed")
          )
        )
        const { id } = yield* by.ask("/conversations", { title: hostile, project_id: project })
        yield* model.script({ deltas: ["They eat ants [1], not [7]."] })
        yield* browse(
          async (page) => {
            await send(page, "What do pangolins eat?")
            await page.getByRole("button", { name: "Copy answer" }).waitFor()
            // A number that cites nothing is text.
            assert.strictEqual(await page.getByRole("button", { name: "Source 7" }).count(), 0)
            await page.getByRole("button", { name: "Source 1" }).click()
            const dialog = page.getByRole("dialog", { name: filename })
            const passage = dialog.getByRole("region", { name: "Passage" })
            assert.include(await passage.locator("mark").innerText(), "Pangolins eat ants.")
            await assertHarmless(page)
            await assertAccessible(page)
            await page.keyboard.press("Escape")
            await dialog.waitFor({ state: "detached" })
            await page.getByText(/^Searched the project's files: 1 passage/).click()
            await page.getByText(`[1] ${filename}`).waitFor()
            await page.reload()
            await page.getByRole("link", { name: hostile }).waitFor()
            await assertHarmless(page)
          },
          { path: `/conversations/${id}`, storageState: by.storageState, width: 1440 }
        )
      })
    )

    it.effect("a conversation of API requests stays out of the list until it is asked for", () =>
      Effect.gen(function* () {
        const { url } = yield* ServedApp
        const by = yield* owner
        const key = yield* keyOf(by)
        yield* model.script({ deltas: ["Only programs know this."] })
        const asked = yield* call(`${url}/v1/responses`, { key, body: { input: "A hidden question" } })
        assert.strictEqual(asked.status, 200)
        yield* browse(
          async (page) => {
            const row = page.getByRole("link", { name: "A hidden question" })
            await page.getByRole("link", { name: hostile }).waitFor()
            assert.strictEqual(await row.count(), 0)
            await page.getByLabel("Search conversations").fill("hidden question")
            await page.getByText("No conversation has these words.").waitFor()
            await page.getByRole("checkbox", { name: "Those of my API requests" }).click()
            await row.click()
            await page.getByText("Only programs know this.").waitFor()
            await assertAccessible(page)
          },
          { path: "/conversations", storageState: by.storageState, width: 1440 }
        )
      })
    )
  },
  variables
)
