import { assert } from "@effect/vitest"
import type { Locator, Page } from "playwright-core"

/** The heading of a page. */
export const title = (page: Page, name: string): Locator =>
  page.getByRole("heading", { level: 1, name, exact: true })

const codeOf = (within: Page | Locator, label: string): Promise<string> =>
  within.getByRole("region", { name: label, exact: true }).innerText()

/** A link that the page shows, such as that of an invitation. */
export const shownLink = (page: Page): Promise<string> => codeOf(page.getByRole("dialog"), "Link")

export interface KeyFields {
  readonly name: string
  /** Numbers to type, by the labels of their fields. */
  readonly limits?: Readonly<Record<string, number>>
}

/** A key as the page shows it once. */
export interface ShownKey {
  readonly key: string
  /** The line that sets the variable which the snippet reads the key from. */
  readonly setting: string
  /** The curl command. */
  readonly snippet: string
}

/** Creates a key on the page of API keys, and closes the dialog that shows it. */
export const createKey = async (page: Page, { limits = {}, name }: KeyFields): Promise<ShownKey> => {
  await page.getByRole("button", { name: "Create key" }).click()
  const form = page.getByRole("dialog", { name: "Create an API key" })
  await form.getByLabel("Name").fill(name)
  if (Object.keys(limits).length > 0) await form.getByText("Limits of this key").click()
  for (const [label, limit] of Object.entries(limits)) await form.getByLabel(label).fill(String(limit))
  await form.getByRole("button", { name: "Create key" }).click()
  const shown = page.getByRole("dialog", { name: "Your new API key" })
  const key = await codeOf(shown, "API key")
  assert.isNotEmpty(key)
  const setting = await codeOf(shown, "Environment variable")
  const snippet = await codeOf(shown, "curl example")
  await shown.getByRole("button", { name: "I have saved the key" }).click()
  await shown.waitFor({ state: "detached" })
  return { key, setting, snippet }
}

/** Revokes a key by the menu of its row. */
export const revokeKey = async (page: Page, name: string): Promise<void> => {
  await page.getByRole("button", { name: `Actions for ${name}` }).click()
  await page.getByRole("menuitem", { name: "Revoke…" }).click()
  await page.getByRole("alertdialog").getByRole("button", { name: "Revoke key" }).click()
  await page.getByText(`The key “${name}” is revoked.`).waitFor()
}

/** Signs in by the form that the page shows; where it knows the address, only by the password. */
export const fillSignIn = async (page: Page, password: string, email: string): Promise<void> => {
  const address = page.getByLabel("E-mail address")
  if (await address.isEditable()) await address.fill(email)
  await page.getByLabel("Password", { exact: true }).fill(password)
  await page.getByRole("button", { name: "Sign in", exact: true }).click()
}

/** The names of the pages that the navigation leads to. */
export const navigation = (page: Page): Promise<ReadonlyArray<string>> =>
  page.getByRole("navigation", { name: "Main" }).getByRole("link").allInnerTexts()
