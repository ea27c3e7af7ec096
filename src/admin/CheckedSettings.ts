import { Effect, Option } from "effect"
import { readSettings, type Settings, type SettingsCheck, type SettingsInvalid } from "../AppConfig.ts"
import * as KeyToken from "../auth/KeyToken.ts"
import { problemLine, readCatalogFile } from "../models/CatalogFile.ts"
import { shown } from "../Setting.ts"
import { settingsTable } from "../SettingsTable.ts"

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
const catalogCheck: SettingsCheck = ({ valueOf }) => {
  const { file } = settingsTable.models
  const path = Option.getOrNull(valueOf(file))
  if (path === null) return Effect.succeed([])
  return readCatalogFile(path).pipe(
    Effect.as([]),
    Effect.catchTag("CatalogInvalid", ({ problems }) =>
      Effect.succeed([
        {
          name: file.name,
          seen: `${shown(path)}, in which is wrong:`,
          details: problems.map(problemLine),
          allowed: "a catalog of providers and models, as README.md shows one",
          example: `${file.name}=${file.example}`
        }
      ])
    )
  )
}

/** The settings that the ConfigProvider holds, or every problem with them at once, also those inside of what they name. */
export const checkedSettings: Effect.Effect<Settings, SettingsInvalid> = readSettings([
  initKeyCheck,
  catalogCheck
])
