import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { makeLicenseKeys, type NewLicense, signLicense } from "../../scripts/license.ts"
import type { LicenseBounds, PlanTerms } from "../../src/domain/Plan.ts"
import { removeDirectory } from "../support/removeDirectory.ts"

/** A file, as long as the scope is open. */
export const fileWith = (text: string) =>
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "parley-terms-"))),
    (directory) => Effect.sync(() => removeDirectory(directory))
  ).pipe(
    Effect.map((directory) => {
      const path = join(directory, "file")
      writeFileSync(path, text)
      return path
    })
  )

/** A file of plans. */
export const plansFile = (plans: Readonly<Record<string, PlanTerms>>) => fileWith(JSON.stringify({ plans }))

/** The license that tests sign, unless they change parts of it. */
export const newLicense = (bounds: LicenseBounds, more: Partial<NewLicense> = {}): NewLicense => ({
  id: "license-1",
  licensee: "Example Ltd",
  issuedAtSeconds: 1_700_000_000,
  endsAtSeconds: null,
  bounds,
  ...more
})

/** The settings of a license. */
export const licensed = Effect.fnUntraced(function* (bounds: LicenseBounds, more: Partial<NewLicense> = {}) {
  const { privateKey, publicKey } = yield* makeLicenseKeys
  const license = yield* Effect.orDie(signLicense(newLicense(bounds, more), privateKey))
  return { license: Redacted.make(license), licensePublicKey: Redacted.make(publicKey) }
})
