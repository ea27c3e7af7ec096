import { writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Struct } from "effect"
import type { Setting } from "../src/settings/Setting.ts"
import { settingsTable } from "../src/settings/SettingsTable.ts"

const introduction = `# Settings

All settings are environment variables. They are checked together at the start, including the contents of the
catalog files: one message lists every problem without showing a secret, and the exit code is 78. That
message, or a warning, also lists each variable that begins with \`PARLEY_\` but is no setting, because it may
be misspelled. For a setting with \`_FILE\`, the variable of that name may give a file that holds the value.
Times are in seconds and sizes in bytes.

This file is generated: change \`src/settings/SettingsTable.ts\` and run \`npm run settings\`.`

const groupTitles: Readonly<Record<keyof typeof settingsTable, string>> = {
  service: "Service",
  http: "HTTP",
  stream: "Streams",
  database: "Database",
  auth: "Keys and the first user",
  console: "Web application",
  oidc: "Single sign-on",
  policy: "Plans and license",
  models: "Models",
  usage: "Token limits",
  conversations: "Conversations",
  files: "Files",
  s3: "S3-compatible object storage",
  backup: "Backups",
  tools: "Tools and the web",
  projects: "Projects",
  retrieval: "Retrieval",
  observability: "Observability"
}

const lineLengthMax = 110

/** Breaks a list entry between words. Code stays whole, and no line begins with the number of a list. */
const wrapped = (entry: string): string => {
  const words = entry.match(/(?:`[^`]*`|\S)+(?: \d+\.(?= |$))?/g) ?? []
  const lines: Array<string> = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last !== undefined && `${last} ${word}`.length <= lineLengthMax)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(last === undefined ? word : `  ${word}`)
  }
  return lines.join("\n")
}

const listEntry = ({
  allowed,
  default: text,
  description,
  isPerProcess,
  name,
  secret
}: Setting<unknown>): string =>
  wrapped(
    [
      `- ${secret ? `\`${name}\` or \`${name}_FILE\`` : `\`${name}\``}${text === null ? "" : ` (default \`${text}\`)`}:`,
      `${description}. Allowed: ${allowed}.${isPerProcess ? " Each process may have its own." : ""}`
    ].join(" ")
  )

const sections = Struct.keys(settingsTable).map(
  (group) =>
    `## ${groupTitles[group]}\n\n${Object.values<Setting<unknown>>(settingsTable[group]).map(listEntry).join("\n")}`
)

/** The text of docs/settings.md: one section for each group of the table, one entry for each setting. */
export const settingsDocument = (): string => `${[introduction, ...sections].join("\n\n")}\n`

const exampleLines = ({
  allowed,
  default: text,
  description,
  example,
  name,
  secret
}: Setting<unknown>): string =>
  [
    `# ${description}.`,
    `# Allowed: ${allowed}.${secret ? ` ${name}_FILE may name a file that holds it.` : ""}`,
    `# ${name}=${text ?? example}`
  ].join("\n")

/** The text of .env.example. */
export const envExample = (): string =>
  [
    "# Copy this file to .env, which npm start and npx parley read, and uncomment what you need.",
    "# What the environment sets already wins over the file. A setting with a default shows the default.",
    ...Object.values(settingsTable).flatMap((group) =>
      Object.values<Setting<unknown>>(group).map(exampleLines)
    )
  ].join("\n\n") + "\n"

const self = fileURLToPath(import.meta.url)

if (process.argv[1] === self) {
  if (process.argv.includes("--write")) {
    const root = dirname(dirname(self))
    writeFileSync(join(root, ".env.example"), envExample())
    writeFileSync(join(root, "docs/settings.md"), settingsDocument())
  } else {
    console.log(settingsDocument())
  }
}
