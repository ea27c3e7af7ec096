import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { assert } from "@effect/vitest"

const run = promisify(execFile)

const hasCurl = run("curl", ["--version"]).then(
  () => true,
  () => false
)

/** Sends the request of a snippet without curl. */
const fetched = async (setting: string, snippet: string): Promise<string> => {
  const key = /='([^']*)'/.exec(setting)?.[1] ?? ""
  const url = /https?:\S+/.exec(snippet)?.[0] ?? ""
  const body = /-d '([^']*)'/.exec(snippet)?.[1] ?? ""
  const answer = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body
  })
  return answer.text()
}

/**
 * Runs the curl command that a page shows in a shell, after the line that sets its variable, and gives what
 * the service answered. Where curl isn't installed, sends the same by fetch.
 */
export const runSnippet = async (setting: string, snippet: string): Promise<string> => {
  assert.match(snippet, /^curl /)
  if (!(await hasCurl)) return fetched(setting, snippet)
  const { stdout } = await run("sh", ["-c", `${setting}\n${snippet}`])
  return stdout
}
