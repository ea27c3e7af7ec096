import { assert } from "@effect/vitest"
import type { Locator, Page } from "playwright-core"

const tabsMax = 60
const focusMillisMax = 2_000
const focusPauseMillis = 20

/** Empty if the element that has the focus can be seen; otherwise why not. */
const focusProblem = `(() => {
  const element = document.activeElement
  if (element === null || element === document.body) return "Nothing has the focus."
  const { bottom, right, top, left } = element.getBoundingClientRect()
  const text = element.outerHTML.slice(0, 200)
  if (bottom <= 0 || right <= 0 || top >= innerHeight || left >= innerWidth) return "Out of sight: " + text
  // The ring of a radio button is drawn around its label.
  const isRing = (one) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(one)
    return outlineStyle !== "none" && parseFloat(outlineWidth) > 0
  }
  return [element, element.closest("label") ?? element].some(isRing) ? "" : "Without a ring: " + text
})()`

export const hasFocus = (target: Locator): Promise<boolean> =>
  target
    .and(target.page().locator(":focus"))
    .count()
    .then((count) => count === 1)

/** Waits until it has the focus, such as after a dialog that returns the focus. */
export const waitForFocus = (target: Locator): Promise<void> =>
  target.and(target.page().locator(":focus")).waitFor()

/**
 * At the end of a dialog the focus moves on by way of a guard, and for a moment nothing has it. The
 * policy of the page refuses `waitForFunction`, which evaluates text there.
 */
const assertFocusSeen = async (page: Page): Promise<void> => {
  const deadline = Date.now() + focusMillisMax
  let problem = await page.evaluate<string>(focusProblem)
  while (problem !== "" && Date.now() < deadline) {
    await page.waitForTimeout(focusPauseMillis)
    problem = await page.evaluate<string>(focusProblem)
  }
  assert.strictEqual(problem, "")
}

/**
 * Presses Tab, or another key, until the element has the focus. The focus is visible everywhere on the way.
 */
export const tabTo = async (page: Page, target: Locator, key = "Tab"): Promise<void> => {
  await target.waitFor()
  for (let presses = 0; presses < tabsMax; presses++) {
    if (await hasFocus(target)) return
    await page.keyboard.press(key)
    await assertFocusSeen(page)
  }
  throw new Error(`${tabsMax} times ${key} don't lead to ${target.toString()}`)
}

/** Presses Tab often enough to go around the dialog, and finds the focus in it each time. */
export const assertFocusStays = async (page: Page, dialog: Locator): Promise<void> => {
  const stops = await dialog.locator("a, button, input, select, textarea, summary, [tabindex='0']").count()
  for (let presses = 0; presses < stops + 2; presses++) {
    await page.keyboard.press("Tab")
    // From the last element it moves to the first one, by way of a guard after it.
    await dialog.locator(":focus").waitFor()
  }
}
