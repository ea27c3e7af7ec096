import { mkdtempSync } from "node:fs"
import { createServer, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { removeDirectory } from "../support/removeDirectory.ts"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"
import { bundle, startService } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { answeredText } from "./Answers.ts"
import { Chromium, skipReason } from "./Chromium.ts"
import { givePassword, signIn } from "./Owner.ts"
import { visit } from "./Visit.ts"

const prefix = "/tools/parley"

/** Strips the prefix, as a reverse proxy does, and has nothing else. */
const startProxy = (target: () => string) =>
  serveOnLoopback(
    createServer((incoming, outgoing) => {
      const path = incoming.url ?? ""
      if (path !== prefix && !path.startsWith(`${prefix}/`)) {
        outgoing.writeHead(404).end()
        return
      }
      const { headers, method } = incoming
      const forwarded = request(
        `${target()}${path.slice(prefix.length)}`,
        { method, headers },
        (response) => {
          outgoing.writeHead(response.statusCode ?? 502, response.headers)
          response.pipe(outgoing)
        }
      )
      incoming.pipe(forwarded)
    })
  )

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-browser-"))),
  (path) => Effect.sync(() => removeDirectory(path))
)

describe.skipIf(skipReason() !== null)("Below a path of its host, behind a proxy,", () => {
  layer(Layer.merge(Chromium.layer, TestDatabase.clone), { excludeTestServices: true })((it) => {
    it.effect("the application below a path signs in, shows an answer, and opens its pages", () =>
      Effect.gen(function* () {
        let target = ""
        const origin = `http://127.0.0.1:${yield* startProxy(() => target)}`
        const { url: database } = yield* TestDatabase
        const service = yield* startService(
          {
            DATABASE_URL: Redacted.value(database),
            PARLEY_DATA_DIR: yield* directory,
            PARLEY_FILES_STORE: "postgres",
            PARLEY_PUBLIC_URL: `${origin}${prefix}`
          },
          bundle
        )
        target = yield* service.url
        yield* givePassword
        const { faults } = yield* visit(origin, { path: `${prefix}/settings/account?a=b` }, async (page) => {
          await signIn(page)
          await page.getByRole("heading", { level: 1, name: "Account" }).waitFor()
          assert.strictEqual(page.url(), `${origin}${prefix}/settings/account?a=b`)
          await page.getByRole("link", { name: "Home" }).click()
          await page.getByRole("button", { name: "Ask" }).click()
          assert.include(await answeredText(page), "I am parley-offline")
          const [cookie] = await page.context().cookies()
          assert.strictEqual(cookie?.path, `${prefix}/`)
          await page.goto(`${origin}${prefix}`)
          await page.getByRole("heading", { level: 1, name: "Home" }).waitFor()
          await page.getByRole("button", { name: "Sign out" }).click()
          await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor()
          assert.strictEqual(page.url(), `${origin}${prefix}/sign-in`)
        })
        assert.deepStrictEqual(faults, [])
      })
    )
  })
})
