#!/usr/bin/env node
// oxlint-disable-next-line import/no-unassigned-import -- it is to run before everything else
import "./oldest-node.mjs"
import { join } from "node:path"
import { ensureBuilt } from "./build.mjs"
import { script } from "./child.mjs"
import { envFile, root, runNode } from "./node24.mjs"

/** The `parley` command. */
await script(async () => {
  await ensureBuilt({ app: false, quiet: true })
  return runNode([...envFile(), join(root, "dist", "parley.js"), ...process.argv.slice(2)])
})
