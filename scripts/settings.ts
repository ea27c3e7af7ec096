import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { settingsMarkdown } from "../src/SettingsDescription.ts"
import type { Setting } from "../src/Setting.ts"
import { settingsTable } from "../src/SettingsTable.ts"

const [begin, end] = ["<!-- settings -->", "<!-- /settings -->"]

/** The README with its table of settings as it must be. */
export const readmeWithSettings = (readme: string): string => {
  const from = readme.indexOf(begin)
  const to = readme.indexOf(end)
  if (from < 0 || to < from) throw new Error(`The README has no place for the table: ${begin} … ${end}.`)
  return `${readme.slice(0, from + begin.length)}\n\n${settingsMarkdown()}\n\n${readme.slice(to)}`
}

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
    const readme = join(root, "README.md")
    writeFileSync(join(root, ".env.example"), envExample())
    writeFileSync(readme, readmeWithSettings(readFileSync(readme, "utf8")))
  } else {
    console.log(settingsMarkdown())
  }
}
