#!/usr/bin/env node
import { join } from "node:path"
import { ensureBuilt } from "./build.mjs"
import { script } from "./child.mjs"
import { envFile, root, runNode } from "./node24.mjs"

/** The conventional exit code for a command that is used wrongly (EX_USAGE). */
const usageExitCode = 64

/** `npm start`: from a bare clone to the running service. */
await script(async () => {
  const args = process.argv.slice(2)
  if (args.length > 0) {
    process.stderr.write(
      `The service takes no arguments, but got ${args.join(" ")}. Variables set it up, such as PORT=4000 npm start; docs/settings.md lists them.\n`
    )
    return { code: usageExitCode, signal: null }
  }
  await ensureBuilt()
  return runNode([...envFile(), join(root, "dist", "main.js")])
})
