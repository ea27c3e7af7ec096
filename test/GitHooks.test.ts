import { execFileSync, spawnSync } from "node:child_process"
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"

const installScript = new URL("../scripts/install.mjs", import.meta.url).href
const ownHooks = fileURLToPath(new URL("../.githooks", import.meta.url))

/** An environment in which git reads the settings of no user and of no repository around the test. */
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"))),
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.com",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.com"
}

let scratch = ""
beforeAll(() => (scratch = mkdtempSync(join(tmpdir(), "parley-hooks-"))))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const repositoryNamed = (name: string): string => {
  const directory = join(scratch, name)
  mkdirSync(directory)
  execFileSync("git", ["init", "--quiet"], { cwd: directory, env })
  return directory
}

/** Runs `useHooks` of the installation for this directory, and returns its exit code. */
const useHooks = (directory: string, variables: Readonly<Record<string, string>> = {}) =>
  spawnSync(
    process.execPath,
    [
      "--input-type=module",
      "--eval",
      `import { useHooks } from "${installScript}"; useHooks(${JSON.stringify(directory)})`
    ],
    { env: { ...env, ...variables } }
  ).status

const hooksPathOf = (directory: string): string =>
  spawnSync("git", ["config", "--get", "core.hooksPath"], {
    cwd: directory,
    env,
    encoding: "utf8"
  }).stdout.trim()

describe("the commit-msg hook", () => {
  let repository = ""
  beforeAll(() => {
    repository = repositoryNamed("commits")
    cpSync(ownHooks, join(repository, ".githooks"), { recursive: true })
    assert.strictEqual(useHooks(repository), 0)
  })

  /** Commits under this message; the output of git says why it refuses. */
  const commit = (message: string) => {
    const args = ["commit", "--quiet", "--allow-empty", "--message", message]
    const { status, stderr } = spawnSync("git", args, { cwd: repository, env, encoding: "utf8" })
    return { isAccepted: status === 0, stderr }
  }

  it.each([
    "usage: release reservations on disconnect",
    "openai, anthropic: seal what clients keep",
    "src/cli: feed the table line by line",
    "http: process bodies in order\n\nA body; may have semicolons, and lines of any length that it wants to have, even this one.",
    `test: ${"a".repeat(66)}`,
    "fixup! usage: release reservations on disconnect",
    'Revert "usage: release reservations; and more"'
  ])("the hook accepts %j", (message) => {
    assert.deepStrictEqual(commit(message), { isAccepted: true, stderr: "" })
  })

  it.each([
    [`test: ${"a".repeat(67)}`, "longer than 72 characters"],
    ["usage: release reservations; count tokens", "semicolon"],
    ["release reservations on disconnect", "does not begin with a room"],
    ["Usage: release reservations", "does not begin with a room"],
    ["usage:release reservations", "does not begin with a room"],
    ["usage: Release reservations", "lowercase"],
    ["usage: releases reservations", "imperative"],
    ["usage: released reservations", "imperative"],
    ["usage: a reservation less", "imperative"]
  ])("the hook refuses %j and says why", (message, reason) => {
    const { isAccepted, stderr } = commit(message)
    assert.isFalse(isAccepted)
    assert.include(stderr, reason)
    assert.include(stderr, message)
  })
})

describe("useHooks", () => {
  it("useHooks leaves hooks alone that somebody has set up", () => {
    const configured = repositoryNamed("configured")
    execFileSync("git", ["config", "core.hooksPath", "elsewhere"], { cwd: configured, env })
    assert.strictEqual(useHooks(configured), 0)
    assert.strictEqual(hooksPathOf(configured), "elsewhere")

    const written = repositoryNamed("written")
    const hook = join(written, ".git/hooks/pre-commit")
    mkdirSync(join(written, ".git/hooks"), { recursive: true })
    writeFileSync(hook, "#!/bin/sh\n")
    chmodSync(hook, 0o755)
    assert.strictEqual(useHooks(written), 0)
    assert.strictEqual(hooksPathOf(written), "")
  })

  it("useHooks changes nothing outside of a repository and in a folder of another repository", () => {
    const outside = join(scratch, "outside")
    mkdirSync(outside)
    assert.strictEqual(useHooks(outside), 0)

    const around = repositoryNamed("around")
    const inside = join(around, "project")
    mkdirSync(inside)
    assert.strictEqual(useHooks(inside), 0)
    assert.strictEqual(hooksPathOf(around), "")
  })

  it("useHooks succeeds on a machine without git", () => {
    const repository = repositoryNamed("without-git")
    assert.strictEqual(useHooks(repository, { PATH: join(scratch, "empty") }), 0)
    assert.strictEqual(hooksPathOf(repository), "")
  })
})
