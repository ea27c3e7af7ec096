import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Page } from "playwright-core"
import { pagePaths } from "../../src/console/PagePaths.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { browserTests } from "./browserTests.ts"
import { saveScreenshot } from "./Checks.ts"
import { join, owner } from "./People.ts"
import { browse, type VisitOptions } from "./Visit.ts"

/** Records usage of the owner on each of the last days before today: the same numbers at every run. */
const useTokens = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO usage_records (response_id, user_id, organization_id, key_id, model, input_tokens, cached_input_tokens,
      output_tokens, source, outcome, created_at, latency_millis)
    SELECT gen_random_uuid(), u.id, u.organization_id, k.id, 'parley-offline', 900 + (day * 7919) % 4100,
      ((day * 7919) % 4100) / 2, 200 + (day * 104729) % 1900, 'provider', 'completed', now() - day * interval '1 day', 400 + (day * 31) % 300
    FROM users u, api_keys k, generate_series(1, 29) AS day
    WHERE u.email = 'owner@example.com' AND k.user_id = u.id AND day % 7 NOT IN (0, 6)`
}).pipe(Effect.provide(TestDatabase.client()), Effect.orDie)

const prepared = Effect.gen(function* () {
  const by = yield* owner
  yield* by.ask("/admin/limits", { email: by.email, daily: 20_000, monthly: 400_000 })
  for (const [name, limit] of [
    ["notebook", null],
    ["nightly report", 5_000]
  ] as const) {
    const limits = { daily_tokens: limit, monthly_tokens: null, requests_per_minute: null }
    yield* by.ask("/me/keys", { name, expires_in_seconds: 90 * 86_400, ...limits })
  }
  yield* useTokens
  yield* join(by, { email: "lead@example.com", organization: "Example", role: "organization_admin" })
  yield* join(by, { email: "user@example.com", organization: "Example", role: "member" })
  return by
})

const readyToAsk = (page: Page) => page.getByRole("button", { name: "Ask" }).waitFor()

/** The share of the input that was read from caches stands in words, and in the table for each day. */
const usageShown = async (page: Page) => {
  await page.locator("canvas").waitFor()
  await page.getByText(/Of the input, \d+\s?% was read from caches/).waitFor()
  const shares = await page.getByRole("cell", { name: /^\d+\s?%$/ }).count()
  const days = await page.getByRole("table", { name: "Usage by day" }).getByRole("row").count()
  // Each day has this share and that of the tokens.
  assert.strictEqual(shares, 2 * (days - 1))
}

const converse = async (page: Page) => {
  await page.getByLabel("Message").fill("What is 17 * 23?")
  await page.keyboard.press("Enter")
  await page.getByRole("button", { name: "Copy answer" }).waitFor()
}

const shots: ReadonlyArray<
  readonly [name: string, options: VisitOptions, use: (page: Page) => Promise<unknown>]
> = [
  ["home", { path: pagePaths.home }, readyToAsk],
  ["conversation", { path: pagePaths.conversations, width: 1440 }, converse],
  ["api-keys", { path: pagePaths.apiKeys }, (page) => page.getByRole("row", { name: "notebook" }).waitFor()],
  ["usage", { path: pagePaths.usage }, usageShown],
  ["usage-dark", { path: pagePaths.usage, colorScheme: "dark" }, usageShown],
  [
    "users",
    { path: pagePaths.users },
    (page) => page.getByRole("row", { name: "user@example.com" }).waitFor()
  ],
  [
    "user-delete",
    { path: pagePaths.users },
    async (page) => {
      await page.getByRole("button", { name: "Actions for user@example.com" }).click()
      await page.getByRole("menuitem", { name: "Delete…" }).click()
      await page.getByRole("alertdialog").or(page.getByRole("dialog")).getByLabel("to confirm").waitFor()
    }
  ],
  ["audit-log", { path: pagePaths.audit }, (page) => page.getByRole("row").nth(3).waitFor()],
  ["home-narrow", { path: pagePaths.home, width: 360 }, readyToAsk]
]

/**
 * `PARLEY_TEST_SCREENSHOTS=docs/images npm run test:browser -- test/browser/Screenshots.test.ts` renews those
 * of the documentation.
 */
browserTests("The screenshots of the documentation", (it) => {
  it.effect("the pages of the application are saved as screenshots with content", () =>
    Effect.gen(function* () {
      const { storageState } = yield* prepared
      for (const [name, options, use] of shots) {
        yield* browse(
          async (page) => {
            await use(page)
            await page.evaluate("document.activeElement?.blur()")
            await saveScreenshot(page, name)
          },
          { ...options, storageState }
        )
      }
    })
  )
})
