import { Effect, Option } from "effect"
import * as KeyToken from "../auth/KeyToken.ts"
import { readLicense } from "../plans/License.ts"
import { type PlansInvalid, readPlansFile } from "../plans/PlanCatalog.ts"
import { type CatalogInvalid, readCatalogFile } from "../routing/CatalogFile.ts"
import {
  readSettings,
  problemOf,
  type Settings,
  type SettingsCheck,
  type SettingsInvalid
} from "../settings/AppConfig.ts"
import { problemLine } from "../settings/JsonFile.ts"
import { type Setting, shown } from "../settings/Setting.ts"
import { settingsTable } from "../settings/SettingsTable.ts"

/** A malformed key is rejected at the start and not at the first request. */
const initKeyCheck: SettingsCheck = ({ nameOf, valueOf }) =>
  Effect.sync(() => {
    const { initApiKey } = settingsTable.auth
    const key = Option.flatMap(valueOf(initApiKey), Option.fromNullOr)
    if (Option.isNone(key) || Option.isSome(KeyToken.parseKey(key.value))) return []
    return [
      problemOf(initApiKey, "<redacted>, which is no key that this program has created", {
        from: nameOf(initApiKey),
        allowed: "a key that `parley key generate` has printed, for which it needs no server",
        example: "$(npm run --silent parley -- key generate)"
      })
    ]
  })

/** What is wrong inside of a file that a setting names. */
const fileCheck =
  <A>(
    setting: Setting<string | null>,
    read: (path: string) => Effect.Effect<A, CatalogInvalid | PlansInvalid>,
    allowed: string,
    docs: string
  ): SettingsCheck =>
  ({ valueOf }) => {
    const path = Option.getOrNull(valueOf(setting))
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
const licenseCheck: SettingsCheck = (given) => {
  const { license, licensePublicKey } = settingsTable.policy
  const problem = (setting: Setting<unknown>, seen: string) =>
    problemOf(setting, seen, { from: given.nameOf(setting) })
  const [text, key] = [given.valueOf(license), given.valueOf(licensePublicKey)]
  if (Option.isNone(text) || Option.isNone(key)) return Effect.succeed([])
  if (text.value !== null && key.value !== null) {
    return readLicense(text.value, key.value).pipe(
      Effect.as([]),
      Effect.catchTag("LicenseInvalid", ({ message, setting }) =>
        Effect.succeed([
          problem(setting === "license" ? license : licensePublicKey, `<redacted>, which is ${message}`)
        ])
      )
    )
  }
  if (text.value === key.value) return Effect.succeed([])
  const [missing, there] = text.value === null ? [license, licensePublicKey] : [licensePublicKey, license]
  return Effect.succeed([problem(missing, `nothing, but ${given.nameOf(there)} is set`)])
}

/** The settings of the ConfigProvider, or every problem with them and with the files that they name. */
export const checkedSettings: Effect.Effect<Settings, SettingsInvalid> = readSettings([
  initKeyCheck,
  catalogCheck,
  plansCheck,
  licenseCheck
])
