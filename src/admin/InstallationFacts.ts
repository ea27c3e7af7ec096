import { DateTime, Effect, Layer } from "effect"
import { type InstallationFact, recordInstallation } from "../audit/Installation.ts"
import { type License, type PlanTerms, Plans } from "../domain/Plan.ts"
import { InstalledLicense } from "../plans/License.ts"
import { AppConfig, namedSettings, type Settings } from "../settings/AppConfig.ts"

const settingFacts = (settings: Settings): ReadonlyArray<InstallationFact> =>
  namedSettings(settings)
    .filter(({ isPerProcess }) => !isPerProcess)
    .map(({ byDefault, name, value }) => ({ action: "setting.change", name, value, usual: byDefault }))

/** The value with sorted fields, so that another order in a file is no change. */
const sorted = (value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(
        Object.entries(value)
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .map(([name, field]) => [name, sorted(field)])
      )
    : value

const json = (value: unknown): string => JSON.stringify(sorted(value))

const planFacts = (catalog: ReadonlyMap<string, PlanTerms> | null): ReadonlyArray<InstallationFact> =>
  [...(catalog ?? [])].map(([name, terms]) => ({
    action: "plan.change",
    name,
    value: json(terms),
    usual: null
  }))

const timeOf = (millis: number | null): string | null =>
  millis === null ? null : DateTime.formatIso(DateTime.makeUnsafe(millis))

/** The content of a license, without its signature. */
const licenseText = (license: License): string =>
  json({
    id: license.id,
    licensee: license.licensee,
    begins_at: timeOf(license.beginsAtMillis),
    ends_at: timeOf(license.endsAtMillis),
    bounds: license.bounds
  })

const licenseFact = (license: License | null): InstallationFact => ({
  action: "license.change",
  name: "license",
  value: license === null ? null : licenseText(license),
  usual: null
})

/** Records how the plans differ from those of the latest start, or of the latest reading. */
export const recordPlans = (catalog: ReadonlyMap<string, PlanTerms> | null) =>
  recordInstallation(planFacts(catalog))

/** Records how this start differs from the latest one: its settings, its plans and its license. */
export const recordStart = Effect.gen(function* () {
  const settings = yield* AppConfig
  const { catalog } = yield* (yield* Plans).current
  const { license } = yield* InstalledLicense
  yield* recordInstallation([...settingFacts(settings), ...planFacts(catalog), licenseFact(license)])
})

export const layerRecordedStart = Layer.effectDiscard(recordStart)
