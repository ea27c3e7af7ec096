// oxlint-disable-next-line import/no-unassigned-import -- it is to run before everything else
import "./oldest-node.mjs"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { build } from "./build.mjs"
import { script, succeeded, Trouble } from "./child.mjs"
import { closing, countsVariable, readCounts } from "./closing-line.mjs"
import { ensureInstalled, useHooks } from "./install.mjs"
import { envFile, root, runNode } from "./node24.mjs"
import { stageCommand } from "./stage.mjs"

const success = { code: 0, signal: null }
const failure = { code: 1, signal: null }

const inProject = (args, options) => runNode(args, { cwd: root, ...options })

/** Runs the tests that every change needs while it is made; or those that are named, of any project. */
const test = (args) => runTests(args.length === 0 ? ["--project=node"] : args)

/** Settings of a service that is run from the same shell: no test may depend on them. */
const settingPattern = /^(PARLEY_(?!TEST_)|OPENAI_|(DATABASE_URL|PORT|HOST)$)/

const withoutSettings = () =>
  Object.fromEntries(
    Object.keys(process.env)
      .filter((name) => settingPattern.test(name))
      .map((name) => [name, undefined])
  )

const runTests = async (args) => {
  const directory = mkdtempSync(join(tmpdir(), "parley-counts-"))
  const path = join(directory, "counts.json")
  try {
    const result = await inProject(["node_modules/vitest/vitest.mjs", "run", ...args], {
      env: { ...withoutSettings(), [countsVariable]: path }
    })
    const counts = readCounts(path)
    // A run that breaks outside of every test must not look as if all were well.
    if (!succeeded(result) && counts.failed === 0) {
      counts.failed = 1
      counts.failures.push(
        `Failed: the run as a whole, which ended with ${result.signal ?? `code ${result.code}`}`
      )
    }
    process.stdout.write(`\n${closing(counts)}\n`)
    if (!succeeded(result)) return result
    return counts.passed > 0 && counts.failed === 0 ? success : failure
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Installs the coding agents that the tests of `test/agents` run. Returns whether they can be had. */
const hasAgents = async () => {
  try {
    await ensureInstalled({ directory: join(root, "test/agents") })
    return true
  } catch (error) {
    if (!(error instanceof Trouble)) throw error
    process.stdout.write(`\nTests of coding agents skipped: ${error.message}\n\n`)
    return false
  }
}

const testAgents = async (args) => {
  if (await hasAgents()) return runTests(["--project=agents", ...args])
  process.stdout.write(`${closing({ passed: 0, failed: 0, failures: [] })}\n`)
  return success
}

/** Runs tests of whole processes and of coding agents side by side, since both wait for programs. */
const testPrograms = async (args) =>
  runTests(["--project=processes", ...((await hasAgents()) ? ["--project=agents"] : []), ...args])

const oxfmt = "node_modules/oxfmt/bin/oxfmt"

const checks = [
  ["format", [oxfmt, "--check"]],
  ["lint", ["node_modules/oxlint/bin/oxlint", "--deny-warnings"]],
  ["types", ["node_modules/typescript/bin/tsc", "-p", "."]],
  ["types of the examples", ["node_modules/typescript/bin/tsc", "-p", "examples"]],
  ["types of the web application", ["node_modules/typescript/bin/tsc", "-p", "src/console/app"]],
  ["architecture", ["scripts/check-architecture.ts"]],
  ["prose", ["scripts/check-prose.ts"]]
]

/** All of them, also when one fails, so that one run shows everything there is to mend. */
const check = async () => {
  useHooks()
  const failed = []
  for (const [name, args] of checks) {
    process.stdout.write(`\n${name}\n`)
    const result = await inProject(args)
    if (result.signal !== null) return result
    if (!succeeded(result)) failed.push(name)
  }
  process.stdout.write(failed.length === 0 ? "\nEvery check passed.\n" : `\nFailed: ${failed.join(", ")}\n`)
  return failed.length === 0 ? success : failure
}

const commands = {
  test,
  "test:processes": (args) => runTests(["--project=processes", ...args]),
  "test:browser": (args) => runTests(["--project=browser", ...args]),
  "test:agents": testAgents,
  "test:programs": testPrograms,
  check,
  build: async () => {
    await build()
    return success
  },
  dev: (args) => runNode([...envFile(), "--watch", join(root, "src/main.ts"), ...args]),
  "dev:app": (args) => inProject(["node_modules/vite/bin/vite.js", ...args]),
  bench: ([first, ...rest]) =>
    ["abuse", "ci", "retrieval", "scale"].includes(first)
      ? inProject([`scripts/bench/${first}.ts`, ...rest])
      : inProject(["scripts/bench/bench.ts", ...(first === undefined ? [] : [first, ...rest])]),
  format: (args) => inProject([oxfmt, ...args]),
  // In the directory of the caller, to which the path of a key is relative.
  license: (args) => runNode([join(root, "scripts/license.ts"), ...args]),
  settings: (args) => inProject(["scripts/settings.ts", ...args]),
  stage: async (args) => {
    await stageCommand(args)
    return success
  }
}

await script(async () => {
  const [name, ...args] = process.argv.slice(2)
  if (!Object.hasOwn(commands, name ?? "")) {
    throw new Trouble(
      `Usage: node scripts/run.mjs COMMAND, where COMMAND is one of ${Object.keys(commands).join(", ")}.`
    )
  }
  await ensureInstalled()
  return commands[name](args)
})
