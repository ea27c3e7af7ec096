import { defineConfig } from "vitest/config"

const testSecondsMax = 60

const common = {
  environment: "node",
  pool: "forks",
  // A worker loads Effect and the service once, for all of its files; most of the time of a run went there.
  isolate: false,
  testTimeout: testSecondsMax * 1_000,
  hookTimeout: testSecondsMax * 1_000
} as const

export default defineConfig({
  test: {
    // Both projects use its PostgreSQL.
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
          exclude: ["test/browser/**"],
          // Each test file has a database of its own; more workers than this only wait for each other.
          maxWorkers: 2
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
          sequence: { groupOrder: 1 }
        }
      }
    ]
  }
})
