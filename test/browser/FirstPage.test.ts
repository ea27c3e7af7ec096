import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { browserTests } from "./browserTests.ts"
import { assertAccessible, assertFits, saveScreenshot } from "./Checks.ts"
import { browse } from "./Visit.ts"

browserTests("The web application", (it) => {
  it.effect("the application shows its first page under its policy, narrow, in light and in dark", () =>
    Effect.gen(function* () {
      for (const colorScheme of ["light", "dark"] as const) {
        yield* browse(
          async (page) => {
            const messages: Array<string> = []
            page.on("console", (message) => messages.push(message.text()))
            await page.reload()
            await page.getByRole("heading", { level: 1 }).waitFor()
            await assertFits(page)
            await assertAccessible(page)
            await saveScreenshot(page, `first-page-${colorScheme}`)
            assert.deepStrictEqual(
              messages.filter((text) => text.includes("Permissions-Policy")),
              []
            )
          },
          { width: 360, colorScheme }
        )
      }
    })
  )
})
