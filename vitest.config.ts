import { defineConfig } from "vitest/config"

const testSecondsMax = 60

export default defineConfig({
  test: {
    environment: "node",
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/globalSetup.ts"],
    pool: "forks",
    // Each test file has a database of its own; more workers than this only wait for each other.
    maxWorkers: 2,
    testTimeout: testSecondsMax * 1_000,
    hookTimeout: testSecondsMax * 1_000,
    teardownTimeout: 20_000,
    allowOnly: false,
    reporters: ["default", "./scripts/closing-line.mjs"]
  }
})
