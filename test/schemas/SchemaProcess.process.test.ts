import { mkdtempSync, readFileSync, readlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { confinedUid } from "../../src/confinement/Confinement.ts"
import type { NodeProgram } from "../../src/confinement/NodeProgram.ts"
import { UserId } from "../../src/domain/Ids.ts"
import { CurrentSchemaProgram, JsonSchemas, schemaProgram } from "../../src/schemas/JsonSchemas.ts"
import { AppConfig } from "../../src/settings/AppConfig.ts"
import { removeDirectory } from "../support/removeDirectory.ts"
import { serveOnLoopback } from "../support/serveOnLoopback.ts"
import { testConfig } from "../support/TestConfig.ts"
import { schemaProcesses } from "./schemaProcesses.ts"

const isRoot = process.getuid?.() === 0
const alice = UserId.make("019845e1-682f-4b02-a706-3b2422d13aec")

const hostileEntry = fileURLToPath(new URL("hostileChecker.ts", import.meta.url))
const hostileProgram = (readable: ReadonlyArray<string> = []): NodeProgram => {
  const program = schemaProgram()
  return { ...program, entry: hostileEntry, readable: [hostileEntry, ...readable, ...program.readable] }
}

/** A data directory of the service, with a secret in it. */
const secretFile = Effect.acquireRelease(
  Effect.sync(() => {
    const path = mkdtempSync(join(tmpdir(), "parley-schemas-"))
    const file = join(path, "secret")
    writeFileSync(file, "x")
    return { directory: path, file }
  }),
  ({ directory }) => Effect.sync(() => removeDirectory(directory))
)

const layerIn = (dataDir: string, program: NodeProgram) =>
  JsonSchemas.layer.pipe(
    Layer.provide([
      Layer.succeed(AppConfig, testConfig({ dataDir })),
      Layer.succeed(CurrentSchemaProgram, program)
    ])
  )

const decodeReport = Schema.decodeUnknownEffect(
  Schema.fromJsonString(
    Schema.Struct({
      connected: Schema.String,
      signaled: Schema.String,
      read: Schema.String,
      environment: Schema.String,
      written: Schema.String,
      started: Schema.String,
      listed: Schema.String,
      variables: Schema.Array(Schema.String)
    })
  )
)

/**
 * The escapes that a process for schemas manages if it may read these paths, and the gaps of its
 * confinement.
 */
const escapes = Effect.fnUntraced(function* (readable: ReadonlyArray<string>) {
  const port = yield* serveOnLoopback(createServer())
  const { directory, file } = yield* secretFile
  return yield* Effect.gen(function* () {
    const { mismatch, unconfined } = yield* JsonSchemas
    const answer = yield* mismatch(alice, { does: "escapes", port, pid: process.pid, file }, "{}")
    return { ...(yield* decodeReport(answer)), missing: yield* unconfined }
  }).pipe(Effect.provide(layerIn(directory, hostileProgram(readable))))
})

const generated = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(Schema.String)))

describe.skipIf(process.platform !== "linux")("the process for JSON Schemas", () => {
  it.live("the schema process has no variables, reads no file of others, and writes and starts nothing", () =>
    Effect.gen(function* () {
      const found = yield* escapes([])
      for (const deed of ["read", "environment", "written", "started", "listed"] as const) {
        assert.strictEqual(found[deed], "ERR_ACCESS_DENIED", deed)
      }
      assert.notInclude(found.variables.join(), "PATH")
    })
  )

  it.live("the schema process reaches neither network nor service, even if Node let it read all files", () =>
    Effect.gen(function* () {
      const { connected, environment, missing, read, signaled } = yield* escapes(["/"])
      if (missing.length === 0) {
        assert.strictEqual(connected, "ENETUNREACH")
        assert.strictEqual(read, "ENOENT")
        assert.notInclude(signaled, "did")
        assert.notInclude(environment, "did")
      }
    })
  )

  it.live("the schema process has another account, no capabilities and no way to get any", () =>
    Effect.gen(function* () {
      const { directory } = yield* secretFile
      yield* Effect.gen(function* () {
        const { mismatch, unconfined } = yield* JsonSchemas
        assert.isNull(yield* mismatch(alice, { type: "string" }, '"a"'))
        const [pid = 0] = yield* schemaProcesses
        const status = readFileSync(`/proc/${pid}/status`, "latin1")
        const missing = yield* unconfined
        assert.match(status, /^NoNewPrivs:\t1$/m)
        assert.match(status, /^CapEff:\t0+$/m)
        if (isRoot) assert.match(status, /^CapBnd:\t0+$/m)
        if (isRoot) assert.match(status, new RegExp(`^Uid:\t${confinedUid}\t${confinedUid}\t`, "m"))
        if (isRoot && missing.length === 0) {
          assert.notStrictEqual(readlinkSync(`/proc/${pid}/ns/net`), readlinkSync("/proc/self/ns/net"))
        }
        assert.match(readFileSync(`/proc/${pid}/limits`, "latin1"), /^Max cpu time +600 +600 /m)
        assert.match(readFileSync(`/proc/${pid}/limits`, "latin1"), /^Max core file size +0 +0 /m)
      }).pipe(Effect.provide(layerIn(directory, schemaProgram())))
      assert.deepStrictEqual(yield* schemaProcesses, [])
    })
  )

  it.live("the schema process generates code from strings for ajv alone", () =>
    Effect.gen(function* () {
      const { directory } = yield* secretFile
      const answer = yield* JsonSchemas.use(({ mismatch }) =>
        mismatch(alice, { does: "generates" }, "{}")
      ).pipe(Effect.provide(layerIn(directory, hostileProgram())))
      const [problem, fetching, webSocket, modules, ...attempts] = yield* generated(answer)
      assert.strictEqual(problem, "null")
      assert.deepStrictEqual([fetching, webSocket, modules], ["undefined", "undefined", "undefined"])
      for (const attempt of attempts) {
        assert.strictEqual(attempt, "EvalError: Code generation from strings disallowed for this context")
      }
    })
  )

  it.live("the schema process is killed when it takes too much memory beside its heap", () =>
    Effect.gen(function* () {
      const { directory } = yield* secretFile
      const words = yield* JsonSchemas.use(({ mismatch }) => mismatch(alice, { does: "buffers" }, "{}")).pipe(
        Effect.provide(layerIn(directory, hostileProgram()))
      )
      assert.strictEqual(words, "It takes too long, or too much memory, to be checked.")
      assert.deepStrictEqual(yield* schemaProcesses, [])
    })
  )
})
