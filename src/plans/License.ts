import { Clock, Context, DateTime, Effect, Layer } from "effect"
import { AppConfig } from "../settings/AppConfig.ts"
import type { License, LicenseState } from "../domain/Plan.ts"
import { type LicenseInvalid, readLicense } from "./LicenseKey.ts"

/** Whether a licence is good at a time. */
export const stateOf = (license: License, nowMillis: number): LicenseState => {
  if (license.endsAtMillis !== null && nowMillis >= license.endsAtMillis) return "over"
  return license.beginsAtMillis !== null && nowMillis < license.beginsAtMillis ? "early" : "in_force"
}

const dayOf = (millis: number): string => DateTime.formatIsoDateUtc(DateTime.makeUnsafe(millis))

const instead = "in PARLEY_LICENSE, or remove it for the free edition."

/** Why a licence that is not in force keeps everything from everybody, and what to change. */
export const lapsedText = (license: License, state: "early" | "over"): string =>
  state === "over"
    ? `The licence of this installation ended on ${dayOf((license.endsAtMillis ?? 0) - 1)}. The operator must install a new one ${instead}`
    : `The licence of this installation begins on ${dayOf(license.beginsAtMillis ?? 0)}. The operator must install one that is in force ${instead}`

/** The licence that the settings give, verified at the start; null for the free edition, which bounds nothing. */
export class InstalledLicense extends Context.Service<
  InstalledLicense,
  { readonly license: License | null }
>()("parley/auth/InstalledLicense") {
  static readonly layer: Layer.Layer<InstalledLicense, LicenseInvalid, AppConfig> = Layer.effect(
    InstalledLicense,
    Effect.gen(function* () {
      const { license: text, licensePublicKey } = (yield* AppConfig).policy
      // One without the other is refused with the other settings.
      if (text === null || licensePublicKey === null) return { license: null }
      const license = yield* readLicense(text, licensePublicKey)
      const state = stateOf(license, yield* Clock.currentTimeMillis)
      if (state !== "in_force") yield* Effect.logWarning(lapsedText(license, state))
      return { license }
    })
  )
}
