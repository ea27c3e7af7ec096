import { execFileSync } from "node:child_process"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { type Startup, startupNotice } from "../../src/admin/Startup.ts"
import { removeDirectory } from "../support/removeDirectory.ts"

const startup: Startup = {
  url: "http://127.0.0.1:3000",
  version: "1.2.3",
  networkUrls: [],
  models: "One model.",
  adminUrl: null,
  dataDir: "/data",
  databaseDir: null,
  key: { _tag: "Existing", email: "admin@localhost" },
  setUpUrl: null
}

/** The output of a shell that runs the command that is shown; curl prints only its arguments. */
const pasted = (notice: string, env: Record<string, string> = {}): string => {
  const begin = notice.indexOf("  curl ")
  const command = notice.slice(begin, notice.indexOf("\n\n", begin))
  const script = `curl() { printf '%s\\n' "$@"; }\n${command}`
  return execFileSync("sh", ["-c", script], { env: { PATH: process.env["PATH"] ?? "", ...env } }).toString()
}

describe("the start-up output", () => {
  it("the start-up output names an embedded database that is not below the data directory", () => {
    const notice = startupNotice({ ...startup, databaseDir: "/var/lib/parley/abc" })
    assert.include(notice, "  data       /data\n  database   /var/lib/parley/abc\n")
    assert.notInclude(startupNotice(startup), "  database ")
  })
})

describe("the start-up output of a service that others reach", () => {
  it("the start-up output names the addresses of the network, and warns of plain HTTP", () => {
    const notice = startupNotice({ ...startup, networkUrls: ["http://10.0.0.5:3000"] })
    assert.match(notice, /\n {2}network {4}http:\/\/10\.0\.0\.5:3000\n[^]*plain HTTP[^]*TLS/)
    assert.notInclude(startupNotice(startup), "plain HTTP")
  })

  it("the start-up output has no line of more than 110 characters, however long the text", () => {
    const notice = startupNotice({ ...startup, models: "a long sentence ".repeat(30).trim() })
    for (const line of notice.split("\n")) assert.isAtMost(line.length, 110)
  })
})

describe("the link of the start-up output", () => {
  it("the link of the start-up output stands on a line of its own, as long as there is one", () => {
    const url = "http://localhost:3000/link#parley_link_abc"
    assert.include(startupNotice({ ...startup, setUpUrl: url }), `\n    ${url}\n`)
    assert.notInclude(startupNotice(startup), "link")
  })
})

describe("the request of the start-up output", () => {
  it("the example request has the key that was just created", () => {
    const notice = startupNotice({ ...startup, key: { _tag: "First", key: "parley_made" } })
    assert.include(pasted(notice), "\nAuthorization: Bearer parley_made\n")
  })

  it("the example request refers to the key in the operator's variable, and doesn't show it", () => {
    const notice = startupNotice({
      ...startup,
      key: { _tag: "Given", name: "PARLEY_INIT_API_KEY", file: null }
    })
    assert.include(
      pasted(notice, { PARLEY_INIT_API_KEY: "parley_given" }),
      "\nAuthorization: Bearer parley_given\n"
    )
  })

  it("the example request reads the key from the operator's file, whatever its name", () => {
    const directory = mkdtempSync(join(tmpdir(), "parley-notice-"))
    try {
      const file = join(directory, `a 'strange' "$HOME" name`)
      writeFileSync(file, "parley_in_file\n")
      const notice = startupNotice({ ...startup, key: { _tag: "Given", name: "PARLEY_INIT_API_KEY", file } })
      assert.include(pasted(notice), "\nAuthorization: Bearer parley_in_file\n")
    } finally {
      removeDirectory(directory)
    }
  })

  it("the example request names a variable for an unknown key, and the command that creates one", () => {
    const notice = startupNotice(startup)
    assert.include(notice, "key create")
    assert.include(pasted(notice, { PARLEY_API_KEY: "parley_mine" }), "Bearer parley_mine")
  })
})
