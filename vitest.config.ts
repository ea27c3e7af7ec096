import { readFileSync } from "node:fs"
import { defineConfig } from "vitest/config"

/** Far more than any test takes: it only ends one that hangs, also on a machine that is busy with other things. */
const testSecondsMax = 300

/** Workers of a run: most files wait for a database or a process more than they compute. */
const maxWorkers = 3

/** Tests that run programs which `npm run test:agents` installs. */
const codingAgents = "test/agents/*.test.ts"

/** Tests that start whole installations, and stop, kill and move them. */
const wholeProcesses = "test/**/*.process.test.ts"

const common = {
  environment: "node",
  pool: "forks",
  // A worker loads Effect and the service once, for all of its files; most of the time of a run went there.
  isolate: false,
  // What `npm start` starts the service with.
  execArgv: JSON.parse(readFileSync(new URL("scripts/node-flags.json", import.meta.url), "utf8")),
  testTimeout: testSecondsMax * 1_000,
  hookTimeout: testSecondsMax * 1_000
} as const

export default defineConfig({
  test: {
    // All projects use its PostgreSQL.
    globalSetup: ["test/support/globalSetup.ts"],
    teardownTimeout: 20_000,
    allowOnly: false,
    reporters: ["default", "./scripts/closing-line.mjs"],
    projects: [
      {
        test: {
          ...common,
          name: "node",
          include: ["test/**/*.test.ts"],
          exclude: ["test/browser/**", "test/agents/**", wholeProcesses],
          maxWorkers
        }
      },
      {
        test: {
          ...common,
          name: "processes",
          include: [wholeProcesses],
          maxWorkers,
          sequence: { groupOrder: 1 }
        }
      },
      {
        test: {
          ...common,
          name: "agents",
          include: [codingAgents],
          maxWorkers,
          sequence: { groupOrder: 1 }
        }
      },
      {
        test: {
          ...common,
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          globalSetup: ["test/browser/globalSetup.ts"],
          // One Chromium at a time, after the other tests: it keeps two cores busy.
          maxWorkers: 1,
          sequence: { groupOrder: 2 }
        }
      }
    ]
  }
})
