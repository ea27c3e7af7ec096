import { existsSync } from "node:fs"
import { Context, Effect, Layer } from "effect"
import { type Browser, chromium } from "playwright-core"

const variable = "PARLEY_TEST_CHROMIUM"
const named = process.env[variable]
const path = named ?? "/usr/bin/chromium"

/** Why the browser tests are skipped, or null. A path that is named must exist; an empty one skips them. */
export const skipReason = (): string | null => {
  if (existsSync(path)) return null
  if (named === "") return `${variable} is empty.`
  if (named !== undefined) throw new Error(`${variable} names ${path}, which doesn't exist.`)
  return `Chromium isn't installed; \`apt-get install chromium\` does it on Debian, or ${variable} names another one.`
}

/** Nothing but the pages of the test may cause traffic. */
const flags = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"
]

/** A Chromium of the test file's own, with an empty profile that is deleted at the end. */
export class Chromium extends Context.Service<Chromium, { readonly browser: Browser }>()(
  "parley/test/Chromium"
) {
  static readonly layer = Layer.effect(
    Chromium,
    Effect.acquireRelease(
      Effect.promise(() =>
        chromium.launch({
          executablePath: path,
          headless: true,
          args: flags,
          // It refuses to confine itself as root.
          chromiumSandbox: process.getuid?.() !== 0
        })
      ),
      (browser) => Effect.promise(() => browser.close())
    ).pipe(Effect.map((browser) => Chromium.of({ browser })))
  )
}
