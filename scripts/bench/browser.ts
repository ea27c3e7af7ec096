import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { chromium } from "playwright-core"
import { seed } from "./browserData.ts"
import { earlierTurns, type Figure, firstToken, longAnswer, longList, opening } from "./browserFigures.ts"
import { startModel } from "./browserModel.ts"
import { build, databaseUrl, parleyRecipe } from "./parley.ts"
import { OwnServer } from "./server.ts"
import { setUp } from "./workplace.ts"

/**
 * How fast the conversations of the web application are in a Chromium, beside the service, its database and a model server on
 * the same machine.
 *
 *     npm run bench -- browser [--quick] [--only LIST] [--strict]
 */

const groups = { firstToken, longAnswer, longList, opening, earlierTurns }
type Group = keyof typeof groups

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", default: Object.keys(groups).join() },
    /** Exit code 1 if a figure misses its bound. */
    strict: { type: "boolean", default: false }
  }
})
const wanted = values.only.split(",")
const email = "bench@example.com"
const password = "a few words in a row"
const probe = fileURLToPath(new URL("browserProbe.js", import.meta.url))

const line = ({ most, name, value }: Figure): string =>
  `${name.padEnd(76)} ${value.toFixed(0).padStart(6)} ms${most === null ? "" : `  ${value <= most ? "≤" : "MISSES"} ${most}`}`

/** The link of the first start, which is printed when the service is ready. */
const printedLink = async (parley: OwnServer): Promise<string> => {
  for (let tries = 0; tries < 100; tries++) {
    const link = /\/link#\S+/.exec(parley.log)?.[0]
    if (link !== undefined) return link
    await sleep(100)
  }
  throw new Error(`The service printed no link:\n${parley.log}`)
}

/** The page of the first administrator. */
const enter = async (url: string, link: string) => {
  const browser = await chromium.launch({
    executablePath: process.env["PARLEY_TEST_CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage"],
    chromiumSandbox: process.getuid?.() !== 0
  })
  const page = await browser.newPage({ baseURL: url, viewport: { width: 1440, height: 900 } })
  await page.addInitScript({ path: probe })
  await page.goto(link)
  await page.getByLabel("E-mail address").fill(email)
  await page.getByLabel("New password").fill(password)
  await page.getByRole("button", { name: "Set up" }).click()
  await page.getByRole("button", { name: "Sign out" }).waitFor()
  return { browser, page }
}

const run = async (): Promise<ReadonlyArray<Figure>> => {
  const { directory, fleet } = setUp("parley-browser-bench-", null)
  const model = await startModel()
  const recipe = parleyRecipe({ entry: build(), profile: null, upstreamPort: model.port, directory })
  const parley = new OwnServer(fleet, recipe)
  try {
    await parley.start()
    const { browser, page } = await enter(`http://127.0.0.1:${parley.target.port}`, await printedLink(parley))
    try {
      await seed(databaseUrl(parley.pid), email)
      const figures: Array<Figure> = []
      for (const name of Object.keys(groups) as ReadonlyArray<Group>) {
        if (!wanted.includes(name)) continue
        const measured = await groups[name]({ page, say: model.say, quick: values.quick })
        for (const figure of measured) process.stdout.write(`${line(figure)}\n`)
        figures.push(...measured)
      }
      return figures
    } finally {
      await browser.close()
    }
  } finally {
    model.stop()
    await fleet.stopAll()
  }
}

const figures = await run()
if (values.strict && figures.some(({ most, value }) => most !== null && value > most)) process.exitCode = 1
