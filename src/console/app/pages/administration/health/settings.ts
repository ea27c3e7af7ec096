import type { SettingBody } from "../../../../../admin/AdminBodies.ts"

export type Setting = typeof SettingBody.Type

/** The text that the service sends in place of a secret. */
const redacted = /^<redacted/

export const isSecret = ({ value }: Setting): boolean => value !== null && redacted.test(value)

/** True if the environment set it to something else than its default. */
export const isChanged = ({ default: byDefault, value }: Setting): boolean => value !== byDefault

interface SettingsFilter {
  readonly text: string
  readonly isChangedOnly: boolean
}

/** The settings whose name or description contains every word of the text. */
export const settingsFor = (
  settings: ReadonlyArray<Setting>,
  { isChangedOnly, text }: SettingsFilter
): ReadonlyArray<Setting> => {
  const words = text.toLowerCase().split(/\s+/)
  return settings.filter((setting) => {
    const content = `${setting.name} ${setting.description}`.toLowerCase()
    return (!isChangedOnly || isChanged(setting)) && words.every((word) => content.includes(word))
  })
}
