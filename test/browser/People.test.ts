import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { roleNames } from "../../src/console/app/text/roles.ts"
import { pagePaths } from "../../src/console/PagePaths.ts"
import type { Role } from "../../src/domain/Account.ts"
import { answeredText } from "./Answers.ts"
import { browserTests } from "./browserTests.ts"
import { fillSignIn, navigation, shownLink, title } from "./Pages.ts"
import { join, owner, password } from "./People.ts"
import { browse, browseBoth } from "./Visit.ts"

const organization = "Example"
const refusals = [/status of 4\d\d/]

/** Invites somebody on the page of invitations, and gives the link that it shows. */
const inviteOn = async (page: Page, email: string, role: Role): Promise<string> => {
  await page.getByRole("button", { name: "Invite user" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByLabel("E-mail address").fill(email)
  await dialog.getByLabel("Organization").fill(organization)
  await dialog.getByLabel("Role").selectOption(roleNames[role])
  await dialog.getByRole("button", { name: "Create invitation" }).click()
  await page.getByRole("dialog", { name: `Invitation for ${email}` }).waitFor()
  const link = await shownLink(page)
  await page.getByRole("button", { name: "Done" }).click()
  await page.getByRole("row", { name: email }).waitFor()
  return new URL(link).hash
}

const accept = async (page: Page, email: string) => {
  await title(page, "Accept your invitation").waitFor()
  await page.getByText(`You become a user of the organization ${organization}.`).waitFor()
  assert.strictEqual(await page.getByLabel("E-mail address").inputValue(), email)
  await page.getByLabel("New password").fill(password)
  await page.getByRole("button", { name: "Join" }).click()
  await title(page, "Home").waitFor()
}

/** True if a page that is opened by its address is shown. */
const isShown = async (page: Page, path: string): Promise<boolean> => {
  await page.goto(path)
  await page.getByRole("heading", { level: 1 }).waitFor()
  return (await title(page, "Page not found").count()) === 0
}

browserTests("An invitation", (it) => {
  it.effect("an invitation makes a user of its organization who sees only the pages of its role", () =>
    Effect.gen(function* () {
      const { ask, storageState } = yield* owner
      yield* ask("/admin/organizations", { name: organization })
      const roles = ["member", "organization_admin"] as const
      const links = yield* browse(
        async (page) => {
          const found: Array<string> = []
          for (const role of roles) found.push(await inviteOn(page, `${role}@example.com`, role))
          return found
        },
        { path: pagePaths.invitations, storageState }
      )
      const pages = [
        ["Home", "Conversations", "Projects", "Files", "Usage", "API keys", "Account"],
        [
          "Home",
          "Conversations",
          "Projects",
          "Files",
          "Usage",
          "API keys",
          "Account",
          "Organizations",
          "Users",
          "Invitations",
          "All projects",
          "Audit log"
        ]
      ]
      for (const [index, role] of roles.entries()) {
        yield* browse(
          async (page) => {
            await accept(page, `${role}@example.com`)
            assert.deepStrictEqual(await navigation(page), pages[index])
            assert.strictEqual(await isShown(page, pagePaths.users), role === "organization_admin")
            assert.isFalse(await isShown(page, pagePaths.health))
          },
          { path: `/link${links[index]}` }
        )
      }
      yield* browse(
        async (page) => {
          await page.getByText("No invitation is open").waitFor()
          await page.goto(pagePaths.users)
          for (const role of roles) {
            const row = page.getByRole("row", { name: `${role}@example.com` })
            await row.getByRole("cell", { name: roleNames[role], exact: true }).waitFor()
          }
        },
        { path: pagePaths.invitations, storageState }
      )
    })
  )

  it.effect("an organization's administrator invites to its organization, and sees only its users", () =>
    Effect.gen(function* () {
      const by = yield* owner
      const { storageState } = yield* join(by, {
        email: "lead@example.com",
        organization: "Other",
        role: "organization_admin"
      })
      yield* browse(
        async (page) => {
          await page.getByRole("row", { name: "lead@example.com" }).waitFor()
          assert.strictEqual(await page.getByRole("row", { name: by.email }).count(), 0)
          await page.getByRole("button", { name: "Invite user" }).click()
          const field = page.getByRole("dialog").getByLabel("Organization")
          assert.strictEqual(await field.inputValue(), "Other")
          assert.isFalse(await field.isEditable())
          assert.deepStrictEqual(
            await page.getByRole("dialog").getByLabel("Role").getByRole("option").allInnerTexts(),
            [roleNames.member, roleNames.organization_admin]
          )
        },
        { path: pagePaths.users, storageState }
      )
    })
  )

  it.effect("an invitation that is revoked leads to a page that says so", () =>
    Effect.gen(function* () {
      const { storageState } = yield* owner
      const link = yield* browse(
        async (page) => {
          const hash = await inviteOn(page, "late@example.com", "member")
          await page.getByRole("button", { name: "Revoke the invitation of late@example.com" }).click()
          await page.getByRole("button", { name: "Revoke invitation" }).click()
          await page.getByText("Revoked the invitation of late@example.com.").waitFor()
          return hash
        },
        { path: pagePaths.invitations, storageState }
      )
      yield* browse(
        async (page) => {
          assert.match(await page.getByRole("alert").innerText(), /revoked.*Ask for a new one/)
        },
        { path: `/link${link}`, expected: refusals }
      )
    })
  )
})

browserTests("A session that ends elsewhere", (it) => {
  it.effect("a session is begun again over the page, and nothing that was typed is lost", () =>
    Effect.gen(function* () {
      const { email, storageState } = yield* owner
      yield* browseBoth(
        { path: pagePaths.account, storageState },
        { path: pagePaths.apiKeys, expected: refusals },
        async (first, second) => {
          await fillSignIn(second, password, email)
          await title(second, "API keys").waitFor()
          await second.getByRole("button", { name: "Create key" }).click()
          await second.getByRole("dialog").getByLabel("Name").fill("typed before")
          await first.getByRole("button", { name: "Sign out everywhere" }).click()
          await first.getByRole("alertdialog").getByRole("button", { name: "Sign out everywhere" }).click()
          await title(first, "Sign in").waitFor()
          await second.getByRole("dialog").getByRole("button", { name: "Create key" }).click()
          await second.getByRole("dialog", { name: "Sign in again" }).waitFor()
          await fillSignIn(second, password, email)
          await second.getByRole("dialog", { name: "Your new API key" }).waitFor()
          await second.getByRole("button", { name: "I have saved the key" }).click()
          await second.getByRole("row", { name: "typed before" }).waitFor()
        }
      )
    })
  )

  it.effect("a session is listed until it ends, and leaves the form of the page as it was", () =>
    Effect.gen(function* () {
      const { email, storageState } = yield* owner
      yield* browseBoth(
        { path: pagePaths.account, storageState },
        { path: pagePaths.home, expected: refusals },
        async (first, second) => {
          await fillSignIn(second, password, email)
          await second.getByLabel("Question").fill("what is 6 * 7?")
          await first.reload()
          const others = first.getByRole("button", { name: /^End the session/ })
          await others.first().waitFor()
          for (let left = await others.count(); left > 0; left--) {
            await others.first().click()
            await others.nth(left - 1).waitFor({ state: "detached" })
          }
          await second.getByRole("button", { name: "Ask" }).click()
          await fillSignIn(second, password, email)
          assert.include(await answeredText(second), "42")
        }
      )
    })
  )

  it.effect("a session that a change of the password ended is begun again by the new one only", () =>
    Effect.gen(function* () {
      const by = yield* owner
      const { email, storageState } = yield* join(by, {
        email: "changing@example.com",
        organization,
        role: "member"
      })
      const next = "some other words in a row"
      yield* browseBoth(
        { path: pagePaths.account, storageState },
        { path: pagePaths.usage, expected: refusals },
        async (first, second) => {
          await fillSignIn(second, password, email)
          await title(second, "Usage").waitFor()
          await first.getByLabel("Current password").fill(password)
          await first.getByLabel("New password").fill(next)
          await first.getByRole("button", { name: "Save password" }).click()
          await first.getByText("Your other sessions have ended").waitFor()
          await first.getByText("This device").waitFor()
          await first
            .getByRole("button", { name: /^End the session/ })
            .first()
            .waitFor({ state: "detached" })
          await second.getByRole("link", { name: "API keys" }).click()
          const dialog = second.getByRole("dialog", { name: "Sign in again" })
          await dialog.waitFor()
          await fillSignIn(second, password, email)
          await dialog.getByRole("alert").waitFor()
          await fillSignIn(second, next, email)
          await second.getByText("You have no API key yet").waitFor()
        }
      )
    })
  )
})
