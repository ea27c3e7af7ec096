import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

/**
 * Records the data of a version, for Upgrade.test.ts: runs the service of a checkout on an empty database,
 * uses it, and writes NAME.sql (by pg_dump) and NAME.json (what a newer version must still know) beside this
 * file. See docs/upgrading.md.
 *
 *     node test/upgrade/record.mjs CHECKOUT DATABASE_URL NAME
 */
const [given, databaseUrl, name] = process.argv.slice(2)
if (name === undefined) throw new Error("Usage: node test/upgrade/record.mjs CHECKOUT DATABASE_URL NAME")
const checkout = resolve(given)
const { version } = createRequire(import.meta.url)(join(checkout, "package.json"))
const dataDir = mkdtempSync(join(tmpdir(), "parley-record-"))
const environment = {
  PATH: process.env.PATH,
  HOME: dataDir,
  DATABASE_URL: databaseUrl,
  PARLEY_DATA_DIR: dataDir,
  PARLEY_FILES_STORE: "postgres",
  PORT: "0"
}

const service = spawn("node", [join(checkout, "scripts/start.mjs")], {
  cwd: dataDir,
  env: environment,
  stdio: ["ignore", "pipe", "inherit"]
})
const url = await new Promise((found) => {
  let output = ""
  service.stdout.setEncoding("utf8").on("data", (text) => {
    output += text
    const [, address] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(output) ?? []
    if (address !== undefined) found(address)
  })
})

const parley = (...args) =>
  JSON.parse(
    execFileSync("node", [join(checkout, "scripts/parley.mjs"), ...args, "--json"], {
      cwd: dataDir,
      env: { ...environment, PARLEY_URL: url },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"]
    })
  )

const ask = async (key, body) => {
  const response = await fetch(`${url}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ stream: false, ...body })
  })
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
  return response.json()
}

const message = (text) => [{ role: "user", content: [{ type: "input_text", text }] }]
const fileText = "The blue heron nests in the reeds behind the mill. Its name in the register is Grimaldi.\n"
const file = join(dataDir, "heron.md")
writeFileSync(file, fileText)

parley("org", "create", "Fixture Ltd")
const user = parley("user", "create", "ada@example.com", "--org", "Fixture Ltd", "--with-key")
parley("user", "create", "bob@example.com", "--org", "Fixture Ltd")
const revoked = parley("key", "create", "ada@example.com", "--name", "old laptop")
parley("key", "revoke", revoked.id)
parley("limits", "set", "ada@example.com", "--daily", "1000000")
const uploaded = parley("file", "upload", "ada@example.com", file)
parley("project", "create", "Birds", "--org", "Fixture Ltd")
parley("project", "add-member", "Birds", "ada@example.com", "--role", "owner")
parley("project", "add-file", "Birds", file, "--user", "ada@example.com", "--wait")
const first = await ask(user.key, { input: message("Remember the word cobalt.") })
const second = await ask(user.key, {
  input: message("And the number 41."),
  previous_response_id: first.id
})

service.kill("SIGTERM")
await new Promise((ended) => service.on("exit", ended))

const dump = execFileSync(
  "pg_dump",
  ["--no-owner", "--no-privileges", "--inserts", "--dbname", databaseUrl],
  {
    encoding: "utf8",
    maxBuffer: 2 ** 28
  }
)
// Lines that only psql understands, and the empty search path that would outlast the script.
const sql = dump
  .split("\n")
  .filter((line) => !line.startsWith("\\") && !line.startsWith("--") && !line.includes("'search_path', ''"))
  .join("\n")
  .replaceAll(/\n{2,}/g, "\n")
const facts = {
  version,
  key: user.key,
  revoked_key: revoked.key,
  email: "ada@example.com",
  user: user.id,
  response: second.id,
  file: uploaded.id,
  file_text: fileText,
  project: "Birds"
}
writeFileSync(join(import.meta.dirname, `${name}.sql`), sql)
writeFileSync(join(import.meta.dirname, `${name}.json`), `${JSON.stringify(facts, null, 2)}\n`)
rmSync(dataDir, { recursive: true, force: true })
