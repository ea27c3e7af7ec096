import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { answeredText } from "./Answers.ts"
import { browserTests } from "./browserTests.ts"
import { createKey, revokeKey, title } from "./Pages.ts"
import { password, setUpLink } from "./People.ts"
import { ServedApp } from "./ServedApp.ts"
import { runSnippet } from "./Shell.ts"
import { browse, visit } from "./Visit.ts"

const keyName = "my first program"
const refusedMillisMax = 5_000

/** From the link to the first page. */
const followLink = async (page: Page) => {
  await title(page, "Set up Parley").waitFor()
  await page.getByLabel("E-mail address").fill("owner@example.com")
  await page.getByLabel("New password").fill(password)
  await page.getByRole("button", { name: "Set up" }).click()
  await title(page, "Home").waitFor()
}

const seeAnAnswer = async (page: Page) => {
  await page.getByRole("button", { name: "Ask" }).click()
  assert.include(await answeredText(page), "I am parley-offline")
  await page.getByRole("link", { name: "Home" }).click()
}

const seeUsage = async (page: Page) => {
  await page.getByRole("link", { name: "Usage" }).click()
  await title(page, "Usage").waitFor()
  await page.getByRole("tab", { name: "By key" }).click()
  for (const name of [keyName, "Web application"]) {
    const row = page.getByRole("row", { name })
    await row.waitFor()
    const [, requests, , , tokens = ""] = await row.getByRole("cell").allInnerTexts()
    assert.strictEqual(requests?.trim(), "1", name)
    assert.isAbove(Number(tokens.replaceAll(",", "")), 0, name)
  }
}

/** Sends requests until one is refused. None that is sent later than the promise says may be answered. */
const seeRefusal = async (send: () => Promise<string>) => {
  const revokedAt = performance.now()
  while (true) {
    const sentAt = performance.now()
    const answer = await send()
    if (answer.includes("invalid_api_key")) return
    assert.isBelow(sentAt - revokedAt, refusedMillisMax, answer)
  }
}

browserTests("The first start", (it) => {
  it.effect(
    "the first start leads from the printed link to an answer, and to a key that works outside the browser until it is revoked",
    () =>
      Effect.gen(function* () {
        const { href, origin } = yield* setUpLink
        const { faults } = yield* visit(origin, { path: href }, async (page) => {
          await followLink(page)
          await seeAnAnswer(page)
          await page.getByRole("link", { name: "Create an API key" }).click()
          await title(page, "API keys").waitFor()
          const { key, setting, snippet } = await createKey(page, { name: keyName })
          assert.include(snippet, `${origin}/v1/responses`)
          assert.include(setting, key)
          assert.include(await runSnippet(setting, snippet), "I am parley-offline")

          assert.notInclude(await page.content(), key)
          await page.reload()
          await page.getByRole("row", { name: keyName }).waitFor()
          assert.notInclude(await page.content(), key)

          await seeUsage(page)
          await page.getByRole("link", { name: "API keys" }).click()
          await revokeKey(page, keyName)
          await seeRefusal(() => runSnippet(setting, snippet))
          await page.getByRole("row", { name: keyName }).getByText("Revoked").waitFor()
        })
        assert.deepStrictEqual(faults, [])
      })
  )

  it.effect("the first start has a link that works once, and a page that then says what to do", () =>
    Effect.gen(function* () {
      const { hash } = yield* setUpLink
      const { output } = yield* ServedApp
      assert.notInclude(output().err, hash.slice(1))
      for (const token of [hash, `${hash.slice(0, -1)}x`]) {
        yield* browse(
          async (page) => {
            const message = await page.getByRole("alert").innerText()
            assert.match(message, /used|expired|not valid/)
            assert.match(message, /[Aa]sk|new one|another/)
            await page.getByRole("link", { name: "To the sign-in page" }).click()
            await title(page, "Sign in").waitFor()
          },
          { path: `/link${token}`, expected: [/status of 4\d\d/] }
        )
      }
    })
  )
})
