import type { Page } from "playwright-core"

/**
 * Waits until the answer to the last question is there, and gives the question and the answer as they are
 * shown.
 */
export const answeredText = async (page: Page): Promise<string> => {
  await page.getByRole("button", { name: "Copy answer", exact: true }).last().waitFor()
  return page.locator("article").last().innerText()
}
