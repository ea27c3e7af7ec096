import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { skipReason } from "./Chromium.ts"

const build = new URL("../../scripts/build.mjs", import.meta.url)

/** Builds what the browser tests start, unless it is built; without Chromium says that they are skipped. */
export default async () => {
  const reason = skipReason()
  if (reason !== null) {
    process.stdout.write(`\nBrowser tests skipped: ${reason}\n`)
    return
  }
  await promisify(execFile)(
    process.execPath,
    ["--eval", `await (await import(${JSON.stringify(build.href)})).ensureBuilt({ quiet: true })`],
    { cwd: fileURLToPath(new URL("../..", import.meta.url)) }
  )
}
