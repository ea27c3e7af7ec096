#!/usr/bin/env node
// oxlint-disable-next-line import/no-unassigned-import -- it is to run before everything else
import "./oldest-node.mjs"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { ensureBuilt } from "./build.mjs"
import { script } from "./child.mjs"
import { envFile, root, runNode, serviceEnvironment, serviceFlags } from "./node24.mjs"

/** The conventional exit code for a command that is used wrongly (EX_USAGE). */
const usageExitCode = 64

const done = { code: 0, signal: null }

const help = `Starts the service.

USAGE
  npm start -- [OPTIONS]

OPTIONS
  --port PORT    Port to listen on, instead of PORT; 0 picks a free one
  --host HOST    Address to listen on, instead of HOST; 0.0.0.0 is every network of this machine
  --version, -v  Print the version
  --help, -h     Print this

Everything else is set by variables, in the environment or in .env; docs/settings.md lists them.
Ctrl-C stops the service. \`npx parley\` administers it.
`

const options = {
  port: { type: "string" },
  host: { type: "string" },
  version: { type: "boolean", short: "v" },
  help: { type: "boolean", short: "h" }
}

/** The options; null if there are others, which is then said. */
const readOptions = (args) => {
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    process.stderr.write(`npm start: ${error.message.replace(/\.* To specify[^]*$/, ".")}\n\n${help}`)
    return null
  }
}

/** `npm start`: from a bare clone to the running service. */
await script(async () => {
  const given = readOptions(process.argv.slice(2))
  if (given === null) return { code: usageExitCode, signal: null }
  if (given.help) {
    process.stdout.write(help)
    return done
  }
  if (given.version) {
    process.stdout.write(`${JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version}\n`)
    return done
  }
  await ensureBuilt()
  // The service checks the values, as it does those of the variables.
  const env = {
    ...serviceEnvironment,
    ...(given.port === undefined ? {} : { PORT: given.port }),
    ...(given.host === undefined ? {} : { HOST: given.host })
  }
  return runNode([...serviceFlags, ...envFile(), join(root, "dist", "main.js")], { env })
})
