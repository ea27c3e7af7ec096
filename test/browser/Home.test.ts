import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { answeredText } from "./Answers.ts"
import { browserTests } from "./browserTests.ts"
import { assertAccessible, assertFits } from "./Checks.ts"
import { waitForFocus } from "./Keyboard.ts"
import { givePassword, signIn } from "./Owner.ts"
import { browse, type VisitOptions } from "./Visit.ts"

const title = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true })
/** Waits until the element has the focus. */
const unauthorized = [/status of 401/]

/** The first page, signed in. */
const atHome = <A>(use: (page: Page) => Promise<A>, options: VisitOptions = {}) =>
  Effect.andThen(
    givePassword,
    browse(async (page) => {
      await signIn(page)
      await title(page, "Home").waitFor()
      return use(page)
    }, options)
  )

const ask = (page: Page) => page.getByRole("button", { name: "Ask" }).click()

browserTests("The application of a signed-in user:", (it) => {
  it.effect(
    "The first page shows an answer within one click, accessibly, wide and narrow, in light and in dark",
    () =>
      Effect.gen(function* () {
        for (const colorScheme of ["light", "dark"] as const) {
          for (const width of [360, 1280]) {
            yield* atHome(
              async (page) => {
                await ask(page)
                assert.include(await answeredText(page), "I am parley-offline")
                await assertFits(page)
                await assertAccessible(page)
              },
              { width, colorScheme }
            )
          }
        }
      })
  )

  it.effect("The first page shows markup in an answer as text", () =>
    atHome(async (page) => {
      const markup = `<img src="x" onerror="document.title='run'"><b>bold</b>`
      await page.getByLabel("Question").fill(markup)
      await ask(page)
      assert.include(await answeredText(page), markup)
      assert.strictEqual(await page.locator("article :is(img, b)").count(), 0)
    })
  )

  it.effect(
    "A page asks for the password in place when the session has ended, and then sends the request again",
    () =>
      atHome(
        async (page) => {
          await page.getByLabel("Question").fill("what is 6 * 7?")
          await page.context().clearCookies()
          await ask(page)
          const dialog = page.getByRole("dialog", { name: "Sign in again" })
          await dialog.waitFor()
          await assertAccessible(page)
          await page.keyboard.press("Escape")
          assert.isTrue(await dialog.isVisible())
          await signIn(page)
          assert.include(await answeredText(page), "42")
        },
        { expected: unauthorized }
      )
  )

  it.effect("the home page ends the session when the user signs out, and keeps nothing of the user", () =>
    atHome(async (page) => {
      await page.getByRole("button", { name: "Sign out" }).click()
      await title(page, "Sign in").waitFor()
      assert.isEmpty(await page.context().cookies())
      await page.goto("/")
      await title(page, "Sign in").waitFor()
    })
  )

  it.effect("The navigation is used by keyboard alone, and leads to the title of each page", () =>
    atHome(async (page) => {
      await page.reload()
      await title(page, "Home").waitFor()
      await page.keyboard.press("Tab")
      await waitForFocus(page.getByRole("link", { name: "Skip to content" }))
      await page.keyboard.press("Enter")
      await waitForFocus(page.locator("#main"))
      await page.getByRole("link", { name: "Account" }).focus()
      await page.keyboard.press("Enter")
      await waitForFocus(title(page, "Account"))
    })
  )

  it.effect("The navigation is a menu on a narrow screen, which closes by Escape and by choosing", () =>
    atHome(
      async (page) => {
        const button = page.getByRole("button", { name: "Menu", exact: true })
        const menu = page.getByRole("dialog", { name: "Menu" })
        await button.click()
        await menu.waitFor()
        await assertAccessible(page)
        await page.keyboard.press("Escape")
        await menu.waitFor({ state: "detached" })
        await waitForFocus(button)
        await button.click()
        await menu.getByRole("link", { name: "Account" }).click()
        await title(page, "Account").waitFor()
        await menu.waitFor({ state: "detached" })
        await assertFits(page)
      },
      { width: 360 }
    )
  )
})
