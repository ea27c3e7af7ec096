import { type ChildProcess, spawn } from "node:child_process"
import { openSync, closeSync, existsSync } from "node:fs"
import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { childEnvironment } from "../support/childEnvironment.ts"
import { freePort } from "../support/freePort.ts"
import { bundle, commandLine } from "../support/ServiceProcess.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { until } from "../support/until.ts"

/** A key as `parley key generate` makes it; it opens nothing but the database of this test. */
const key = "parley_0lQHCkMp8VUdasgeHnXb5pzBLRNPiFY940opo2M"
const metricsToken = "TOKENMARK-0123456789"
const full = "/dev/full"

/** More log lines than a pipe of 64 KiB has room for. */
const requestsBeyondPipe = 300

type Output = "pipe" | number

/** A device that is open while the scope is. */
const opened = (path: string) =>
  Effect.acquireRelease(
    Effect.sync(() => openSync(path, "w")),
    (file) => Effect.sync(() => closeSync(file))
  )

const exitOf = (child: ChildProcess) =>
  Effect.callback<number | null>((resume) => {
    if (child.exitCode !== null) resume(Effect.succeed(child.exitCode))
    else child.once("exit", (code) => resume(Effect.succeed(code)))
  })

/** The service with these outputs, once it answers. */
const started = Effect.fnUntraced(function* (out: Output, err: Output) {
  const fs = yield* FileSystem.FileSystem
  const port = yield* freePort
  const url = `http://127.0.0.1:${port}`
  const env = {
    ...childEnvironment,
    HOST: "127.0.0.1",
    PORT: String(port),
    DATABASE_URL: Redacted.value((yield* TestDatabase).url),
    PARLEY_FILES_STORE: "postgres",
    PARLEY_DATA_DIR: yield* fs.makeTempDirectoryScoped({ prefix: "parley-log-" }),
    PARLEY_INIT_API_KEY: key,
    PARLEY_METRICS_TOKEN: metricsToken
  }
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [bundle], { env, stdio: ["ignore", out, err] })),
    (running) => Effect.sync(() => running.kill("SIGKILL"))
  )
  const get = (path: string, token: string) =>
    Effect.promise(() => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } }))
  yield* until(
    Effect.promise(async () => {
      const answer = await fetch(`${url}/readyz`).catch(() => null)
      await answer?.arrayBuffer()
      return answer?.ok === true || child.exitCode !== null
    })
  )
  assert.isNull(child.exitCode, "The service ended.")
  const ask = Effect.gen(function* () {
    const answer = yield* get("/v1/files", key)
    yield* Effect.promise(() => answer.arrayBuffer())
    return answer.status
  })
  const lost = Effect.gen(function* () {
    const answer = yield* get("/metrics", metricsToken)
    const text = yield* Effect.promise(() => answer.text())
    return Number(/^parley_log_lines_lost_total(?:\{.*\})? (\d+)/m.exec(text)?.[1])
  })
  const stopped = Effect.suspend(() => {
    child.kill("SIGTERM")
    return exitOf(child)
  })
  return { child, ask, lost, stopped, env }
})

const text = (stream: NodeJS.ReadableStream | null) =>
  Effect.promise(async () => {
    let found = ""
    for await (const piece of stream ?? []) found += String(piece)
    return found
  })

/** A command line in a shell, in which `parley` is the command. */
const shell = Effect.fnUntraced(function* (line: string, env: Readonly<Record<string, string>>) {
  const script = `parley() { "${process.execPath}" "${commandLine}" "$@"; }; ${line}`
  const child = spawn("/bin/bash", ["-c", script], { env, stdio: ["ignore", "pipe", "pipe"] })
  const [stdout, stderr, code] = yield* Effect.all([text(child.stdout), text(child.stderr), exitOf(child)], {
    concurrency: "unbounded"
  })
  return { stdout, stderr, code }
})

layer(Layer.merge(TestDatabase.clone, NodeFileSystem.layer), { excludeTestServices: true })(
  "the output of a process",
  (it) => {
    it.effect.skipIf(!existsSync(full))(
      "an output that can't be written loses its lines, counts them, and stops neither the service nor its end",
      () =>
        Effect.gen(function* () {
          const { ask, lost, stopped } = yield* started(yield* opened(full), yield* opened(full))
          assert.strictEqual(yield* ask, 200)
          yield* until(Effect.map(lost, (count) => count > 0))
          assert.strictEqual(yield* ask, 200)
          assert.strictEqual(yield* stopped, 0)
        })
    )

    it.effect.skipIf(!existsSync(full))("a lost start is reported in the log in which it was lost", () =>
      Effect.gen(function* () {
        const { child, stopped } = yield* started(yield* opened(full), "pipe")
        let log = ""
        child.stderr?.setEncoding("utf8").on("data", (piece: string) => (log += piece))
        // The service answers before it has shown its address.
        yield* until(Effect.sync(() => log.includes("The standard output can't be written")))
        assert.strictEqual(yield* stopped, 0)
      })
    )

    it.effect("an output that nobody reads blocks neither requests nor the end of the service", () =>
      Effect.gen(function* () {
        const { ask, child, lost, stopped } = yield* started("pipe", "pipe")
        for (let n = 0; n < requestsBeyondPipe; n++) assert.strictEqual(yield* ask, 200)
        // Lines that the pipe has no room for wait, in bounds.
        assert.strictEqual(yield* lost, 0)
        assert.strictEqual(yield* stopped, 0)
        const lines = (yield* text(child.stderr)).split("\n")
        assert.isBelow(lines.length, requestsBeyondPipe)
      })
    )

    it.effect("an output whose reader has gone stops nothing", () =>
      Effect.gen(function* () {
        const { ask, child, lost, stopped } = yield* started("pipe", "pipe")
        child.stdout?.destroy()
        child.stderr?.destroy()
        for (let n = 0; n < 3; n++) assert.strictEqual(yield* ask, 200)
        yield* until(Effect.map(lost, (count) => count >= 3))
        assert.strictEqual(yield* stopped, 0)
      })
    )

    it.effect("a command whose output is not read to its end has no message and is no failure", () =>
      Effect.gen(function* () {
        const { env } = yield* started("pipe", "pipe")
        for (const command of ["parley --help", "parley audit export", "parley user list"]) {
          const { code, stderr } = yield* shell(`set -o pipefail; ${command} | true`, env)
          assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" }, command)
        }
      })
    )

    it.effect.skipIf(!existsSync(full))("a command whose output can't be written fails with a reason", () =>
      Effect.gen(function* () {
        const { env } = yield* started("pipe", "pipe")
        for (const command of ["parley --help", "parley audit export", "parley user list"]) {
          const { code, stderr } = yield* shell(`${command} >${full}`, env)
          assert.match(stderr, /^parley: The standard output can't be written: .*ENOSPC.*\n$/, command)
          assert.strictEqual(code, 1, command)
        }
        assert.strictEqual((yield* shell(`parley user list 2>${full}`, env)).code, 0)
      })
    )
  }
)
