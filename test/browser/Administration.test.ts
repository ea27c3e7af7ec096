import { randomUUID } from "node:crypto"
import { readFile } from "node:fs/promises"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Page } from "playwright-core"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import { pagePaths } from "../../src/console/PagePaths.ts"
import type { Role } from "../../src/domain/Account.ts"
import type { UserId } from "../../src/domain/Ids.ts"
import { linkIdentity } from "../console/ConsoleFixture.ts"
import { someFile } from "../retrieval/fixtures.ts"
import { browserTests } from "./browserTests.ts"
import { assertAccessible, assertFits, saveScreenshot } from "./Checks.ts"
import { waitForFocus } from "./Keyboard.ts"
import { seeding, signedIn, someUser } from "./SignedIn.ts"
import { browse, type VisitOptions } from "./Visit.ts"

const someEmail = () => `${randomUUID()}@example.com`

/** A visit of a page, signed in with that role in an organization of the test's own. */
const visiting = <A>(
  path: string,
  use: (page: Page) => Promise<A>,
  options: VisitOptions & { readonly role?: Role; readonly organization?: string } = {}
) =>
  Effect.gen(function* () {
    const { organization = "Administrators", role = "owner", ...others } = options
    const storageState = yield* signedIn(someEmail(), organization, role)
    return yield* browse(use, { path, storageState, ...others })
  })

const named = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true })
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })
const row = (page: Page, text: string) => page.getByRole("row").filter({ hasText: text })
const userPath = (email: string) => `${pagePaths.user}?email=${encodeURIComponent(email)}`

/** A file of the user, in the only project, which can't be indexed. */
const addUnreadable = Effect.fnUntraced(function* (userId: UserId) {
  const sql = yield* SqlClient.SqlClient
  const file = yield* someFile(userId, null, "scan.pdf")
  yield* sql`INSERT INTO project_files (project_id, file_id, added_by, status, status_details)
    SELECT id, ${file}::uuid, ${userId}::uuid, 'error', 'It has no text.' FROM projects`
})

/** The pages, and a text that each shows once it has loaded. */
const pages = (
  email: string
): ReadonlyArray<readonly [path: string, title: string, text: string | RegExp]> => [
  [pagePaths.organizations, "Organizations", "Administrators"],
  [pagePaths.users, "Users", email],
  [userPath(email), email, "This user has no API key"],
  [pagePaths.invitations, "Invitations", "No invitation is open"],
  [pagePaths.projects, "All projects", "There is no project yet"],
  [pagePaths.plans, "Plans & limits", "There is no catalog of plans"],
  [pagePaths.models, "Models", "parley-offline"],
  [pagePaths.health, "Health", "In order"],
  [pagePaths.audit, "Audit log", /^Signs in$/]
]

browserTests("The administration:", (it) => {
  it.effect("Every page is accessible, in light on a wide screen and in dark on a narrow one", () =>
    Effect.gen(function* () {
      const email = someEmail()
      yield* seeding(someUser(email, "Administrators"))
      for (const [width, colorScheme] of [
        [1280, "light"],
        [360, "dark"]
      ] as const) {
        yield* visiting(
          pagePaths.organizations,
          async (page) => {
            for (const [path, title, text] of pages(email)) {
              await page.goto(path)
              await named(page, title).waitFor()
              await page.locator("main").getByText(text).first().waitFor()
              await assertFits(page)
              await assertAccessible(page)
              await saveScreenshot(page, `administration-${title.replaceAll(/\W+/g, "-")}-${width}`)
            }
          },
          { width, colorScheme }
        )
      }
    })
  )

  it.effect("A user without a password is created, and is in the list", () =>
    visiting(pagePaths.users, async (page) => {
      const email = someEmail()
      await button(page, "Create user").click()
      const dialog = page.getByRole("dialog")
      await dialog.getByLabel("E-mail address").fill(email)
      await dialog.getByRole("button", { name: "Create user" }).click()
      await row(page, email).waitFor()
    })
  )

  it.effect("An organization is created, and a name that is taken is refused beside its field", () =>
    visiting(
      pagePaths.organizations,
      async (page) => {
        const create = async (name: string) => {
          await button(page, "Create organization").first().click()
          await page.getByLabel("Name").fill(name)
          await page.getByRole("dialog").getByRole("button", { name: "Create organization" }).click()
        }
        await create("Example Ltd")
        await row(page, "Example Ltd").waitFor()
        await create("Example Ltd")
        const name = page.getByLabel("Name")
        await page.locator("[aria-invalid=true]").and(name).waitFor()
        assert.strictEqual(await name.inputValue(), "Example Ltd")
        await assertAccessible(page)
        await page.keyboard.press("Escape")
        await page.getByRole("dialog").waitFor({ state: "detached" })
        await button(page, "Actions for Example Ltd").click()
        await page.getByRole("menuitem", { name: "Change plan…" }).click()
        await page.getByRole("textbox", { name: "Plan" }).fill("gold")
        await page.getByRole("dialog").getByRole("button", { name: "Change plan" }).click()
        await row(page, "Example Ltd").filter({ hasText: "gold" }).waitFor()
      },
      { expected: [/status of 409/] }
    )
  )

  it.effect("A role is changed by keyboard alone, and the focus returns to where it was", () =>
    Effect.gen(function* () {
      const email = someEmail()
      yield* seeding(someUser(email, "Administrators"))
      yield* visiting(pagePaths.users, async (page) => {
        const menu = button(page, `Actions for ${email}`)
        const dialog = page.getByRole("dialog", { name: "Change role" })
        const open = async () => {
          await page.keyboard.press("Enter")
          await waitForFocus(page.getByRole("menuitem", { name: "Change role…" }))
          await page.keyboard.press("Enter")
          await dialog.waitFor()
        }
        await menu.focus()
        await open()
        await assertAccessible(page)
        await page.keyboard.press("Escape")
        await dialog.waitFor({ state: "detached" })
        await waitForFocus(menu)
        await open()
        await dialog.getByLabel("Role").focus()
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await row(page, email).filter({ hasText: "Organization administrator" }).waitFor()
      })
    })
  )

  it.effect("A password link is shown once, and a user is disabled after a confirmation", () =>
    Effect.gen(function* () {
      const email = someEmail()
      yield* seeding(someUser(email, "Administrators"))
      yield* visiting(userPath(email), async (page) => {
        await button(page, "Create password link…").click()
        await button(page, "Create link").click()
        await page.getByText(/\/link#/).waitFor()
        // Not to be lost by a key that was pressed by mistake.
        await page.keyboard.press("Escape")
        await page.getByText(/\/link#/).waitFor()
        await assertAccessible(page)
        await button(page, "Done").click()
        await page.getByText(/\/link#/).waitFor({ state: "detached" })
        await button(page, "Disable…").click()
        await page.getByRole("alertdialog").getByRole("button", { name: "Disable user" }).click()
        await page.getByText("Disabled", { exact: true }).waitFor()
        await button(page, "Enable…").waitFor()
      })
    })
  )

  it.effect("A user is deleted only when its address was typed, and files go to the user that is named", () =>
    Effect.gen(function* () {
      const [email, heir] = [someEmail(), someEmail()]
      yield* seeding(
        Effect.gen(function* () {
          const { id } = yield* someUser(email, "Administrators")
          yield* someUser(heir, "Administrators")
          yield* someFile(id, "a text", "notes.md")
        })
      )
      yield* visiting(
        userPath(email),
        async (page) => {
          await button(page, "Delete…").click()
          const dialog = page.getByRole("dialog", { name: `Delete ${email}?` })
          await dialog.getByText("The user has 1 file.").waitFor()
          await dialog.getByLabel("Files of the user").selectOption("Hand them over to another user")
          const owner = dialog.getByLabel("New owner’s e-mail address")
          await owner.fill("nobody@example.com")
          const typed = dialog.getByLabel(/to confirm$/)
          await typed.fill(heir)
          await button(page, "Delete user").click()
          await dialog.getByText(`Type ${email}, as it is written here.`).waitFor()
          await typed.fill(email)
          await button(page, "Delete user").click()
          await page.locator("[aria-invalid=true]").and(owner).waitFor()
          await assertAccessible(page)
          await owner.fill(heir)
          await button(page, "Delete user").click()
          await named(page, "Users").waitFor()
          await row(page, heir).waitFor()
          assert.strictEqual(await row(page, email).count(), 0)
        },
        { expected: [/status of 409/] }
      )
      const owners = yield* seeding(
        Effect.flatMap(
          SqlClient.SqlClient,
          (sql) => sql<{ email: string }>`
            SELECT email FROM users WHERE id IN (SELECT user_id FROM files WHERE filename = 'notes.md')`
        )
      )
      assert.deepStrictEqual(
        owners.map((one) => one.email),
        [heir]
      )
    })
  )

  it.effect(
    "Deleting a user whose files stand in a project hands them over at first, and names the project",
    () =>
      Effect.gen(function* () {
        const [email, heir] = [someEmail(), someEmail()]
        yield* seeding(
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const { id } = yield* someUser(email, "Cartographers")
            yield* someUser(heir, "Cartographers")
            const project = randomUUID()
            yield* sql`INSERT INTO projects (id, organization_id, name)
            SELECT ${project}::uuid, id, 'Atlas' FROM organizations WHERE name = 'Cartographers'`
            yield* sql`INSERT INTO project_members (project_id, user_id, role)
            VALUES (${project}::uuid, ${id}::uuid, 'owner')`
            const file = yield* someFile(id, "a text", "atlas.md")
            yield* sql`INSERT INTO project_files (project_id, file_id) VALUES (${project}::uuid, ${file}::uuid)`
          })
        )
        yield* visiting(
          userPath(email),
          async (page) => {
            await button(page, "Delete…").click()
            const dialog = page.getByRole("dialog", { name: `Delete ${email}?` })
            await dialog.getByText("In projects, where others use them: Atlas (1).").waitFor()
            await dialog.getByText("Only owner of: Atlas.").waitFor()
            assert.strictEqual(await dialog.getByLabel("Files of the user").inputValue(), "hand_over")
            await assertFits(page)
            await assertAccessible(page)
            await dialog.getByLabel("New owner’s e-mail address").fill(heir)
            await dialog.getByLabel(/to confirm$/).fill(email)
            await button(page, "Delete user").click()
            await named(page, "Users").waitFor()
            await page.goto(pagePaths.projects)
            await page.getByRole("link", { name: "Atlas" }).click()
            await row(page, heir).filter({ hasText: "Owner" }).waitFor()
            await row(page, "atlas.md").filter({ hasText: heir }).waitFor()
            await button(page, `Remove ${heir}`).click()
            const removal = page.getByRole("alertdialog")
            await removal.getByRole("button", { name: "Remove member" }).click()
            await removal.getByText("Make another member an owner first").waitFor()
            await page.keyboard.press("Escape")
            await removal.waitFor({ state: "detached" })
            await button(page, "Delete…").click()
            await page.getByLabel(/to confirm$/).fill("Atlas")
            await button(page, "Delete project").click()
            await named(page, "All projects").waitFor()
          },
          { organization: "Cartographers", expected: [/status of 409/] }
        )
      })
  )

  it.effect("A project and an organization are renamed, and deleted when their names were typed", () =>
    visiting(pagePaths.organizations, async (page) => {
      const chosen = async (organization: string, item: string) => {
        await button(page, `Actions for ${organization}`).click()
        await page.getByRole("menuitem", { name: item }).click()
      }
      await button(page, "Create organization").first().click()
      await page.getByLabel("Name").fill("Harbor")
      await page.getByRole("dialog").getByRole("button", { name: "Create organization" }).click()
      await chosen("Harbor", "Rename…")
      await page.getByRole("textbox", { name: "Name", exact: true }).fill("Pier")
      await button(page, "Rename").click()
      await row(page, "Pier").waitFor()

      await page.goto(pagePaths.projects)
      await button(page, "Create project").first().click()
      await page.getByLabel("Name").fill("charts")
      await page.getByLabel("Organization").fill("Pier")
      await page.getByRole("dialog").getByRole("button", { name: "Create project" }).click()
      await page.getByRole("link", { name: "charts" }).click()
      await button(page, "Rename…").click()
      await page.getByRole("textbox", { name: "Name", exact: true }).fill("maps")
      await button(page, "Rename").click()
      await named(page, "maps").waitFor()
      await button(page, "Delete…").click()
      await page.getByLabel(/to confirm$/).fill("maps")
      await button(page, "Delete project").click()
      await named(page, "All projects").waitFor()
      await page.getByText("There is no project yet").waitFor()

      await page.goto(pagePaths.organizations)
      await chosen("Pier", "Delete…")
      await page.getByLabel(/to confirm$/).fill("Pier")
      await button(page, "Delete organization").click()
      await row(page, "Pier").waitFor({ state: "detached" })
    })
  )

  it.effect("A user whom an identity provider signs in is unlinked after a confirmation", () =>
    Effect.gen(function* () {
      const email = someEmail()
      yield* seeding(
        Effect.gen(function* () {
          const { id } = yield* someUser(email, "Administrators")
          yield* linkIdentity(id)
        })
      )
      yield* visiting(userPath(email), async (page) => {
        await button(page, "Unlink single sign-on…").click()
        await page.getByRole("alertdialog").getByRole("button", { name: "Unlink" }).click()
        await page.getByText("Not linked", { exact: true }).waitFor()
        await button(page, "Unlink single sign-on…").waitFor({ state: "detached" })
      })
    })
  )

  it.effect("A key of a user is revoked after a confirmation", () =>
    Effect.gen(function* () {
      const email = someEmail()
      yield* seeding(
        Effect.gen(function* () {
          const { id: userId } = yield* someUser(email, "Administrators")
          yield* (yield* ApiKeys).create({ userId, name: "laptop", expiresAt: null })
        })
      )
      yield* visiting(userPath(email), async (page) => {
        await button(page, "Revoke laptop").click()
        await page.getByRole("alertdialog").getByRole("button", { name: "Revoke key" }).click()
        await row(page, "laptop").filter({ hasText: "Revoked" }).waitFor()
        await button(page, "Revoke laptop").waitFor({ state: "detached" })
      })
    })
  )

  it.effect("the limits of a user are set, and stay as they were typed after a failed save", () =>
    Effect.gen(function* () {
      const email = someEmail()
      yield* seeding(someUser(email, "Administrators"))
      yield* visiting(
        userPath(email),
        async (page) => {
          await button(page, "Change limits").click()
          await page.getByLabel("Tokens per day", { exact: true }).selectOption("A limit of its own")
          const tokens = page.getByLabel("Number of tokens")
          await tokens.fill("5000")
          await page.route("**/console/admin/limits", (route) => route.abort())
          await button(page, "Save limits").click()
          await page.getByText("The service can't be reached").waitFor()
          assert.strictEqual((await tokens.inputValue()).replace(",", ""), "5000")
          await page.unroute("**/console/admin/limits")
          await button(page, "Save limits").click()
          await page.getByText("of 5,000 tokens").waitFor()
        },
        { expected: [/ERR_FAILED/] }
      )
    })
  )

  it.effect("An invitation is created with a link, listed and revoked", () =>
    visiting(pagePaths.invitations, async (page) => {
      const email = someEmail()
      await button(page, "Invite user").click()
      await page.getByLabel("E-mail address").fill(email)
      await button(page, "Create invitation").click()
      await page.getByText(/\/link#/).waitFor()
      await button(page, "Done").click()
      await row(page, email).getByRole("button", { name: "Revoke" }).click()
      await page.getByRole("alertdialog").getByRole("button", { name: "Revoke invitation" }).click()
      await row(page, email).waitFor({ state: "detached" })
    })
  )

  it.effect("The audit log is filtered, and exported with the same filter", () =>
    visiting(pagePaths.audit, async (page) => {
      await page.getByLabel("Action").selectOption("session.start")
      await button(page, "Filter").click()
      await page.waitForURL(/action=session\.start/)
      await row(page, "Creates an organization").waitFor({ state: "detached" })
      const downloading = page.waitForEvent("download")
      await page.getByRole("link", { name: "Export CSV" }).click()
      const download = await downloading
      assert.match(download.suggestedFilename(), /^audit-.*\.csv$/)
      const lines = (await readFile(await download.path(), "utf8")).trim().split("\r\n")
      assert.isAbove(lines.length, 1)
      for (const line of lines.slice(1)) assert.include(line, "session.start")
      await page.getByRole("button", { name: "Details" }).first().click()
      await page.getByRole("dialog", { name: "Signs in" }).waitFor()
      await assertAccessible(page)
    })
  )

  it.effect("A project is created, gets a member, and shows the state of its files", () =>
    Effect.gen(function* () {
      const email = someEmail()
      const { id: userId } = yield* seeding(someUser(email, "Readers"))
      yield* visiting(
        pagePaths.projects,
        async (page) => {
          await button(page, "Create project").click()
          await page.getByLabel("Name").fill("Handbook")
          await page.getByRole("dialog").getByRole("button", { name: "Create project" }).click()
          await page.getByRole("link", { name: "Handbook" }).click()
          await named(page, "Handbook").waitFor()
          await button(page, "Add member").click()
          await page.getByLabel("E-mail address").fill(email)
          await page.getByRole("dialog").getByRole("button", { name: "Add member" }).click()
          await row(page, email).waitFor()
          await page.getByText("The project has no file").waitFor()
          await assertAccessible(page)
        },
        { organization: "Readers" }
      )
      yield* seeding(addUnreadable(userId))
      yield* visiting(
        pagePaths.projects,
        async (page) => {
          await page.getByRole("link", { name: "Handbook" }).click()
          await page.getByLabel("State").selectOption("Failed")
          await row(page, "scan.pdf").filter({ hasText: "It has no text." }).waitFor()
          await assertFits(page)
          await assertAccessible(page)
          await saveScreenshot(page, "administration-project-360")
          await button(page, "Remove scan.pdf").click()
          await page.getByRole("alertdialog").getByRole("button", { name: "Remove file" }).click()
          await page.getByText("No file is in this state").waitFor()
        },
        { organization: "Readers", width: 360, colorScheme: "dark" }
      )
    })
  )

  it.effect("A table that is wider than the page can be scrolled by keyboard", () =>
    visiting(
      pagePaths.models,
      async (page) => {
        const region = page.getByRole("region", { name: "Models" })
        await region.waitFor()
        await assertFits(page)
        await assertAccessible(page)
        await region.focus()
        await page.keyboard.press("ArrowRight")
        await page.evaluate(`new Promise((resolve) => {
          const look = () => (document.activeElement.scrollLeft > 0 ? resolve(0) : requestAnimationFrame(look))
          look()
        })`)
      },
      { width: 800 }
    )
  )

  it.effect("The question which model would answer is answered with reasons", () =>
    visiting(pagePaths.models, async (page) => {
      await page.getByRole("tab", { name: "Why one is chosen" }).click()
      await page.getByLabel("Message").fill("Hello")
      await button(page, "Explain").click()
      await page.getByText("Asked first").waitFor()
      await page.getByText(/^Difficulty/).waitFor()
      await assertAccessible(page)
    })
  )

  it.effect("Markup in names is shown as text", () =>
    Effect.gen(function* () {
      const name = "<img src=x onerror=alert(1)>"
      yield* seeding(someUser(someEmail(), name))
      yield* visiting(pagePaths.organizations, async (page) => {
        await row(page, name).waitFor()
        await page.goto(pagePaths.users)
        await row(page, name).waitFor()
        await page.goto(pagePaths.audit)
        await row(page, name).first().waitFor()
        assert.strictEqual(await page.locator("main img").count(), 0)
      })
    })
  )

  it.effect("An organization's admin finds its own organization and users, and no other page", () =>
    Effect.gen(function* () {
      const own = someEmail()
      const other = someEmail()
      yield* seeding(Effect.andThen(someUser(own, "Own organization"), someUser(other, "Other organization")))
      yield* visiting(
        pagePaths.organizations,
        async (page) => {
          await row(page, "Own organization").waitFor()
          assert.strictEqual(await row(page, "Other organization").count(), 0)
          assert.strictEqual(await page.getByRole("button", { name: "Create organization" }).count(), 0)
          assert.strictEqual(await page.getByRole("link", { name: "Health" }).count(), 0)
          await page.getByRole("link", { name: "Users" }).click()
          await row(page, own).waitFor()
          assert.strictEqual(await row(page, other).count(), 0)
          await page.getByLabel("Find a user").fill(other)
          await button(page, "Find").click()
          await page.getByText("There is no user of this address").waitFor()
          await page.goto(pagePaths.health)
          await page.getByRole("heading", { name: "Page not found" }).waitFor()
        },
        { role: "organization_admin", organization: "Own organization" }
      )
    })
  )
})
