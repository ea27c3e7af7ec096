import { Struct } from "effect"
import type { Setting } from "./Setting.ts"
import type { Settings } from "./Settings.ts"
import { settingsTable } from "./SettingsTable.ts"

const groups = Struct.keys(settingsTable)

/** A setting as the operator sees it. */
export interface SettingDescription {
  readonly name: string
  /** Null when it is not set and has no default; "<redacted>" for a secret. */
  readonly value: string | null
  readonly default: string | null
  readonly description: string
}

/** Every setting with its value, in the order of the README. */
export const describeSettings = (settings: Settings): ReadonlyArray<SettingDescription> => {
  const { dataDir, logLevel, ...others } = settings
  const values = { service: { dataDir, logLevel }, ...others, s3: settings.files.s3 ?? {} }
  return groups.flatMap((group) => {
    const fields = new Map<string, unknown>(Object.entries(values[group]))
    return Object.entries<Setting<unknown>>(settingsTable[group]).map(([field, setting]) => {
      const value = fields.get(field) ?? null
      return {
        name: setting.name,
        value: value === null ? null : Array.isArray(value) && value.length === 0 ? "none" : String(value),
        default: setting.default,
        description: setting.description
      }
    })
  })
}

const tableHead = ["name", "default", "what it is, and what is allowed"]

const tableCells = ({ allowed, default: text, description, name, secret }: Setting<unknown>) =>
  [
    secret ? `\`${name}\` or \`${name}_FILE\`` : `\`${name}\``,
    text === null ? "" : `\`${text}\``,
    `${description}. Allowed: ${allowed}.`
  ].map((cell) => cell.replaceAll("|", "\\|"))

/** The table of the README, laid out as the formatter wants it. */
export const settingsMarkdown = (): string => {
  const body = groups
    .flatMap((group) => Object.values<Setting<unknown>>(settingsTable[group]))
    .map(tableCells)
  const widths = tableHead.map((head, column) =>
    Math.max(...[head, ...body.map((cells) => cells[column] ?? "")].map((cell) => cell.length))
  )
  const line = (cells: ReadonlyArray<string>) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`
  return [tableHead, widths.map((width) => "-".repeat(width)), ...body].map(line).join("\n")
}
