import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { answeredText } from "./Answers.ts"
import { browserTests } from "./browserTests.ts"
import { assertAccessible, assertFits } from "./Checks.ts"
import { waitForFocus } from "./Keyboard.ts"
import { ServedApp } from "./ServedApp.ts"
import { browse } from "./Visit.ts"

const email = "first@example.com"

browserTests("The set-up link of the first start", (it) => {
  it.effect("the set-up link makes the first administrator, who then gets an answer within one click", () =>
    Effect.gen(function* () {
      const { output } = yield* ServedApp
      // The host is localhost there, and an address here.
      const [, path] = /http:\/\/[^/]+(\/link#\S+)/.exec(output().out) ?? []
      if (path === undefined) assert.fail(`No link was printed.\n${output().out}`)
      yield* browse(
        async (page) => {
          await page.getByText("Set up the first administrator").waitFor()
          await assertAccessible(page)
          await page.goto(path)
          const address = page.getByLabel("E-mail address")
          assert.strictEqual(await address.inputValue(), "admin@localhost")
          await assertFits(page)
          await assertAccessible(page)
          await address.fill(email)
          const password = page.getByLabel("New password", { exact: true })
          await password.press("Enter")
          await page.getByText("Please fill out this field.").waitFor()
          await waitForFocus(password)
          await password.fill("short")
          await page.keyboard.press("Enter")
          await page.getByText("The password must have at least 12 characters.").waitFor()
          assert.strictEqual(await password.and(page.locator(":focus")).inputValue(), "short")
          assert.strictEqual(await address.inputValue(), email)
          await password.fill("")
          await password.press("Enter")
          await page.getByText("Please fill out this field.").waitFor()
          await assertAccessible(page)
          await password.fill("a long walk by the sea")
          await page.keyboard.press("Enter")
          await page.getByRole("button", { name: "Ask" }).click()
          assert.include(await answeredText(page), "I am parley-offline")
          await page.getByRole("button", { name: "Menu" }).click()
          await page.getByRole("dialog").getByText(email).waitFor()
        },
        { width: 360, expected: [/status of 400/] }
      )
      // Nothing is set up twice.
      yield* browse(
        async (page) => {
          await page.getByRole("alert").waitFor()
          await page.getByRole("link", { name: "To the sign-in page" }).click()
          await page.getByRole("button", { name: "Sign in" }).waitFor()
          assert.strictEqual(await page.getByText("Set up the first administrator").count(), 0)
        },
        { path, expected: [/status of 404/] }
      )
    })
  )
})
