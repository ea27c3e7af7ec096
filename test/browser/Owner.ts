import { NodeCrypto } from "@effect/platform-node"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Page } from "playwright-core"
import { hashPassword, PasswordCost } from "../../src/auth/PasswordHash.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

/** The user whom the first start creates, and the password that the tests give it. */
export const owner = { email: "admin@localhost", password: "a few words in a row" } as const

/** Stores the owner's password, as having set up the application would. */
export const givePassword = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const hash = yield* hashPassword(owner.password)
  yield* sql`
    INSERT INTO passwords (user_id, hash, changed_at)
    SELECT id, ${hash}, now() FROM users WHERE email = ${owner.email}
    ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash`
}).pipe(
  Effect.provideService(PasswordCost, { memory: 8, passes: 1, parallelism: 1 }),
  Effect.provide([TestDatabase.client(), NodeCrypto.layer]),
  Effect.orDie
)

/** Fills in the sign-in form that the page shows, and sends it by the Enter key. */
export const signIn = async (page: Page, password: string = owner.password): Promise<void> => {
  const email = page.getByLabel("E-mail address")
  if (await email.isEditable()) await email.fill(owner.email)
  await page.getByLabel("Password", { exact: true }).fill(password)
  await page.keyboard.press("Enter")
}
