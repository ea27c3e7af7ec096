import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { pagePaths } from "../../src/console/PagePaths.ts"
import { call, errorOf } from "../support/Wire.ts"
import { browserTests } from "./browserTests.ts"
import { assertFocusStays, hasFocus, tabTo, waitForFocus } from "./Keyboard.ts"
import { createKey, type KeyFields, title } from "./Pages.ts"
import { owner, password } from "./People.ts"
import { ServedApp } from "./ServedApp.ts"
import { browse } from "./Visit.ts"

/** The limits of a key in its row. */
const limitsOf = async (page: Page, name: string): Promise<string> => {
  await page.reload()
  return page.getByRole("row", { name }).innerText()
}

const requestsMax = 10

/**
 * The text of the page about a new key before and after its limit is reached, and the refusal of a
 * program's request.
 */
const reach = Effect.fnUntraced(function* (fields: KeyFields) {
  const { url } = yield* ServedApp
  const { storageState } = yield* owner
  const onPage = <A>(use: (page: Page) => Promise<A>) =>
    browse(use, { path: pagePaths.apiKeys, storageState })
  const { before, key } = yield* onPage(async (page) => {
    const { key } = await createKey(page, fields)
    return { key, before: await limitsOf(page, fields.name) }
  })
  for (let answered = 0; answered < requestsMax; answered++) {
    const reply = yield* call(`${url}/v1/responses`, { key, body: { input: "Hello" } })
    if (reply.status !== 200) {
      const after = yield* onPage((page) => limitsOf(page, fields.name))
      return { answered, before, after, refusal: errorOf(reply, 429) }
    }
  }
  throw new Error(`${requestsMax} requests were answered`)
})

browserTests("An API key", (it) => {
  it.effect("a key with a limit of two requests per minute is refused the third one", () =>
    Effect.gen(function* () {
      const limits = { "Requests per minute": 2 }
      const { after, answered, refusal } = yield* reach({ name: "hasty", limits })
      assert.strictEqual(answered, 2)
      assert.strictEqual(refusal.code, "rate_limit_exceeded")
      assert.match(refusal.message, /^This API key .* in a minute: 2\./)
      assert.include(after, "2 requests a minute")
    })
  )

  it.effect("a key with a limit of tokens is refused when they are used up, and its page shows that", () =>
    Effect.gen(function* () {
      const limits = { "Tokens per day": 1_000 }
      const { after, answered, before, refusal } = yield* reach({ name: "small", limits })
      assert.isAbove(answered, 0)
      assert.match(refusal.message, /daily token limit of this API key/)
      assert.include(before, "0 of 1,000 tokens today")
      const used = /([\d,]+) of 1,000 tokens today/.exec(after)?.[1] ?? "0"
      assert.isAbove(Number(used.replace(",", "")), 0)
    })
  )
})

browserTests("The form of an API key", (it) => {
  it.effect("the form of a key names a field that can't be sent, and creates one key at a double click", () =>
    Effect.gen(function* () {
      const { storageState } = yield* owner
      yield* browse(
        async (page) => {
          await page.getByRole("button", { name: "Create key" }).click()
          const form = page.getByRole("dialog", { name: "Create an API key" })
          const create = form.getByRole("button", { name: "Create key" })
          const name = form.getByLabel("Name")
          for (const refused of ["  ", "   "]) {
            await name.fill(refused)
            await create.click()
            await waitForFocus(name)
            await form.getByText("`name` must be 1 to 100 characters").waitFor()
          }
          await name.fill("doubled")
          await form.getByText("Limits of this key").click()
          const tokens = form.getByLabel("Tokens per day")
          for (const typed of ["1.5", "-3", "0"]) {
            await tokens.fill(typed)
            await create.click()
            await form.getByText(/nearest valid values|greater than or equal to 1/).waitFor()
            assert.strictEqual(await tokens.inputValue(), typed)
          }
          await tokens.fill("")
          await create.dblclick()
          await page.getByRole("button", { name: "I have saved the key" }).click()
          await page.reload()
          const rows = page.getByRole("row", { name: "doubled" })
          await rows.first().waitFor()
          assert.strictEqual(await rows.count(), 1)
        },
        { path: pagePaths.apiKeys, storageState }
      )
    })
  )

  it.effect("the form of a key forgets a refusal once its field is changed, and keeps it so", () =>
    Effect.gen(function* () {
      const { storageState } = yield* owner
      yield* browse(
        async (page) => {
          const list = Promise.withResolvers<void>()
          await page.route("**/console/me/keys*", (route) =>
            route.request().method() === "GET" ? list.promise.then(() => route.continue()) : route.continue()
          )
          await page.reload()
          await page.getByRole("button", { name: "Create key" }).click()
          const form = page.getByRole("dialog", { name: "Create an API key" })
          await form.getByLabel("Name").fill("  ")
          await page.keyboard.press("Enter")
          const refusal = form.getByText("`name` must be 1 to 100 characters")
          await refusal.waitFor()
          await form.getByLabel("Name").fill("corrected")
          await refusal.waitFor({ state: "detached" })
          const loading = page.getByText("Loading…")
          await loading.waitFor()
          list.resolve()
          await loading.waitFor({ state: "detached" })
          assert.strictEqual(await refusal.count(), 0)
          await page.keyboard.press("Enter")
          await page.getByRole("button", { name: "I have saved the key" }).click()
        },
        { path: pagePaths.apiKeys, storageState }
      )
    })
  )
})

const signInByKeyboard = async (page: Page, email: string) => {
  await title(page, "Sign in").waitFor()
  await tabTo(page, page.getByLabel("E-mail address"))
  await page.keyboard.type(email)
  await tabTo(page, page.getByLabel("Password", { exact: true }))
  await page.keyboard.type(password)
  await page.keyboard.press("Enter")
  await title(page, "Home").waitFor()
}

const openByMenu = async (page: Page) => {
  await page.reload()
  await title(page, "Home").waitFor()
  await tabTo(page, page.getByRole("link", { name: "Skip to content" }))
  await page.keyboard.press("Enter")
  await waitForFocus(page.locator("#main"))
  const button = page.getByRole("button", { name: "Menu", exact: true })
  await tabTo(page, button, "Shift+Tab")
  await page.keyboard.press("Space")
  const menu = page.getByRole("dialog", { name: "Menu" })
  await menu.waitFor()
  await assertFocusStays(page, menu)
  await page.keyboard.press("Escape")
  await menu.waitFor({ state: "detached" })
  await waitForFocus(button)
  await page.keyboard.press("Enter")
  await tabTo(page, menu.getByRole("link", { name: "API keys" }))
  await page.keyboard.press("Enter")
  await waitForFocus(title(page, "API keys"))
}

const createByKeyboard = async (page: Page, name: string) => {
  const button = page.getByRole("button", { name: "Create key" })
  await tabTo(page, button)
  await page.keyboard.press("Enter")
  const form = page.getByRole("dialog", { name: "Create an API key" })
  await form.waitFor()
  await assertFocusStays(page, form)
  await tabTo(page, form.getByLabel("Name"))
  await page.keyboard.type(name)
  await page.keyboard.press("Enter")
  const shown = page.getByRole("dialog", { name: "Your new API key" })
  await shown.waitFor()
  await page.keyboard.press("Escape")
  await tabTo(page, shown.getByRole("button", { name: "Copy API key" }))
  await page.keyboard.press("Space")
  await shown.getByText("Copied").waitFor()
  const key = await shown.getByRole("region", { name: "API key", exact: true }).innerText()
  await tabTo(page, shown.getByRole("tab", { name: "curl" }))
  await tabTo(page, shown.getByRole("tab", { name: "Python" }), "ArrowRight")
  await page.keyboard.press("Enter")
  await shown.getByText("pip install openai").waitFor()
  await assertFocusStays(page, shown)
  await tabTo(page, shown.getByRole("button", { name: "I have saved the key" }))
  await page.keyboard.press("Enter")
  await shown.waitFor({ state: "detached" })
  await waitForFocus(button)
  return key
}

/** Pastes what was copied where it can be read: pages may write to the clipboard only. */
const pasted = async (page: Page): Promise<string> => {
  await page.keyboard.press("Enter")
  const name = page.getByRole("dialog", { name: "Create an API key" }).getByLabel("Name")
  await tabTo(page, name)
  await page.keyboard.press("Control+V")
  const text = await name.inputValue()
  await page.keyboard.press("Escape")
  await name.waitFor({ state: "detached" })
  return text
}

const revokeByKeyboard = async (page: Page, name: string) => {
  const actions = page.getByRole("button", { name: `Actions for ${name}` })
  const question = page.getByRole("alertdialog")
  const choose = async () => {
    await page.keyboard.press("Enter")
    const item = page.getByRole("menuitem", { name: "Revoke…" })
    const current = page.getByRole("menuitem").and(page.locator(":focus"))
    await current.waitFor()
    for (let presses = 0; !(await hasFocus(item)); presses++) {
      assert.isBelow(presses, 5)
      const before = await current.innerText()
      await page.keyboard.press("ArrowDown")
      await current.filter({ hasNotText: before }).waitFor()
    }
    await page.keyboard.press("Enter")
    await question.waitFor()
  }
  await tabTo(page, actions)
  await choose()
  await assertFocusStays(page, question)
  await page.keyboard.press("Escape")
  await question.waitFor({ state: "detached" })
  await waitForFocus(actions)
  await choose()
  await tabTo(page, question.getByRole("button", { name: "Revoke key" }))
  await page.keyboard.press("Enter")
  await page.getByRole("row", { name }).getByText("Revoked").waitFor()
  await question.waitFor({ state: "detached" })
}

browserTests("By keyboard alone, 360 pixels wide,", (it) => {
  it.effect("a user signs in, creates and copies a key, and revokes it", () =>
    Effect.gen(function* () {
      const { email } = yield* owner
      yield* browse(
        async (page) => {
          await signInByKeyboard(page, email)
          await openByMenu(page)
          const key = await createByKeyboard(page, "by keyboard")
          assert.strictEqual(await pasted(page), key)
          await revokeByKeyboard(page, "by keyboard")
        },
        { width: 360 }
      )
    })
  )
})
