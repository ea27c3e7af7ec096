#!/usr/bin/env node
import { join } from "node:path"
import { ensureBuilt } from "./build.mjs"
import { script } from "./child.mjs"
import { envFile, root, runNode } from "./node24.mjs"

/** `npm start`: from a bare clone to the running service. */
await script(async () => {
  await ensureBuilt()
  return runNode([...envFile(), join(root, "dist", "main.js"), ...process.argv.slice(2)])
})
