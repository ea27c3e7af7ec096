import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { pagePaths } from "../../src/console/PagePaths.ts"
import { call } from "../support/Wire.ts"
import { browserTests } from "./browserTests.ts"
import { accessibilityProblems, overflowOf, saveScreenshot } from "./Checks.ts"
import {
  conversationCase,
  longEmail,
  longName,
  ownProjectCase,
  type PageCase,
  pageCases,
  type PageName,
  projectCase,
  projectWord,
  type SingleName
} from "./PageCases.ts"
import { join, owner } from "./People.ts"
import { ServedApp } from "./ServedApp.ts"
import { browse, type VisitOptions } from "./Visit.ts"

const looks = [
  { colorScheme: "light", width: 1280 },
  { colorScheme: "dark", width: 360 }
] as const
const height = 800

const placingMillis = 50
const placingMillisMax = 2_000

const lookAt = async (page: Page, name: string, { colorScheme, width }: (typeof looks)[number]) => {
  await page.setViewportSize({ width, height })
  await page.emulateMedia({ colorScheme })
  // An overlay takes its new place a moment after the resize.
  for (let waited = 0; waited < placingMillisMax && (await overflowOf(page)) > 0; waited += placingMillis) {
    await page.waitForTimeout(placingMillis)
  }
  await saveScreenshot(page, `${name}-${width}`)
  const overflow = await overflowOf(page)
  const found = [
    ...(overflow > 0 ? [`${overflow} pixels wider than the window`] : []),
    ...(await accessibilityProblems(page))
  ]
  return found.map((problem) => `${name}, ${width} pixels, ${colorScheme}: ${problem}`)
}

/** The problems of the page in its present state: in light on a wide screen, and in dark on a narrow one. */
const problemsOf = async (page: Page, name: string): Promise<ReadonlyArray<string>> => [
  ...(await lookAt(page, name, looks[0])),
  ...(await lookAt(page, name, looks[1]))
]

/** The same in one of the looks, by turns: what the pages share is seen in both. */
const problemsInTurn = (page: Page, name: string, turn: number) =>
  lookAt(page, name, looks[turn % looks.length] ?? looks[0])

type Cases = ReadonlyArray<readonly [PageName, PageCase]>

const pathOf = (name: PageName, { path = pagePaths[name] }: PageCase): string => path

/** Opens each of the pages, does something with it, and gives what is wrong with it then. */
const problemsOn = (
  cases: Cases,
  options: VisitOptions,
  use: (page: Page, name: PageName, one: PageCase, turn: number) => Promise<ReadonlyArray<string>>
) =>
  browse(async (page) => {
    const problems: Array<string> = []
    for (const [turn, [name, one]] of cases.entries()) {
      await page.setViewportSize({ width: looks[0].width, height })
      problems.push(...(await use(page, name, one, turn)))
    }
    return problems
  }, options)

const assertNone = (problems: ReadonlyArray<string>) => assert.isEmpty(problems, `\n${problems.join("\n\n")}`)

const shown = (page: Page, text: string) => page.locator("main").getByText(text).first().waitFor()

const open = async (page: Page, name: PageName, one: PageCase) => {
  await page.goto(pathOf(name, one))
  await shown(page, one.content)
}

const seeContent = async (page: Page, name: PageName, one: PageCase) => {
  await open(page, name, one)
  return problemsOf(page, name)
}

/** Everything that opens, by turns in one look and the other: the pages below are looked at in both. */
const seeOpened = async (page: Page, name: PageName, { opens = {}, ...one }: PageCase) => {
  const problems: Array<string> = []
  for (const [index, [opened, step]] of Object.entries(opens).entries()) {
    await open(page, name, one)
    await step(page)
    problems.push(...(await problemsInTurn(page, `${name}-${opened}`, index)))
  }
  return problems
}

/** Uploads a file that is one long word; gives its id. */
const upload = Effect.fnUntraced(function* (key: string, filename: string) {
  const { url } = yield* ServedApp
  return yield* Effect.promise(async () => {
    const body = new FormData()
    body.append("file", new Blob([longName.repeat(3)]), filename)
    const init = { method: "POST", headers: { authorization: `Bearer ${key}` }, body }
    const { id } = (await (await fetch(`${url}/v1/files`, init)).json()) as { readonly id: string }
    return id
  })
})

/**
 * An administrator of the installation and a member, whose names and those of all they have are as long as
 * they may be.
 */
const makeLongNames = Effect.gen(function* () {
  const { url } = yield* ServedApp
  const by = yield* owner
  const organization = longName
  const reader = yield* join(by, { email: `admin-${longEmail}`, organization, role: "owner" })
  yield* join(by, { email: longEmail, organization, role: "member" })
  const plan = longName.slice(0, 50).toLowerCase()
  yield* reader.ask("/admin/organizations/plan", { organization, plan })
  yield* reader.ask("/admin/invitations", { email: `open-${longEmail}`, organization, role: "member" })
  const limits = { daily_tokens: 1_000_000, monthly_tokens: null, requests_per_minute: 60 }
  const { key } = yield* reader.ask("/me/keys", { name: longName, expires_in_seconds: null, ...limits })
  const answer = yield* call(`${url}/v1/responses`, { key, body: { input: "Hello" } })
  assert.strictEqual(answer.status, 200)
  const { id, name } = yield* reader.ask("/admin/projects", { name: longName, organization })
  yield* reader.ask(`/admin/projects/${id}/members`, { email: longEmail, role: "member" })
  const { id: conversation } = yield* reader.ask("/conversations", { title: longName })
  const turn = { input: longName, conversation_id: conversation, stream: false }
  assert.strictEqual((yield* call(`${url}/v1/responses`, { key, body: turn })).status, 200)
  const { id: own } = yield* reader.ask("/projects", { name: `${projectWord}s` })
  yield* reader.ask(`/projects/${own}/members`, { email: longEmail })
  yield* reader.ask(`/projects/${own}/files`, { file_id: yield* upload(key, `${longName}.txt`) })
  return {
    reader,
    single: {
      project: projectCase({ id, name }),
      ownProject: ownProjectCase(own),
      conversation: conversationCase(conversation)
    }
  }
})

let made: Effect.Success<typeof makeLongNames> | null = null

const longNames = Effect.suspend(() =>
  made === null
    ? Effect.tap(makeLongNames, (names) => Effect.sync(() => (made = names)))
    : Effect.succeed(made)
)

/** The pages with these cases, and those whose addresses have an id. */
const casesWith = (single: Readonly<Record<SingleName, PageCase>>): Cases => {
  const cases = Object.entries({ ...pageCases, ...single }) as unknown as Cases
  assert.sameMembers(
    cases.map(([name]) => name),
    Object.keys(pagePaths)
  )
  return cases
}

const isEntry = ([name]: Cases[number]): boolean => name === "signIn" || name === "link"

const failing = {
  status: 503,
  json: {
    detail: "The service is away.",
    error: {
      type: "server_error",
      code: "unavailable",
      message: `The service is away. ${longName}`,
      param: null
    }
  }
}

const seeError = async (page: Page, name: PageName, one: PageCase, turn: number) => {
  await page.goto(pathOf(name, one))
  await page.getByRole("button", { name: "Try again" }).first().waitFor()
  return problemsInTurn(page, `${name}-error`, turn)
}

const missing = {
  project: projectCase({ id: "missing", name: "missing" }),
  ownProject: ownProjectCase("0190f000-0000-7000-8000-000000000001"),
  conversation: conversationCase("0190f000-0000-7000-8000-000000000001")
}

browserTests("Every page is accessible, light and dark, and fits a window of 360 pixels", (it) => {
  it.effect("every page is accessible and fits if it has nothing to show", () =>
    Effect.gen(function* () {
      const by = yield* owner
      // The owner has the key of the first start.
      const { storageState } = yield* join(by, {
        email: "new@example.com",
        organization: "default",
        role: "owner"
      })
      const cases = casesWith(missing).filter(([, { empty }]) => empty !== undefined)
      assertNone(
        yield* problemsOn(
          cases,
          { storageState, expected: [/status of 404/] },
          async (page, name, one, turn) => {
            await page.goto(one.emptyPath ?? pathOf(name, one))
            await shown(page, one.empty ?? "")
            return problemsInTurn(page, `${name}-empty`, turn)
          }
        )
      )
    })
  )

  it.effect("every page is accessible and fits with the longest names", () =>
    Effect.gen(function* () {
      const { reader, single } = yield* longNames
      const cases = casesWith(single).filter((one) => !isEntry(one))
      assertNone(yield* problemsOn(cases, { storageState: reader.storageState }, seeContent))
    })
  )

  for (const isAdministration of [false, true]) {
    const whose = isAdministration ? "of the administration" : "of each user"
    it.effect(`every page is accessible and fits with what opens over it, among those ${whose}`, () =>
      Effect.gen(function* () {
        const { reader, single } = yield* longNames
        const cases = casesWith(single).filter(
          ([name]) => pagePaths[name].startsWith("/administration/") === isAdministration
        )
        assertNone(yield* problemsOn(cases, { storageState: reader.storageState }, seeOpened))
      })
    )
  }

  it.effect("every page is accessible and fits without a session", () =>
    Effect.gen(function* () {
      assertNone(yield* problemsOn(casesWith(missing).filter(isEntry), {}, seeContent))
    })
  )

  it.effect("every page is accessible and fits if its content can't be loaded", () =>
    Effect.gen(function* () {
      const { storageState } = yield* owner
      const cases = casesWith({ ...missing, project: projectCase({ id: "1", name: "any" }) }).filter(
        ([, { isLoaded }]) => isLoaded
      )
      assertNone(
        yield* problemsOn(
          cases,
          { storageState, expected: [/status of 503/] },
          async (page, name, one, turn) => {
            await page.route(/\/console\/(me|admin|conversations|projects|files|storage)([/?]|$)/, (route) =>
              route.fulfill(failing)
            )
            return seeError(page, name, one, turn)
          }
        )
      )
    })
  )
})
