import { writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { settingsMarkdown } from "../src/settings/SettingsDescription.ts"
import type { Setting } from "../src/settings/Setting.ts"
import { settingsTable } from "../src/settings/SettingsTable.ts"

const introduction = `# Settings

All settings come from the environment. They are checked together at the start, what is inside of the catalog files
included: one message names every problem without showing a secret, and the exit code is 78. That message, or a warning,
also names each variable that begins with \`PARLEY_\` but is no setting, because it may be misspelt. A setting with
\`_FILE\` may be read from the file that the variable of that name names.

This file is generated: change \`src/settings/SettingsTable.ts\` and run \`npm run settings\`.
`

/** The text of docs/settings.md. */
export const settingsDocument = (): string => `${introduction}\n${settingsMarkdown()}\n`

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
    "# Copy this file to .env, which npm start and npm run parley read, and uncomment what you need.",
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
    console.log(settingsMarkdown())
  }
}
