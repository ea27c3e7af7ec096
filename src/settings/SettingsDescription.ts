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

/** Every setting with its value, in the order of docs/settings.md. */
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

const groupTitles: Readonly<Record<(typeof groups)[number], string>> = {
  service: "Service",
  http: "HTTP",
  stream: "Streams",
  database: "Database",
  auth: "Keys and the first user",
  policy: "Plans and license",
  models: "Models",
  usage: "Token limits",
  conversations: "Conversations",
  files: "Files",
  s3: "S3-compatible object storage",
  tools: "Tools and the web",
  retrieval: "Retrieval",
  observability: "Observability"
}

const listEntry = ({ allowed, default: text, description, name, secret }: Setting<unknown>): string =>
  [
    `- ${secret ? `\`${name}\` or \`${name}_FILE\`` : `\`${name}\``}${text === null ? "" : ` (default \`${text}\`)`}:`,
    `${description}. Allowed: ${allowed}.`
  ].join(" ")

/** The list of docs/settings.md: one section for each group of the table, one entry for each setting. */
export const settingsMarkdown = (): string =>
  groups
    .map((group) =>
      [
        `## ${groupTitles[group]}`,
        Object.values<Setting<unknown>>(settingsTable[group]).map(listEntry).join("\n")
      ].join("\n\n")
    )
    .join("\n\n")
