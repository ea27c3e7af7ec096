import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { pagePaths } from "../../src/console/PagePaths.ts"
import { signInRefusals } from "../../src/domain/SignInRefusal.ts"
import { type LocalProvider, makeLocalProvider } from "../support/LocalProvider.ts"
import { answeredText } from "./Answers.ts"
import { browserTests } from "./browserTests.ts"
import { assertAccessible } from "./Checks.ts"
import { title } from "./Pages.ts"
import { owner } from "./People.ts"
import { ServedApp } from "./ServedApp.ts"
import { browse } from "./Visit.ts"

const name = "Example Accounts"
const approval = "Continue as this person"

/** The provider's page, which asks for a click before it goes on. */
const askFirst = ({ answerInstead }: LocalProvider) =>
  answerInstead(({ url = "" }, response) => {
    if (!url.startsWith("/interaction/") || url.endsWith("?approved")) return false
    response.writeHead(200, { "content-type": "text/html" })
    response.end(
      `<!doctype html><html lang="en"><title>${name}</title><link rel="icon" href="data:,">` +
        `<a href="${url}?approved">${approval}</a>`
    )
    return true
  })

let provider: LocalProvider

const variables = Effect.gen(function* () {
  provider = yield* makeLocalProvider()
  return {
    PARLEY_OIDC_ISSUER: provider.issuer,
    PARLEY_OIDC_CLIENT_ID: provider.clientId,
    PARLEY_OIDC_CLIENT_SECRET: provider.clientSecret,
    PARLEY_OIDC_NAME: name,
    PARLEY_OIDC_ALLOWED_DOMAINS: "example.com",
    PARLEY_OIDC_ORGANIZATION: "default"
  }
})

const atProvider = [/^request to another origin: http:\/\/127\.0\.0\.1/]

browserTests(
  "Single sign-on",
  (it) => {
    it.effect("single sign-on leads by the provider's page to the page that was asked for", () =>
      Effect.gen(function* () {
        const { url } = yield* ServedApp
        provider.allowRedirectTo(`${url}/console/sign-in/oidc/callback`)
        provider.authenticate({ sub: "1", email: "one@example.com", email_verified: true })
        askFirst(provider)
        yield* browse(
          async (page) => {
            await page.getByRole("link", { name: `Sign in with ${name}` }).click()
            await page.getByRole("link", { name: approval }).click()
            await title(page, "Usage").waitFor()
            assert.strictEqual(page.url(), `${url}${pagePaths.usage}`)
            await page.getByText("one@example.com").waitFor()
            await page.getByRole("link", { name: "Account" }).click()
            await page.getByText("Set a password").first().waitFor()
          },
          { path: pagePaths.usage, expected: atProvider }
        )
      })
    )

    it.effect("single sign-on says on the sign-in page why the provider's user is refused", () =>
      Effect.gen(function* () {
        yield* owner
        const cases = {
          provider_denied: { error: "access_denied" },
          email_unverified: { sub: "2", email: "two@example.com", email_verified: false },
          domain_not_allowed: { sub: "3", email: "three@example.org", email_verified: true }
        } as const
        yield* browse(
          async (page) => {
            for (const [refusal, person] of Object.entries(cases)) {
              provider.authenticate(person)
              await page.context().clearCookies()
              await page.goto(pagePaths.signIn)
              await page.getByRole("link", { name: `Sign in with ${name}` }).click()
              await page.getByRole("link", { name: approval }).click()
              const message = page.getByRole("alert")
              assert.strictEqual(await message.innerText(), signInRefusals[refusal as keyof typeof cases])
              await assertAccessible(page)
            }
          },
          { expected: atProvider }
        )
      })
    )

    it.effect("single sign-on can be used again over a page whose session has ended, in another tab", () =>
      Effect.gen(function* () {
        provider.authenticate({ sub: "1", email: "one@example.com", email_verified: true })
        yield* browse(
          async (page) => {
            await page.getByRole("link", { name: `Sign in with ${name}` }).click()
            await page.getByRole("link", { name: approval }).click()
            await page.getByLabel("Question").fill("what is 6 * 7?")
            await page.context().clearCookies({ name: "parley_session" })
            await page.getByRole("button", { name: "Ask" }).click()
            const dialog = page.getByRole("dialog", { name: "Sign in again" })
            const opened = page.context().waitForEvent("page")
            await dialog.getByRole("link", { name: new RegExp(name) }).click()
            const tab = await opened
            // The provider remembers its user, or asks again.
            await tab.getByRole("link", { name: approval }).or(title(tab, "Home")).waitFor()
            if ((await title(tab, "Home").count()) === 0)
              await tab.getByRole("link", { name: approval }).click()
            await title(tab, "Home").waitFor()
            await page.bringToFront()
            const signedIn = dialog.getByRole("button", { name: "I have signed in" })
            const answered = page.getByRole("button", { name: "Copy answer", exact: true })
            await signedIn.or(answered).first().waitFor()
            // The page may notice the new session by itself, which closes the dialog under the click.
            if (await signedIn.isVisible()) await Promise.race([signedIn.click(), answered.waitFor()])
            assert.include(await answeredText(page), "42")
          },
          { expected: [...atProvider, /status of 401/] }
        )
      })
    )
  },
  variables
)
