import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { pagePaths } from "../../src/console/PagePaths.ts"
import { makeMockModelServer, type MockModelServer } from "../support/MockModelServer.ts"
import { browserTests } from "./browserTests.ts"
import { assertAccessible, assertFits, saveScreenshot } from "./Checks.ts"
import { title } from "./Pages.ts"
import { join, owner, type Person } from "./People.ts"
import { ServedApp } from "./ServedApp.ts"
import { browse, type VisitOptions } from "./Visit.ts"

let model: MockModelServer

const variables = Effect.gen(function* () {
  model = yield* makeMockModelServer
  return { OPENAI_BASE_URL: model.url }
})

const organization = "Readers"
const someone = Effect.fnUntraced(function* (email: string) {
  return yield* join(yield* owner, { email, organization, role: "member" })
})

/** Uploads a text with a key of the person's; gives the id of the file. */
const upload = Effect.fnUntraced(function* ({ ask }: Person, filename: string, text: string) {
  const { url } = yield* ServedApp
  const limits = { daily_tokens: null, monthly_tokens: null, requests_per_minute: null }
  const { key } = yield* ask("/me/keys", { name: filename, expires_in_seconds: null, ...limits })
  return yield* Effect.promise(async () => {
    const body = new FormData()
    body.append("file", new Blob([text]), filename)
    const init = { method: "POST", headers: { authorization: `Bearer ${key}` }, body }
    const { id } = (await (await fetch(`${url}/v1/files`, init)).json()) as { readonly id: string }
    return id
  })
})

const visiting = <A>(
  { storageState }: Person,
  path: string,
  use: (page: Page) => Promise<A>,
  options: VisitOptions = {}
) => browse(use, { path, storageState, ...options })

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })
const row = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text })
const choose = async (page: Page, menu: string, item: string) => {
  await button(page, menu).click()
  await page.getByRole("menuitem", { name: item }).click()
}
const dialogButton = (page: Page, name: string) =>
  page.getByRole("dialog").or(page.getByRole("alertdialog")).getByRole("button", { name, exact: true })
const tab = (page: Page, name: string) => page.getByRole("tab", { name }).click()

const travel =
  "Travel rules\n\nA hotel may cost 120 euros a night. Breakfast is paid for separately.\n\n" +
  "Trains are booked in second class. A taxi needs a reason.\n"

/** A project with a searchable file, and its id. */
const makeProject = Effect.fnUntraced(function* (by: Person, name: string) {
  const { id } = yield* by.ask("/projects", { name })
  yield* by.ask(`/projects/${id}/files`, { file_id: yield* upload(by, `${name}.txt`, travel) })
  return String(id)
})

browserTests(
  "Projects",
  (it) => {
    it.effect("projects are created, renamed and deleted, which says what is lost", () =>
      Effect.gen(function* () {
        const ada = yield* someone("creator@example.com")
        yield* visiting(
          ada,
          pagePaths.ownProjects,
          async (page) => {
            await page.getByText("You are in no project yet").waitFor()
            await button(page, "Create project").click()
            await page.getByRole("textbox", { name: "Name" }).fill("Harbor")
            await dialogButton(page, "Create project").click()
            await title(page, "Harbor").waitFor()
            await page.getByText("The project has no file").waitFor()
            await page.getByText("Your role: Owner · 1 member · 0 files").waitFor()
            await choose(page, "Actions for the project", "Rename…")
            await page.getByRole("textbox", { name: "Name" }).fill("Pier")
            await dialogButton(page, "Rename").click()
            await title(page, "Pier").waitFor()
            await page.getByRole("link", { name: "Projects", exact: true }).last().click()
            await row(page, "Pier").filter({ hasText: "Owner" }).waitFor()
            await saveScreenshot(page, "projects")
            await page.getByRole("link", { name: "Pier" }).click()
            await choose(page, "Actions for the project", "Delete…")
            const dialog = page.getByRole("dialog")
            await dialog.getByText("The files themselves stay with their owners.").waitFor()
            await dialog.getByText("This can't be undone.").waitFor()
            await assertAccessible(page)
            await dialog.getByLabel(/to confirm$/).fill("Harbor")
            await dialogButton(page, "Delete project").click()
            await dialog.getByText("Type Pier, as it is written here.").waitFor()
            await dialog.getByLabel(/to confirm$/).fill("Pier")
            await dialogButton(page, "Delete project").click()
            await title(page, "Projects").waitFor()
            await page.getByText("You are in no project yet").waitFor()
          },
          { width: 360, colorScheme: "dark" }
        )
      })
    )

    it.effect("projects can't be created where the plan forbids it, and the page says so", () =>
      Effect.gen(function* () {
        const by = yield* owner
        const bob = yield* join(by, { email: "bound@example.com", organization: "Bound", role: "member" })
        yield* visiting(bob, pagePaths.ownProjects, async (page) => {
          await page.route("**/console/permitted", (route) =>
            route.fulfill({
              json: { responses: true, files: true, projects: true, create_projects: false }
            })
          )
          await page.reload()
          await page.getByText("You can't create projects").waitFor()
          assert.strictEqual(await button(page, "Create project").count(), 0)
          await assertAccessible(page)
        })
      })
    )

    it.effect("projects have members by address, whose roles are changed, and who leave", () =>
      Effect.gen(function* () {
        const ada = yield* someone("lead@example.com")
        const bob = yield* someone("reader@example.com")
        const { id } = yield* ada.ask("/projects", { name: "Crew" })
        yield* visiting(
          ada,
          `/projects/${id}`,
          async (page) => {
            await tab(page, "Members")
            await button(page, "Add member").click()
            await page.getByLabel("E-mail address").fill("nobody@example.com")
            await dialogButton(page, "Add member").click()
            await page.getByText("The user does not exist.").waitFor()
            await page.getByLabel("E-mail address").fill(bob.email)
            await dialogButton(page, "Add member").click()
            await row(page, bob.email).filter({ hasText: "Member" }).waitFor()
            for (const [item, confirm] of [
              ["Change role…", "Change role"],
              ["Remove…", "Remove member"]
            ] as const) {
              await choose(page, `Actions for ${ada.email}`, item)
              if (item === "Change role…") await page.getByLabel("Role in the project").selectOption("Member")
              await dialogButton(page, confirm).click()
              await page.getByText("This is the only owner of the project.").waitFor()
              await assertAccessible(page)
              await dialogButton(page, "Cancel").click()
            }
            await choose(page, `Actions for ${bob.email}`, "Change role…")
            await page.getByLabel("Role in the project").selectOption("Owner")
            await dialogButton(page, "Change role").click()
            await row(page, bob.email).filter({ hasText: "Owner" }).waitFor()
            await saveScreenshot(page, "project-members")
          },
          { expected: [/status of 4(04|09)/] }
        )
        yield* visiting(bob, `/projects/${id}`, async (page) => {
          await page.getByText("Your role: Owner").waitFor()
          await tab(page, "Members")
          await choose(page, `Actions for ${ada.email}`, "Remove…")
          await dialogButton(page, "Remove member").click()
          await page.getByText(`${ada.email} is no longer a member of the project.`).waitFor()
          await row(page, ada.email).waitFor({ state: "detached" })
        })
        yield* visiting(
          ada,
          `/projects/${id}`,
          (page) => page.getByText("You are not a member of the project.").waitFor(),
          { expected: [/status of 403/] }
        )
        yield* bob.ask(`/projects/${id}/members`, { email: ada.email })
        yield* visiting(ada, `/projects/${id}`, async (page) => {
          await page.getByText("Your role: Member").waitFor()
          await tab(page, "Members")
          await row(page, bob.email).waitFor()
          assert.strictEqual(await button(page, "Add member").count(), 0)
          await choose(page, "Actions for the project", "Leave…")
          await dialogButton(page, "Leave project").click()
          await title(page, "Projects").waitFor()
          await page.getByText("You are in no project yet").waitFor()
        })
      })
    )

    it.effect("a project takes the user's files, and shows their state and the text that models see", () =>
      Effect.gen(function* () {
        const ada = yield* someone("filer@example.com")
        const bob = yield* someone("other@example.com")
        yield* upload(ada, "rules.txt", travel)
        const { id } = yield* ada.ask("/projects", { name: "Corpus" })
        yield* ada.ask(`/projects/${id}/members`, { email: bob.email })
        yield* visiting(ada, `/projects/${id}`, async (page) => {
          await button(page, "Add from my files").click()
          await page.getByRole("checkbox", { name: "rules.txt" }).click()
          await button(page, "Add 1 file").click()
          await row(page, "rules.txt").filter({ hasText: "Searchable" }).waitFor()
          await saveScreenshot(page, "project-files")
        })
        yield* visiting(
          bob,
          `/projects/${id}`,
          async (page) => {
            await choose(page, "Actions for rules.txt", "What the model sees")
            await page.getByRole("region", { name: "Text" }).getByText("A hotel may cost").waitFor()
            await assertAccessible(page)
            await assertFits(page)
            await dialogButton(page, "Close").click()
            await button(page, "Actions for rules.txt").click()
            assert.strictEqual(await page.getByRole("menuitem", { name: "Remove…" }).count(), 0)
          },
          { width: 360 }
        )
        yield* visiting(ada, `/projects/${id}`, async (page) => {
          await choose(page, "Actions for rules.txt", "Remove…")
          await dialogButton(page, "Remove file").click()
          await page.getByText("The project has no file").waitFor()
        })
      })
    )

    it.effect("a project takes several uploads at once, and shows the results of a search and why", () =>
      Effect.gen(function* () {
        const ada = yield* someone("searcher@example.com")
        const { id } = yield* ada.ask("/projects", { name: "Search" })
        yield* visiting(
          ada,
          `/projects/${id}`,
          async (page) => {
            const files = [
              { name: "rules.txt", text: travel },
              { name: "garden.txt", text: "Roses are watered in the morning." }
            ]
            await page
              .locator("input[type=file]")
              .first()
              .setInputFiles(
                files.map(({ name, text }) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) }))
              )
            for (const { name } of files) await row(page, name).filter({ hasText: "Searchable" }).waitFor()
            await page.getByRole("tab", { name: "Search" }).click()
            await page.getByRole("searchbox").fill("brekfast cost unheardof")
            await page.keyboard.press("Enter")
            const results = page.getByRole("region", { name: "Results" })
            const [first] = await results.getByRole("listitem").all()
            await first?.getByText("rules.txt").waitFor()
            await first?.locator("mark").getByText("Breakfast").waitFor()
            await first?.getByText(/^brekfast [\d.]+$/).waitFor()
            await page.getByText("Why: the words that were searched for").click()
            await results.getByRole("row").filter({ hasText: "brekfast" }).getByText("1 letter").waitFor()
            await results.getByText("In no passage, or too common to tell anything: unheardof.").waitFor()
            await assertAccessible(page)
            await assertFits(page)
            await saveScreenshot(page, "project-search")
            await page.getByRole("button", { name: "Open rules.txt at this passage" }).click()
            await page
              .getByRole("region", { name: "Passage" })
              .locator("mark")
              .getByText("A hotel may cost")
              .waitFor()
            await page.keyboard.press("Escape")
            await page.getByRole("region", { name: "Passage" }).waitFor({ state: "detached" })
            await page.getByRole("searchbox").fill("zeppelin")
            await page.keyboard.press("Enter")
            await page.getByText("Nothing was found").waitFor()
          },
          { width: 360 }
        )
      })
    )

    it.effect(
      "projects are asked about in conversations, whose list they filter, and citations open for members",
      () =>
        Effect.gen(function* () {
          const ada = yield* someone("asked@example.com")
          const bob = yield* someone("asking@example.com")
          const id = yield* makeProject(ada, "Travel")
          yield* ada.ask(`/projects/${id}/members`, { email: bob.email })
          yield* model.script({ deltas: ["At most 120 euros [1]."] }, { deltas: ["Hello."] })
          yield* visiting(
            bob,
            `/projects/${id}`,
            async (page) => {
              await row(page, "Travel.txt").filter({ hasText: "Searchable" }).waitFor()
              await page.getByRole("link", { name: "Ask about this project" }).click()
              await page.getByLabel("Message").fill("How much may a hotel cost?")
              await page.keyboard.press("Enter")
              await page.locator("article").getByText("At most 120 euros").waitFor()
              await page.getByText("Questions are answered from the files of").waitFor()
              await page.locator("article [data-citation]").first().click()
              const passage = page.getByRole("region", { name: "Passage" })
              await passage.locator("mark").getByText("A hotel may cost 120 euros").waitFor()
              await assertAccessible(page)
              await page.keyboard.press("Escape")
              await passage.waitFor({ state: "detached" })
              await page.getByLabel("About the project").selectOption("Any or none")
              await page.getByRole("link", { name: "New conversation" }).click()
              await page.getByLabel("Message").fill("Good morning")
              await page.keyboard.press("Enter")
              await page.locator("article").getByText("Hello.").waitFor()
              await page.getByRole("link", { name: "Good morning" }).waitFor()
              await page.getByLabel("About the project").selectOption("Travel")
              await page.getByRole("link", { name: "Good morning" }).waitFor({ state: "detached" })
              await page.getByRole("link", { name: "How much may a hotel cost?" }).waitFor()
              await saveScreenshot(page, "project-conversations")
            },
            { width: 1440 }
          )
          yield* visiting(ada, `/projects/${id}`, async (page) => {
            await choose(page, "Actions for the project", "Delete…")
            await page
              .getByRole("dialog")
              .getByLabel(/to confirm$/)
              .fill("Travel")
            await dialogButton(page, "Delete project").click()
            await page.getByText("You are in no project yet").waitFor()
          })
          // Its conversations stay, and say that nothing is searched any more.
          yield* visiting(
            bob,
            `/conversations?project=${id}`,
            async (page) => {
              await page.getByText("The project of this list isn't open to you any more").waitFor()
              await page.getByRole("link", { name: "Good morning" }).waitFor()
              await page.getByRole("link", { name: "How much may a hotel cost?" }).click()
              await page.locator("article").getByText("At most 120 euros").waitFor()
              await page.getByText("This conversation has no project any more").waitFor()
            },
            { width: 1440, expected: [/status of 404/] }
          )
        })
    )
  },
  variables
)
