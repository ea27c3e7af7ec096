import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { browserTests } from "./browserTests.ts"
import { assertAccessible, assertFits } from "./Checks.ts"
import { waitForFocus } from "./Keyboard.ts"
import { givePassword, owner, signIn } from "./Owner.ts"
import { browse } from "./Visit.ts"

const pathOf = (page: Page) => page.url().slice(new URL(page.url()).origin.length)
const title = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true })
const unauthorized = [/status of 401/]

/** Compressed JavaScript that a browser loads before it shows its first page. */
const firstViewBytesMax = 180_000

browserTests("Signing in:", (it) => {
  it.effect("The page is accessible and fits, wide and narrow, in light and in dark", () =>
    Effect.gen(function* () {
      for (const colorScheme of ["light", "dark"] as const) {
        for (const width of [360, 1280]) {
          yield* browse(
            async (page) => {
              await title(page, "Sign in").waitFor()
              assert.strictEqual(await page.title(), "Sign in · Parley")
              await assertFits(page)
              await assertAccessible(page)
            },
            { width, colorScheme }
          )
        }
      }
    })
  )

  it.effect("The page is shown once the browser has loaded at most 180 kB of compressed JavaScript", () =>
    browse(async (page) => {
      await title(page, "Sign in").waitFor()
      const scripts = await page.evaluate<ReadonlyArray<number>>(
        `performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js")).map((one) => one.encodedBodySize)`
      )
      assert.isAbove(scripts.length, 1)
      assert.isAtMost(
        scripts.reduce((sum, bytes) => sum + bytes, 0),
        firstViewBytesMax
      )
    })
  )

  it.effect("The page keeps what was typed when it is wrong, and says so", () =>
    Effect.gen(function* () {
      yield* givePassword
      yield* browse(
        async (page) => {
          await signIn(page, "another password")
          assert.match(await page.getByRole("alert").innerText(), /password is not right/)
          assert.strictEqual(await page.getByLabel("E-mail address").inputValue(), owner.email)
          assert.strictEqual(
            await page.getByLabel("Password", { exact: true }).inputValue(),
            "another password"
          )
          await assertAccessible(page)
        },
        { expected: unauthorized }
      )
    })
  )

  it.effect("The page asks for what is missing beside the field, and puts the focus there", () =>
    browse(async (page) => {
      await page.getByRole("button", { name: "Sign in" }).click()
      await waitForFocus(page.getByLabel("E-mail address").and(page.locator("[aria-invalid=true]")))
    })
  )

  it.effect("the sign-in leads to the page that was asked for, with its search", () =>
    Effect.gen(function* () {
      yield* givePassword
      yield* browse(
        async (page) => {
          await title(page, "Sign in").waitFor()
          await signIn(page)
          await title(page, "Usage").waitFor()
          assert.strictEqual(pathOf(page), "/usage?by=model")
        },
        { path: "/usage?by=model" }
      )
    })
  )

  it.effect("the sign-in leads to no other host", () =>
    Effect.gen(function* () {
      yield* givePassword
      for (const next of ["//example.com", "https://example.com/", "/\\example.com"]) {
        yield* browse(
          async (page) => {
            await signIn(page)
            await title(page, "Home").waitFor()
            assert.strictEqual(pathOf(page), "/")
          },
          { path: `/sign-in?next=${encodeURIComponent(next)}` }
        )
      }
    })
  )

  it.effect("The page says why the identity provider led back to it", () =>
    browse(
      async (page) => {
        assert.match(await page.getByRole("alert").innerText(), /no single sign-on/)
      },
      { path: "/sign-in?problem=not_configured" }
    )
  )

  it.effect("The page keeps the colors that were chosen", () =>
    browse(async (page) => {
      const background = () => page.evaluate<string>("getComputedStyle(document.body).backgroundColor")
      const light = await background()
      await page.getByRole("radio", { name: "Dark" }).check()
      const dark = await background()
      assert.notStrictEqual(dark, light)
      await page.reload()
      await title(page, "Sign in").waitFor()
      assert.strictEqual(await background(), dark)
      await assertAccessible(page)
    })
  )

  it.effect("A link leaves its secret part neither in the address bar nor in the history", () =>
    browse(
      async (page) => {
        await page.getByRole("alert").waitFor()
        assert.strictEqual(pathOf(page), "/link")
        await page.goBack()
        assert.strictEqual(page.url(), "about:blank")
      },
      { path: "/link#0123456789abcdef", expected: [/status of 4\d\d/] }
    )
  )

  it.effect("A link that lacks its secret part says what to do", () =>
    browse(
      async (page) => {
        await page.getByText("lacks the secret part").waitFor()
        await assertAccessible(page)
        await page.getByRole("link", { name: "To the sign-in page" }).click()
        await title(page, "Sign in").waitFor()
      },
      { path: "/link" }
    )
  )
})
