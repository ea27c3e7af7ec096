import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtempSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { getPriority, tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import {
  confine,
  confinedUid,
  type Confinement,
  type Launcher,
  launchersOf,
  missingFrom
} from "../../src/confinement/Confinement.ts"
import { commandOf } from "../../src/confinement/NodeProgram.ts"
import { boundsOf, readInProcess, readerProgram, works } from "../../src/documents/ReaderProcess.ts"
import { commandsWith, hostileProgram, limits } from "../documents/Reading.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"
import { until } from "../support/until.ts"

const isRoot = process.getuid?.() === 0
const nobody = 65_534
const nicest = 19

const decodeReport = Schema.decodeEffect(
  Schema.fromJsonString(
    Schema.Struct({
      connected: Schema.String,
      signaled: Schema.String,
      seen: Schema.String,
      capabilities: Schema.String,
      noNewPrivileges: Schema.String,
      uid: Schema.Int,
      niceness: Schema.Int
    })
  )
)

/** A directory of the service with one file in it. */
const dataDirectory = Effect.acquireRelease(
  Effect.sync(() => {
    const path = mkdtempSync(join(tmpdir(), "parley-confinement-"))
    writeFileSync(join(path, "secret"), "x")
    return path
  }),
  (path) => Effect.sync(() => removeDirectory(path))
)

/**
 * The escapes that a hostile reader manages behind these words, given a listening server and a parent that
 * it could signal.
 */
const escapesBehind = Effect.fnUntraced(function* (words: ReadonlyArray<string>, directory: string) {
  const port = yield* serveOnLoopback(createServer())
  const program = hostileProgram()
  const read = yield* readInProcess(
    { ...program, launcher: words, readable: [...program.readable, "/proc/", join(directory, "/")] },
    limits,
    { bytes: Stream.make(Buffer.from("x")), extension: `escapes,${port},${process.pid},${directory}` }
  )
  return yield* decodeReport(read.text)
})

/** Checks each claim of a confinement against what a process under it can do. */
const holds = Effect.fnUntraced(function* (confinement: Confinement, words: ReadonlyArray<string>) {
  const directory = yield* dataDirectory
  const found = yield* escapesBehind(
    words.map((word) => (word === "DATA" ? directory : word)),
    directory
  )
  assert.strictEqual(found.niceness, Math.min(nicest, getPriority() + 10))
  if (confinement.namespaces) {
    assert.strictEqual(found.connected, "ENETUNREACH")
    assert.strictEqual(found.signaled, "ESRCH")
    assert.strictEqual(found.seen, "did 0")
  }
  if (confinement.ownAccount) {
    assert.strictEqual(found.uid, confinedUid)
    assert.notInclude(found.signaled, "did")
    assert.notStrictEqual(found.seen, "did 1")
  }
  if (confinement.noPrivileges) {
    assert.match(found.capabilities, /^0+$/)
    assert.strictEqual(found.noNewPrivileges, "1")
  }
})

/** The launchers that work here. A container may refuse namespaces; without setpriv there is none. */
const working = Effect.fnUntraced(function* (
  launchers: ReadonlyArray<Launcher>,
  before: ReadonlyArray<string>
) {
  const directory = yield* dataDirectory
  const tried = yield* Effect.forEach(launchers, ({ confinement, words }) => {
    const launcher = [...before, ...words.map((word) => (word === "DATA" ? directory : word))]
    return readInProcess({ ...readerProgram(), launcher }, limits, {
      bytes: Stream.make(Buffer.from("ok")),
      extension: "txt"
    }).pipe(
      Effect.as([{ confinement, words: [...before, ...words] }]),
      Effect.catchTag("ExtractionFailed", () => Effect.succeed([]))
    )
  })
  return tried.flat()
})

describe.skipIf(process.platform !== "linux")("a confined reader", () => {
  it.live("a confined reader has the strongest confinement that works here, with its guarantees", () =>
    Effect.gen(function* () {
      const directory = yield* dataDirectory
      const { confinement, missing, program } = yield* confine({
        program: readerProgram(),
        processes: "Processes that read documents",
        dataDirectory: directory,
        works: (one) => works(one, limits)
      })
      assert.deepStrictEqual(missing, missingFrom(confinement, isRoot))
      const [strongest] = yield* working(launchersOf(isRoot, ["DATA"]), [])
      assert.deepStrictEqual(confinement, strongest?.confinement)
      assert.isTrue(confinement.noPrivileges)
      const found = yield* escapesBehind(program.launcher, directory)
      if (confinement.namespaces) {
        assert.strictEqual(found.connected, "ENETUNREACH")
        // The directory is empty, or is not there at all, because it lies in one that is hidden too.
        assert.include(["did 0", "ENOENT"], found.seen)
      }
      if (isRoot) assert.notInclude(found.signaled, "did")
    })
  )

  it.live("a confined reader has the guarantees of every way of confining that works here", () =>
    Effect.gen(function* () {
      for (const { confinement, words } of yield* working(launchersOf(isRoot, ["DATA"]), [])) {
        yield* holds(confinement, words)
      }
    })
  )

  it.live.skipIf(!isRoot)("a reader has no network and sees no process of a service that isn't root's", () =>
    Effect.gen(function* () {
      const account = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"]
      const [first] = yield* working(launchersOf(false, ["/run"]), account)
      assert.isTrue(first?.confinement.noPrivileges)
      const found = yield* escapesBehind(first?.words ?? [], "/run")
      assert.match(found.capabilities, /^0+$/)
      if (first?.confinement.namespaces === true) {
        assert.strictEqual(found.connected, "ENETUNREACH")
        assert.strictEqual(found.signaled, "ESRCH")
        assert.strictEqual(found.seen, "did 0")
      }
    })
  )

  it.live("a confined reader ends with the service, even when that is killed", () =>
    Effect.gen(function* () {
      for (const { confinement, words } of yield* working(launchersOf(isRoot, ["DATA"]), [])) {
        if (!confinement.noPrivileges) continue
        const directory = yield* dataDirectory
        const word = `loops-${randomUUID()}`
        const launcher = words.map((one) => (one === "DATA" ? directory : one))
        const { args, file } = commandOf({ ...hostileProgram(), launcher }, boundsOf(limits), [word])
        // A shell stands for the service: it starts the reader and waits for it.
        const service = spawn("/bin/sh", ["-c", '"$@"; true', "sh", file, ...args], { stdio: "ignore" })
        const readers = commandsWith(word)
        // The confinement is complete once the reader itself runs.
        yield* until(
          Effect.map(readers, (found) => found.some(({ command }) => command.startsWith(process.execPath)))
        )
        service.kill("SIGKILL")
        yield* until(Effect.map(readers, (found) => found.length === 0))
      }
    })
  )

  it("missingFrom reports what a weaker confinement lacks, with the remedies", () => {
    const strongest = { namespaces: true, ownAccount: true, noPrivileges: true }
    assert.deepStrictEqual(missingFrom(strongest, true), [])
    assert.deepStrictEqual(missingFrom({ ...strongest, ownAccount: false }, false), [])
    assert.match(missingFrom({ ...strongest, namespaces: false }, true).join(), /network.*namespaces/)
    assert.match(missingFrom({ ...strongest, ownAccount: false }, true).join(), /as root/)
    assert.match(missingFrom({ ...strongest, noPrivileges: false }, true).join(), /setpriv/)
  })
})
