import { readdirSync } from "node:fs"
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { openCopySession } from "../../src/sql/CopySession.ts"
import { holdMaintenance, type MaintenanceCommand } from "../../src/sql/MaintenanceLock.ts"
import { runWith } from "../admin/AdminServer.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

const shared = Layer.mergeAll(TestDatabase.clone, NodeServices.layer, FetchHttpClient.layer)

/** Runs a command line while another process has the database, as such a command has it. */
const runBeside = Effect.fnUntraced(function* (
  holder: MaintenanceCommand,
  args: (dataDir: string) => ReadonlyArray<string>
) {
  const { url } = yield* TestDatabase
  const dataDir = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped({ prefix: "parley-lock-" })
  yield* holdMaintenance(yield* openCopySession({ url }), holder)
  const env = {
    DATABASE_URL: Redacted.value(url),
    PARLEY_DATA_DIR: dataDir,
    PARLEY_FILES_MOVE_TO: "postgres"
  }
  const ended = yield* runWith(env, args(dataDir))
  return { ...ended, left: readdirSync(dataDir).filter((name) => name.includes("backup")) }
}, Effect.scoped)

layer(shared, { excludeTestServices: true })("While one command works on a whole database", (it) => {
  it.effect("others are refused, with its name and what to do", () =>
    Effect.gen(function* () {
      const refusals: ReadonlyArray<readonly [MaintenanceCommand, ReadonlyArray<string>]> = [
        ["parley backup", ["file", "move"]],
        ["parley backup", ["file", "move", "--erase-old"]],
        ["parley database move", ["file", "move"]]
      ]
      for (const [holder, args] of refusals) {
        const { code, stderr } = yield* runBeside(holder, () => args)
        assert.strictEqual(code, 1)
        assert.include(stderr, `parley: \`${holder}\` has been running on this database since 20`)
        assert.include(stderr, "Wait for its end, or end it, and run this command again.")
      }
    })
  )

  it.effect("a backup is refused, and leaves no file", () =>
    Effect.gen(function* () {
      const { code, left, stderr } = yield* runBeside("parley file move", (dataDir) => [
        "backup",
        `${dataDir}/a.backup`
      ])
      assert.strictEqual(code, 1)
      assert.match(stderr, /^parley: `parley file move` has been running on this database since 20/m)
      assert.deepStrictEqual(left, [])
    })
  )

  it.effect("the next command on a whole database begins when the session of the first has ended", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      for (const command of ["parley restore", "parley file move"] as const)
        yield* Effect.scoped(
          Effect.flatMap(openCopySession({ url }), (session) => holdMaintenance(session, command))
        )
    })
  )
})
