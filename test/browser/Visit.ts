import { Effect } from "effect"
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core"
import { Chromium } from "./Chromium.ts"
import { ServedApp } from "./ServedApp.ts"

export interface VisitOptions {
  /** The path to open first; without it the page is still blank. */
  readonly path?: string
  /** In CSS pixels. */
  readonly width?: number
  readonly colorScheme?: "light" | "dark"
  /**
   * Console errors that the test provokes, such as the one that Chromium writes for a response of status 401.
   */
  readonly expected?: ReadonlyArray<RegExp>
  /** The state that `page.context().storageState()` saved in an earlier visit, such as its session. */
  readonly storageState?: Exclude<BrowserContextOptions["storageState"], string>
}

const height = 800
const actionMillisMax = 10_000
const shownCharactersMax = 2_000

/**
 * Collects the events that no page may cause: errors in its console or of its scripts, refused content, and
 * requests to another origin.
 */
const watch = (context: BrowserContext, origin: string, expected: ReadonlyArray<RegExp>) => {
  const faults: Array<string> = []
  const add = (fault: string) => {
    if (!expected.some((one) => one.test(fault))) faults.push(fault)
  }
  // Chromium reports what a Content-Security-Policy refuses as an error too.
  context.on("console", (message) => {
    if (message.type() === "error") add(`console: ${message.text()} (${message.location().url})`)
  })
  context.on("weberror", (error) => add(`script: ${error.error().stack ?? String(error.error())}`))
  context.on("request", (request) => {
    const { origin: target, protocol } = new URL(request.url())
    if (target !== origin && protocol !== "blob:") add(`request to another origin: ${request.url()}`)
  })
  return faults
}

/** The error, and what the page showed at that moment. */
const explained = async (failure: unknown, page: Page, faults: ReadonlyArray<string>): Promise<Error> => {
  const shown = await page
    .locator("body")
    .innerText({ timeout: 1_000 })
    .catch(() => "nothing")
  const text = [
    String(failure),
    `At ${page.url()}, which shows:`,
    shown.slice(0, shownCharactersMax),
    ...faults
  ]
  return new Error(text.join("\n"), { cause: failure })
}

/** A page of its own in a profile of its own. Resolves with what the page did that no page may. */
export const visit = <A>(
  origin: string,
  { colorScheme = "light", expected = [], path, storageState, width = 1280 }: VisitOptions,
  use: (page: Page) => Promise<A>
) =>
  Effect.gen(function* () {
    const { browser } = yield* Chromium
    return yield* Effect.acquireUseRelease(
      Effect.promise(() =>
        browser.newContext({
          baseURL: origin,
          colorScheme,
          viewport: { width, height },
          locale: "en-US",
          timezoneId: "UTC",
          reducedMotion: "reduce",
          ...(storageState === undefined ? {} : { storageState })
        })
      ),
      (context) =>
        Effect.promise(async () => {
          context.setDefaultTimeout(actionMillisMax)
          const faults = watch(context, origin, expected)
          const page = await context.newPage()
          try {
            if (path !== undefined) await page.goto(path)
            const result = await use(page)
            return { result, faults }
          } catch (error) {
            throw await explained(error, page, faults)
          }
        }),
      (context) => Effect.promise(() => context.close())
    )
  })

/** Opens a page of the service. The test fails if the page does what no page may. */
export const browse = <A>(use: (page: Page) => Promise<A>, options: VisitOptions = {}) =>
  Effect.gen(function* () {
    const { url } = yield* ServedApp
    const { faults, result } = yield* visit(url, { path: "/", ...options }, use)
    if (faults.length > 0)
      return yield* Effect.die(new Error(`The page must not do this:\n${faults.join("\n")}`))
    return result
  })

/** Two pages at once, each in a profile of its own. */
export const browseBoth = <A>(
  first: VisitOptions,
  second: VisitOptions,
  use: (first: Page, second: Page) => Promise<A>
) =>
  Effect.gen(function* () {
    const run = Effect.runPromiseWith(yield* Effect.context<Chromium | ServedApp>())
    return yield* browse((one) => run(browse((two) => use(one, two), second)), first)
  })
