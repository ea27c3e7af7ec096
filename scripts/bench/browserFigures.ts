import type { Page } from "playwright-core"
import { answers, listSize, longTitle, longTurns, newestText, oldestTitle, rareWord } from "./browserData.ts"
import type { Said } from "./browserModel.ts"
import { quantile } from "./statistics.ts"

/** What is measured in a page of the web application. */

export interface Figure {
  readonly name: string
  /** In milliseconds. */
  readonly value: number
  /** The most that it may be; null: it is only shown. */
  readonly most: number | null
}

export interface Measured {
  readonly page: Page
  readonly say: (said: Said) => void
  readonly quick: boolean
}

interface Noted {
  readonly longTasks: ReadonlyArray<number>
  readonly frames: ReadonlyArray<number>
}

const bounds = { firstToken: 50, task: 50, opening: 300 }
const answerTokens = 5_000
/** In each frame: 12,000 a second. */
const scrollPixels = 200
const list = `document.querySelector("ul.relative").parentElement`

const send = async (page: Page, text: string): Promise<void> => {
  await page.getByLabel("Message").fill(text)
  await page.keyboard.press("Enter")
}

const idle = async (page: Page): Promise<void> => {
  await page.getByRole("button", { name: "Send", exact: true }).waitFor()
}

const noted = (page: Page): Promise<Noted> => page.evaluate<Noted>("bench.end()")

const ofSamples = (
  name: string,
  samples: ReadonlyArray<number>,
  most: number | null
): ReadonlyArray<Figure> => [
  { name: `${name}, median`, value: quantile(samples, 0.5), most },
  { name: `${name}, longest`, value: quantile(samples, 1), most }
]

const ofTasks = (name: string, { frames, longTasks }: Noted): ReadonlyArray<Figure> => [
  { name: `${name}: longest task`, value: Math.max(0, ...longTasks), most: bounds.task },
  { name: `${name}: time between frames, 99th percentile`, value: quantile(frames, 0.99), most: null }
]

/** From the arrival of an answer's first delta in the page to the frame that shows it. */
export const firstToken = async ({ page, quick, say }: Measured): Promise<ReadonlyArray<Figure>> => {
  const samples: Array<number> = []
  await page.goto("/conversations")
  const count = quick ? 5 : 20
  for (let n = 0; n <= count; n++) {
    say({ words: [`First${n}`, " and", " more", " words", "."], gap: 20 })
    const shown = page.evaluate<number>(`bench.firstDelta("article", "First${n}")`)
    await send(page, `Question ${n}`)
    const sample = await shown
    // The first one loads what shows Markdown.
    if (n > 0) samples.push(sample)
    await idle(page)
  }
  return ofSamples("first token, from its arrival to its paint", samples, bounds.firstToken)
}

/** A long answer while it is written. */
export const longAnswer = async ({ page, quick, say }: Measured): Promise<ReadonlyArray<Figure>> => {
  const figures: Array<Figure> = []
  for (const [name, make] of Object.entries(answers)) {
    await page.goto("/conversations")
    say({ words: [...make(answerTokens), "\n```\n\nThat is all."], gap: quick ? 2 : 8 })
    await page.evaluate("bench.begin()")
    await send(page, name)
    await page.getByText("That is all.").first().waitFor({ timeout: 120_000 })
    await idle(page)
    figures.push(...ofTasks(`${answerTokens} tokens of ${name}`, await noted(page)))
  }
  return figures
}

/** The list of very many conversations, and its search. */
export const longList = async ({ page }: Measured): Promise<ReadonlyArray<Figure>> => {
  await page.goto("/conversations")
  await page.getByRole("link", { name: longTitle }).waitFor()
  await page.evaluate("bench.begin()")
  await page.evaluate(`bench.scrollTo(${list}, ${scrollPixels}, ${JSON.stringify(oldestTitle)})`)
  const scrolled = ofTasks(`scrolling through ${listSize} conversations`, await noted(page))
  const pages = await page.evaluate<ReadonlyArray<number>>(`bench.requests("/console/conversations?")`)

  await page.goto("/conversations")
  await page.getByRole("link", { name: longTitle }).waitFor()
  await page.evaluate("performance.clearResourceTimings()")
  await page.evaluate("bench.begin()")
  await page.getByLabel("Search conversations").fill(rareWord)
  const begun = performance.now()
  await page.getByRole("link", { name: new RegExp(`^Conversation ${listSize - 2} `) }).waitFor()
  const found = performance.now() - begun
  const searches = await page.evaluate<ReadonlyArray<number>>(`bench.requests("search=")`)
  return [
    ...scrolled,
    ...ofSamples("a page of 100 conversations, from the request to its end", pages, null),
    { name: "a word in one message of the oldest, from its typing to the result", value: found, most: null },
    {
      name: `its ${searches.length} requests together`,
      value: searches.reduce((sum, one) => sum + one, 0),
      most: null
    },
    ...ofTasks("searching", await noted(page))
  ]
}

/** From a click in the list to the frame that shows the newest turns. */
export const opening = async ({ page, quick }: Measured): Promise<ReadonlyArray<Figure>> => {
  const samples: Array<number> = []
  for (let n = 0; n < (quick ? 3 : 10); n++) {
    await page.goto("/conversations")
    await page.getByRole("link", { name: longTitle }).waitFor()
    const link = `[...document.querySelectorAll("a")].find(({ textContent }) => textContent === ${JSON.stringify(longTitle)})`
    samples.push(
      await page.evaluate<number>(`bench.fromClick(${link}, "article", ${JSON.stringify(newestText)})`)
    )
  }
  return ofSamples(`opening a conversation of ${longTurns} turns`, samples, bounds.opening)
}

/** A conversation all of whose turns are shown, and a message that is typed there. */
export const earlierTurns = async ({ page }: Measured): Promise<ReadonlyArray<Figure>> => {
  await page.getByText(newestText).waitFor()
  await page.evaluate("bench.begin()")
  const thread = `document.querySelector("article").closest(".overflow-y-auto")`
  await page.evaluate(`bench.scrollTo(${thread}, -${scrollPixels}, "Question 0 of ")`)
  const loaded = ofTasks(`reading back through ${longTurns} turns`, await noted(page))
  await page.evaluate("bench.begin()")
  // Finding it by its label takes long in so large a page.
  await page.locator("textarea").pressSequentially("A message that is typed", { delay: 30 })
  return [...loaded, ...ofTasks(`typing below ${longTurns} turns`, await noted(page))]
}
