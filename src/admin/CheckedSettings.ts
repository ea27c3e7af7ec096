import { Effect, Option } from "effect"
import {
  type Given,
  readSettings,
  type SettingProblem,
  type Settings,
  type SettingsCheck,
  type SettingsInvalid
} from "../settings/AppConfig.ts"
import * as KeyToken from "../auth/KeyToken.ts"
import { readLicense } from "../plans/License.ts"
import { type PlansInvalid, readPlansFile } from "../plans/PlanCatalog.ts"
import { problemLine } from "../settings/JsonFile.ts"
import { type CatalogInvalid, readCatalogFile } from "../routing/CatalogFile.ts"
import { type Setting, shown } from "../settings/Setting.ts"
import { settingsTable } from "../settings/SettingsTable.ts"

/** A key that could never be accepted is refused at the start and not at the first request. */
const initKeyCheck: SettingsCheck = ({ nameOf, valueOf }) =>
  Effect.sync(() => {
    const { initApiKey } = settingsTable.auth
    const key = Option.flatMap(valueOf(initApiKey), Option.fromNullOr)
    if (Option.isNone(key) || Option.isSome(KeyToken.parseKey(key.value))) return []
    return [
      {
        name: nameOf(initApiKey),
        seen: "<redacted>, which is no key that this program has made",
        allowed: "a key that `parley key generate` has printed, for which it needs no server",
        example: "PARLEY_INIT_API_KEY=$(npm run --silent parley -- key generate)"
      }
    ]
  })

/** What is wrong inside of the catalog belongs to the same message as everything else. */
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
            name: setting.name,
            seen: `${shown(path)}, in which is wrong:`,
            details: problems.map(problemLine),
            allowed: `${allowed}; see ${docs}`,
            example: `${setting.name}=${setting.example}`
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

const problemWith = (setting: Setting<unknown>, { nameOf }: Given, seen: string): SettingProblem => ({
  name: nameOf(setting),
  seen,
  allowed: setting.allowed,
  example: `${setting.name}=${setting.example}`
})

/** A licence is nothing without the key by which it is verified, and that key means nothing without a licence. */
const licenseCheck: SettingsCheck = (given) => {
  const { license, licensePublicKey } = settingsTable.policy
  const [text, key] = [given.valueOf(license), given.valueOf(licensePublicKey)]
  if (Option.isNone(text) || Option.isNone(key)) return Effect.succeed([])
  if (text.value !== null && key.value !== null) {
    return readLicense(text.value, key.value).pipe(
      Effect.as([]),
      Effect.catchTag("LicenseInvalid", ({ message, setting }) =>
        Effect.succeed([
          problemWith(
            setting === "license" ? license : licensePublicKey,
            given,
            `<redacted>, which is ${message}`
          )
        ])
      )
    )
  }
  if (text.value === key.value) return Effect.succeed([])
  const [missing, there] = text.value === null ? [license, licensePublicKey] : [licensePublicKey, license]
  return Effect.succeed([problemWith(missing, given, `nothing, but ${given.nameOf(there)} is set`)])
}

/** The settings that the ConfigProvider holds, or every problem with them at once, also those inside of what they name. */
export const checkedSettings: Effect.Effect<Settings, SettingsInvalid> = readSettings([
  initKeyCheck,
  catalogCheck,
  plansCheck,
  licenseCheck
])
