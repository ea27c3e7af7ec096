import { Effect, Option } from "effect"
import * as KeyToken from "../auth/KeyToken.ts"
import { readLicense } from "../plans/License.ts"
import { type PlansInvalid, readPlansFile } from "../plans/PlanCatalog.ts"
import { type CatalogInvalid, readCatalogFile } from "../routing/CatalogFile.ts"
import { readSettings, type Settings } from "../settings/AppConfig.ts"
import { problemLine } from "../settings/JsonFile.ts"
import { type Setting, shown } from "../settings/Setting.ts"
import type { SettingsInvalid } from "../settings/SettingProblem.ts"
import type { SettingsCheck } from "../settings/SettingsChecks.ts"
import { settingsTable } from "../settings/SettingsTable.ts"

/** A malformed key is rejected at the start and not at the first request. */
const initKeyCheck: SettingsCheck = ({ problemOf, valueOf }) =>
  Effect.sync(() => {
    const { initApiKey } = settingsTable.auth
    const key = valueOf(initApiKey) ?? null
    if (key === null || Option.isSome(KeyToken.parseKey(key))) return []
    return [
      problemOf(initApiKey, "<redacted>, which is no key that this program has created", {
        allowed: "a key that `parley key generate` has printed, for which it needs no server",
        example: "$(npx parley key generate)"
      })
    ]
  })

/** The faults inside of a file that a setting names. */
const fileCheck =
  <A>(
    setting: Setting<string | null>,
    read: (path: string) => Effect.Effect<A, CatalogInvalid | PlansInvalid>,
    allowed: string,
    docs: string
  ): SettingsCheck =>
  ({ problemOf, valueOf }) => {
    const path = valueOf(setting) ?? null
    if (path === null) return Effect.succeed([])
    return read(path).pipe(
      Effect.as([]),
      Effect.catch(({ problems }) =>
        Effect.succeed([
          {
            ...problemOf(setting, `${shown(path)}, in which is wrong:`, {
              allowed: `${allowed}; see ${docs}`
            }),
            details: problems.map(problemLine)
          }
        ])
      )
    )
  }

const catalogCheck = fileCheck(
  settingsTable.models.file,
  readCatalogFile,
  "a catalog of providers and models",
  "docs/models.md"
)
const plansCheck = fileCheck(
  settingsTable.policy.plansFile,
  readPlansFile,
  "a catalog of plans",
  "docs/plans.md"
)

/** A license is useless without the key that verifies it, and that key without a license. */
const licenseCheck: SettingsCheck = ({ nameOf, problemOf, valueOf }) => {
  const { license, licensePublicKey } = settingsTable.policy
  const [text, key] = [valueOf(license), valueOf(licensePublicKey)]
  const missing = (row: Setting<unknown>, given: Setting<unknown>) =>
    Effect.succeed([problemOf(row, `nothing, but ${nameOf(given)} is set`)])
  if (text === undefined || key === undefined || (text === null && key === null)) return Effect.succeed([])
  if (text === null) return missing(license, licensePublicKey)
  if (key === null) return missing(licensePublicKey, license)
  return readLicense(text, key).pipe(
    Effect.as([]),
    Effect.catchTag("LicenseInvalid", ({ message, setting }) =>
      Effect.succeed([
        problemOf(setting === "license" ? license : licensePublicKey, `<redacted>, which is ${message}`)
      ])
    )
  )
}

/** age encrypts either for a passphrase or for recipients. */
const backupCheck: SettingsCheck = ({ nameOf, problemOf, valueOf }) => {
  const { passphrase, recipients } = settingsTable.backup
  const isSet = (row: Setting<unknown>) => (valueOf(row) ?? null) !== null
  if (!isSet(passphrase) || !isSet(recipients)) return Effect.succeed([])
  const seen = `a value here and another in ${nameOf(passphrase)}; a backup is encrypted for one of the two`
  return Effect.succeed([problemOf(recipients, seen)])
}

/** The settings of the ConfigProvider, or every problem with them and with the files that they name. */
export const checkedSettings: Effect.Effect<Settings, SettingsInvalid> = readSettings([
  initKeyCheck,
  catalogCheck,
  plansCheck,
  licenseCheck,
  backupCheck
])
