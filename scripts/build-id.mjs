import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { root } from "./node24.mjs"

/** The characters of a build id: it stands in a header, in a label of a metric and in a line for people. */
const pattern = /^[\w.+-]{1,64}$/

const describe = ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]

/**
 * PARLEY_BUILD_ID, or else the commit of the project, with "-dirty" where files differ from it. A build from
 * an unpacked archive, which has no commit, is "unknown".
 */
export const buildId = () => {
  const given = process.env.PARLEY_BUILD_ID?.trim() ?? ""
  if (pattern.test(given)) return given
  // The commit of another project around this one would be wrong.
  if (!existsSync(join(root, ".git"))) return "unknown"
  const { status, stdout } = spawnSync("git", describe, { cwd: root, encoding: "utf8" })
  const found = status === 0 ? stdout.trim() : ""
  return pattern.test(found) ? found : "unknown"
}
