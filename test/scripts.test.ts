import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import manifest from "../package.json" with { type: "json" }
import { removeDirectory } from "./support/removeDirectory.ts"

const scripts = new URL("../scripts/", import.meta.url)
const imports = (names: string, file: string) => `import { ${names} } from "${new URL(file, scripts).href}"\n`

/** Runs a module that may use the scripts. */
const start = (text: string): ChildProcess =>
  spawn(process.execPath, ["--input-type=module", "--eval", text], { stdio: ["ignore", "pipe", "pipe"] })

const outcomeOf = async (child: ChildProcess) => {
  let output = ""
  child.stdout?.on("data", (bytes) => (output += bytes))
  child.stderr?.on("data", (bytes) => (output += bytes))
  const [code, signal]: Array<unknown> = await once(child, "close")
  return { code, signal, output }
}

const outputHas = async (child: ChildProcess, text: string) => {
  let output = ""
  for await (const bytes of child.stdout ?? []) {
    output += String(bytes)
    if (output.includes(text)) return
  }
  assert.fail(`ended without ${text}`)
}

const running = (command: string) =>
  `${imports("run, script", "child.mjs")}await script(() => run(process.execPath, ["--eval", ${JSON.stringify(command)}]))`

describe("a script that people start", () => {
  for (const name of ["start", "run", "parley"]) {
    it(`${name}.mjs asks for a newer Node before anything else of it runs`, async () => {
      const source = readFileSync(new URL(`${name}.mjs`, scripts), "utf8")
      assert.strictEqual(/^import .*$/m.exec(source)?.[0], 'import "./oldest-node.mjs"')
      const asOld = `Object.defineProperty(process.versions, "node", { value: "18.20.8" })
await import("${new URL(`${name}.mjs`, scripts).href}")`
      const { code, output } = await outcomeOf(start(asOld))
      assert.strictEqual(code, 1)
      assert.match(output, /^This needs Node 20 or newer, and it runs on 18\.20\.8\.\n/)
    })
  }

  it("the check of Node's version uses nothing that an old one lacks", () => {
    const source = readFileSync(new URL("oldest-node.mjs", scripts), "utf8")
    assert.notMatch(source, /^import|await|\?\.|\?\?|\.at\(|toSorted/m)
    assert.strictEqual(manifest.engines.node, `>=${/oldestMajor = (\d+)/.exec(source)?.[1]}`)
  })
})

describe("a script that runs a command", () => {
  it("a script that runs a command ends with its exit code", async () => {
    assert.strictEqual((await outcomeOf(start(running("process.exit(0)")))).code, 0)
    assert.strictEqual((await outcomeOf(start(running("process.exit(78)")))).code, 78)
  })

  it("a script that runs a command ends by the signal that ended it", async () => {
    assert.strictEqual(
      (await outcomeOf(start(running("process.kill(process.pid, 'SIGKILL')")))).signal,
      "SIGKILL"
    )
  })

  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    it(`a script that runs a command passes ${signal} on, and waits for the command's own end`, async () => {
      const child = start(
        running(
          `process.on("${signal}", () => setTimeout(() => process.exit(5), 50)); setInterval(() => {}, 1000); console.log("ready")`
        )
      )
      await outputHas(child, "ready")
      child.kill(signal)
      assert.strictEqual((await outcomeOf(child)).code, 5)
    })
  }

  it("a script that runs a command passes a second signal on as well", async () => {
    const count = `let n = 0; process.on("SIGINT", () => { if (++n === 2) process.exit(6); console.log("once") })`
    const child = start(running(`${count}; setInterval(() => {}, 1000); console.log("ready")`))
    await once(child.stdout!, "data")
    child.kill("SIGINT")
    await once(child.stdout!, "data")
    child.kill("SIGINT")
    assert.strictEqual((await outcomeOf(child)).code, 6)
  })

  it("a script says what is wrong without a stack when the person at the terminal can mend it", async () => {
    const text = `${imports("script, Trouble", "child.mjs")}await script(() => { throw new Trouble("Do this.") })`
    assert.deepStrictEqual(await outcomeOf(start(text)), { code: 1, signal: null, output: "Do this.\n" })
  })
})

describe("a lock", () => {
  const name = `test-${process.pid}`
  const path = fileURLToPath(new URL(`../dist/.${name}.lock`, scripts))
  // The pause is long enough for another process to enter, if it could.
  const work = `await withLock("${name}", async () => {
    process.stdout.write("in ")
    await new Promise((resolve) => setTimeout(resolve, 100))
    process.stdout.write("out ")
  })`

  it("a lock lets one process in at a time", async () => {
    const directory = mkdtempSync(join(tmpdir(), "parley-lock-"))
    const log = join(directory, "log")
    const logged = work.replaceAll("process.stdout.write(", `appendFileSync(${JSON.stringify(log)}, `)
    const text = `${imports("withLock", "lock.mjs")}import { appendFileSync } from "node:fs"\n${logged}`
    try {
      const outcomes = await Promise.all([1, 2, 3].map(() => outcomeOf(start(text))))
      assert.deepStrictEqual(
        outcomes.map(({ code }) => code),
        [0, 0, 0]
      )
      assert.strictEqual(readFileSync(log, "utf8"), "in out ".repeat(3))
    } finally {
      removeDirectory(directory)
    }
  })

  it("a lock is taken over from a process that is no more", async () => {
    const gone = start("")
    await outcomeOf(gone)
    mkdirSync(fileURLToPath(new URL("../dist", scripts)), { recursive: true })
    writeFileSync(path, String(gone.pid))
    const { code, output } = await outcomeOf(start(`${imports("withLock", "lock.mjs")}${work}`))
    assert.deepStrictEqual({ code, output }, { code: 0, output: "in out " })
  })
})

describe("the closing line", () => {
  const reported = async (modules: string, errors: string) => {
    const text = `${imports("default as ClosingLine", "closing-line.mjs")}
      const test = (state) => ({
        fullName: "is " + state,
        result: () => ({ state, errors: state === "failed" ? [{ message: "a is not b" }] : undefined })
      })
      const module = (states, errors = [], suiteErrors = []) => ({
        moduleId: "a.test.ts",
        errors: () => errors,
        children: {
          allTests: () => states.map(test),
          allSuites: () => [{ fullName: "a suite", errors: () => suiteErrors }]
        }
      })
      delete process.env.TEST_COUNTS_FILE
      new ClosingLine().onTestRunEnd(${modules}, ${errors})`
    return (await outcomeOf(start(text))).output.trim()
  }

  it("the closing line counts tests by their end, skipped ones not at all", async () => {
    const modules = `[module(["passed", "failed", "skipped"]), module(["passed", "pending"])]`
    assert.strictEqual(
      await reported(modules, "[]"),
      "Failed: a.test.ts > is failed\n  a is not b\nTests: 2 passed, 1 failed"
    )
  })

  it("the closing line counts a broken file, a failed hook and an outside error as failures", async () => {
    const modules = `[module([], ["no such module"]), module(["skipped"], [], ["hook"]), module(["passed"])]`
    assert.strictEqual(
      await reported(modules, `["unhandled"]`),
      [
        "Failed: outside of any test\n  unhandled",
        "Failed: a.test.ts\n  no such module",
        "Failed: a.test.ts > a suite\n  hook",
        "Tests: 1 passed, 3 failed"
      ].join("\n")
    )
  })
})

describe("npm start", () => {
  const start = (...args: ReadonlyArray<string>) =>
    outcomeOf(
      spawn(process.execPath, [fileURLToPath(new URL("start.mjs", scripts)), ...args], {
        stdio: ["ignore", "pipe", "pipe"]
      })
    )

  it("npm start prints its help and its version, and starts nothing", async () => {
    const help = await start("--help")
    assert.strictEqual(help.code, 0)
    assert.match(help.output, /--port PORT[^]*--host HOST[^]*docs\/settings\.md/)
    assert.deepStrictEqual(await start("--version"), { ...help, output: `${manifest.version}\n` })
  })

  for (const args of [["--prot", "4000"], ["4000"], ["--port"]]) {
    it(`npm start refuses ${args.join(" ")}, and shows what there is`, async () => {
      const { code, output } = await start(...args)
      assert.strictEqual(code, 64)
      assert.match(output, /^npm start: .*\n[^]*--port PORT/)
    })
  }
})
