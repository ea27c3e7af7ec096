import { NodeFileSystem } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { databaseElsewhere, diskProblem } from "../../src/postgres/DataDisk.ts"

layer(NodeFileSystem.layer)("the disk of the data directory", (it) => {
  it.effect("is well where something can be written, and where there is no directory yet", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped()
      assert.isNull(yield* diskProblem(directory))
      assert.isNull(yield* diskProblem(`${directory}/missing`))
      assert.isEmpty(yield* fs.readDirectory(directory))
    })
  )

  it.effect("is not that of the embedded database where a link leads elsewhere", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped()
      const elsewhere = yield* Effect.flatMap(fs.makeTempDirectoryScoped(), fs.realPath)
      assert.isNull(yield* databaseElsewhere(directory))
      yield* fs.makeDirectory(`${directory}/postgres`)
      assert.isNull(yield* databaseElsewhere(directory))
      yield* fs.remove(`${directory}/postgres`, { recursive: true })
      yield* fs.symlink(elsewhere, `${directory}/postgres`)
      assert.strictEqual(yield* databaseElsewhere(directory), elsewhere)
    })
  )

  it.effect.runIf(process.platform === "linux")(
    "is not where nothing can be written, or nothing is free",
    () =>
      Effect.gen(function* () {
        assert.match((yield* diskProblem("/proc/self")) ?? "", /MiB are free|Nothing can be written/)
      })
  )
})
